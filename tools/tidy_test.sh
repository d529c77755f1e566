#!/bin/sh
# tools/tidy with a fake clang-tidy: which files it is given, what is counted, the exit code.
set -u
failures=0
check() { # NAME EXPECTED FOUND
  [ "$2" = "$3" ] || { printf 'FAIL: %s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); }
}
root=$(realpath "$TEST_TMPDIR")/checkout
mkdir -p "$root/tools/ci" "$root/bin" "$root/src" "$root/third_party/cuda"
cp tools/tidy "$root/tools/tidy"
cp tools/ci/include_keys.py "$root/tools/ci"
cd "$root" || exit 1
printf '#!/bin/sh\nexit 0\n' >third_party/cuda/find_toolkit.sh
# Finds each line with BAD in the file and in the header beside it, as clang-tidy does; CRASH ends it as a signal would.
cat >bin/clang-tidy-14 <<'END'
#!/bin/sh
if [ "$1" = --version ]; then echo "$VERSION"; exit; fi
echo "$2" >>"$CALLS"
echo 'noise' >&2
! grep -q CRASH "$2" || exit 139
status=0
for path in "$2" "${2%.cc}.h"; do
  numbers=$(grep -n BAD "$path" 2>/dev/null | cut -d : -f 1) || true
  for number in $numbers; do
    printf '%s/./%s:%s:3: error: not good [some-check]\n  BAD\n  ^\n' "$PWD" "$path" "$number"
    status=1
  done
done
exit $status
END
chmod +x bin/clang-tidy-14 third_party/cuda/find_toolkit.sh
CALLS=$root/calls
PATH=$root/bin:$PATH
TIDY_JOBS=1 # the order of findings
VERSION=14
export CALLS PATH TIDY_JOBS VERSION
called() { sort "$CALLS" | tr '\n' ' '; : >"$CALLS"; }
commit() { git add . && git -c user.name=t -c user.email=t@example.com commit -q -m "$1"; }

: >src/good.h
echo '#include "src/good.h"' >src/user.cc
echo '#include "good.h"' >src/between.h
echo '#include "src/between.h"' >src/far.cc
echo '#include "tools/cuda/built_archs.h"' >src/generated.cc
printf '#include "src/generated.h"\n' >src/far_generated.cc
echo '#include "tools/cuda/other_archs.h"' >src/generated.h
echo '#include "fmt/format.h"' >src/good.cc # a library's
echo '#include <cuda_runtime.h>' >src/needs_cuda.cc
echo '.tidy/' >.gitignore
: >.clang-tidy
git init -q . && commit one

output=$(tools/tidy)
check "exit code without a finding" 0 $?
check "a clean run" '0 findings in 0 of 3 files (0 as before), 3 left out' "$output"
check "all that compiles" 'src/far.cc src/good.cc src/user.cc ' "$(called)"

check "clean as before" '0 findings in 0 of 3 files (3 as before), 3 left out' "$(tools/tidy)"
check "nothing is looked at again" '' "$(called)"

printf 'fine\nBAD\n' >src/user.h
printf 'BAD\nfine\nBAD\n' >src/user.cc
output=$(tools/tidy)
check "exit code with findings" 1 $?
check "findings" 'src/user.cc:1:3: error: not good [some-check]
  BAD
  ^
src/user.cc:3:3: error: not good [some-check]
  BAD
  ^
src/user.h:2:3: error: not good [some-check]
  BAD
  ^
3 findings in 2 of 3 files (2 as before), 3 left out' "$output"
check "what changed" 'src/user.cc ' "$(called)"

# A header's finding comes from each that includes it, and counts once. A file with findings is looked at each time.
output=$(tools/tidy src/user.cc src/user.cc | tail -n 1)
check "a finding seen twice" '3 findings in 2 of 2 files (0 as before), 0 left out' "$output"
check "files by name" 'src/user.cc src/user.cc ' "$(called)"
check "a folder" '3 findings in 2 of 3 files (2 as before), 3 left out' "$(tools/tidy src | tail -n 1)"
check "a folder's files" 'src/user.cc ' "$(called)"
git checkout -q src/user.cc && rm src/user.h

echo CRASH >src/good.cc
output=$(tools/tidy)
check "exit code of a crash" 1 $?
check "a crash" 'src/good.cc:1:1: error: clang-tidy-14 ended with 139 and said nothing
1 findings in 1 of 3 files (2 as before), 3 left out' "$output"
git checkout -q src/good.cc
: >"$CALLS"

echo '// changed' >src/good.h
tools/tidy >/dev/null
check "what includes a header that changed, however far" 'src/far.cc src/user.cc ' "$(called)"
git checkout -q src/good.h
echo '-*,bugprone-*' >.clang-tidy
tools/tidy >/dev/null
check "other checks" 'src/far.cc src/good.cc src/user.cc ' "$(called)"
VERSION=15 tools/tidy >/dev/null
check "another version" 'src/far.cc src/good.cc src/user.cc ' "$(called)"
git checkout -q .clang-tidy

rm -r .tidy
echo '// changed' >src/good.h
tools/tidy --since HEAD >/dev/null
check "--since: what includes a header that changed" 'src/user.cc ' "$(called)"
commit two
check "nothing changed" '0 findings in 0 of 0 files (0 as before), 0 left out' "$(tools/tidy --since HEAD)"
rm -r .tidy
tools/tidy --since HEAD~1 >/dev/null
check "since an older commit" 'src/user.cc ' "$(called)"

check "a folder without sources" '0 findings in 0 of 0 files (0 as before), 0 left out' "$(tools/tidy third_party)"
for arguments in --fix '--since HEAD src'; do
  # shellcheck disable=SC2086
  tools/tidy $arguments >/dev/null 2>&1
  check "usage: $arguments" 2 $?
done
exit $failures
