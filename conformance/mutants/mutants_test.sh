#!/bin/sh
# mutants_test.sh DRAFTMARK RUNNER: every mutant of the reference is killed by the check meant for it, and the clean build
# raises no alarm. Each shard takes its share of the mutants.
set -eu
export BUILD_WORKING_DIRECTORY="$PWD"
ids=$("$1" mutants --runner "$2" --list | cut -d' ' -f1)
only=
count=0
number=0
for id in $ids; do
  if [ $((number % ${TEST_TOTAL_SHARDS:-1})) = "${TEST_SHARD_INDEX:-0}" ]; then
    only="$only --only $id"
    count=$((count + 1))
  fi
  number=$((number + 1))
done
[ -z "${TEST_SHARD_STATUS_FILE:-}" ] || : >"$TEST_SHARD_STATUS_FILE"
# 25 mistakes of the specification, most of them in one form, and those of kernels.
[ $number -ge 50 ] || { echo "only $number mutants"; exit 1; }
# shellcheck disable=SC2086
"$1" mutants --runner "$2" $only | tee "$TEST_TMPDIR/out"
[ "$(tail -n 1 "$TEST_TMPDIR/out")" = "$count of $count killed" ]
grep -q '^clean build: [0-9]* checks, no alarm$' "$TEST_TMPDIR/out"
