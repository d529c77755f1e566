#!/bin/sh
# all_empty.sh FILE...: fails with the content of each file that is not empty.
result=0
for file in "$@"; do
  if [ ! -f "$file" ]; then echo "no such file: $file"; result=1; continue; fi
  [ ! -s "$file" ] || { echo "$(basename "$file"):"; cat "$file"; result=1; }
done
exit $result
