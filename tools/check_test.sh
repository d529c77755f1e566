#!/bin/sh
# tools/check with fakes of the tools that it calls: the table, the exit code, what is passed on.
set -u
failures=0
check() { # NAME EXPECTED FOUND
  [ "$2" = "$3" ] || { printf 'FAIL: %s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); }
}
root=$(realpath "$TEST_TMPDIR")/checkout
mkdir -p "$root/tools"
cp tools/check "$root/tools/check"
cd "$root" || exit 1
git init -q . && git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m one
fake() { # NAME EXIT-CODE LAST-LINE
  printf '#!/bin/sh\necho "%s $*" >>"$CALLS"\necho noise\necho "%s"\nexit %s\n' "$1" "$3" "$2" >"tools/$1"
  chmod +x "tools/$1"
}
CALLS=$root/calls
CHECK_LOGS=$root/logs
export CALLS CHECK_LOGS
fake format 0 ''
fake tidy 0 '0 findings in 0 of 12 files (3 as before), 0 left out'
fake sanitize 0 ''
# Its last lines name the config.
printf '#!/bin/sh\necho "sanitize $*" >>"$CALLS"\necho "9 passed, 0 failed, 0 skipped"\necho "$1: 9 passed, 0 failed, 1 skipped"\n' >tools/sanitize
fake coverage 0 '91.0 % of 100 lines of src/ in 3 files; report x.dat'

columns() { sed 's/  */ /g; s/ [0-9]*$//'; }

output=$(tools/check)
check "exit code of a clean run" 0 $?
check "table" "logs: $root/logs
check result figure seconds
format PASS 0 files
tidy PASS 0 findings in 0 of 12 files (3 as before), 0 left out
asan+ubsan PASS 9 passed, 0 failed, 1 skipped
tsan PASS 9 passed, 0 failed, 1 skipped
coverage PASS 91.0 % of 100 lines of src/ in 3 files; report x.dat" "$(echo "$output" | columns)"
check "the logs hold what was printed" noise "$(head -n 1 logs/coverage.log)"

: >calls
tools/check asan tsan coverage -- --config=nocuda //src/a/... >/dev/null
check "what stands behind -- goes on" "sanitize asan --config=nocuda //src/a/...
sanitize tsan --config=nocuda //src/a/...
coverage --config=nocuda //src/a/..." "$(cat calls)"

: >calls
tools/check tidy --since HEAD >/dev/null
check "--since" "tidy --since HEAD" "$(cat calls)"

: >calls
tools/check tidy --under tools >/dev/null
check "--under" "tidy tools" "$(cat calls)"

fake coverage 1 '80.0 % of 100 lines of src/ in 3 files; report x.dat'
output=$(tools/check coverage format)
check "exit code of a failure" 1 $?
check "what fails is named, and the rest runs" "coverage FAIL 80.0 % of 100 lines of src/ in 3 files; report x.dat
format PASS 0 files" "$(echo "$output" | columns | tail -n 2)"

fake format 1 ''
output=$(tools/check format)
check "exit code of a failed format" 1 $?
check "a failed format" "format FAIL 0 files" "$(echo "$output" | columns | tail -n 1)"

for arguments in speed '--under no-such-folder' '--under tools --since HEAD' '--since' '--since no-such-commit' 'format --verbose'; do
  # shellcheck disable=SC2086
  tools/check $arguments >/dev/null 2>&1
  check "usage: $arguments" 2 $?
done
exit $failures
