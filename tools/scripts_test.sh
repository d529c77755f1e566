#!/bin/sh
# Every script finds its checkout, also where CDPATH leads elsewhere: each is cut off behind its `cd`, and says where it is.
set -u
failures=0
root=$(realpath "$TEST_TMPDIR")/checkout
elsewhere=$TEST_TMPDIR/elsewhere
for folder in .ci tools/golden tools/remote; do mkdir -p "$root/$folder" "$elsewhere/$folder"; done

for script in .ci/run tools/bazel7 tools/check tools/coverage tools/format tools/nightly tools/run tools/sanitize tools/setup \
  tools/test tools/tidy tools/golden/check_compilers tools/remote/prove_cache tools/remote/prove_execution; do
  { sed '/cd "$(dirname/q' "$script"; echo 'echo "${root:-$(pwd)}"'; } >"$root/$script"
  found=$(cd "$root" && CDPATH=$elsewhere sh "$script" 2>&1)
  [ "$found" = "$root" ] || { echo "FAIL: $script: expected $root, found $found"; failures=$((failures + 1)); }
done
exit $failures
