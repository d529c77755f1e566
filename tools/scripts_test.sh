#!/bin/sh
# Every script finds its checkout, also where CDPATH leads elsewhere: each is cut off behind its `cd`, and says where it is.
# And asked for help it says how it is called, and begins nothing.
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

# No bazel, no apt-get, no git.
mkdir "$TEST_TMPDIR/bin"
for program in basename cat dirname sed sh; do ln -s "$(command -v $program)" "$TEST_TMPDIR/bin/$program"; done
for script in .ci/run tools/bazel7 tools/check tools/coverage tools/format tools/nightly tools/run tools/sanitize tools/setup \
  tools/test tools/tidy tools/golden/check_compilers tools/remote/cache_key tools/remote/prove_cache tools/remote/prove_execution; do
  for help in --help -h; do
    result=0
    said=$(PATH=$TEST_TMPDIR/bin sh "$script" $help 2>&1) || result=$?
    case $result:$said in
      0:*"$script"*) ;;
      *) echo "FAIL: $script $help: expected exit code 0 and its usage, found $result: $said"; failures=$((failures + 1)) ;;
    esac
  done
done
exit $failures
