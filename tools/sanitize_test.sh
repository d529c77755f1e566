#!/bin/sh
# tools/sanitize with fakes of what it calls: which tests run in which config, the summary, the exit code.
set -u
failures=0
check() { # NAME EXPECTED FOUND
  [ "$2" = "$3" ] || { printf 'FAIL: %s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); }
}
root=$(realpath "$TEST_TMPDIR")/checkout
mkdir -p "$root/tools/ci" "$root/bin" "$root/src/a" "$root/kernels"
cp tools/sanitize "$root/tools/sanitize"
cd "$root" || exit 1
CALLS=$root/calls
PATH=$root/bin:$PATH
export CALLS PATH
cat >tools/test <<'END'
#!/bin/sh
echo "test $*" | sed 's/ --keep_going --build_event_json_file=[^ ]*/ .../' >>"$CALLS"
END
printf '#!/bin/sh\necho "setup $*" >>"$CALLS"\n' >tools/setup
# Bazel's query prints labels. A toolkit is there if bin/toolkit is.
cat >bin/bazel <<'END'
#!/bin/sh
printf '%s\n' "bazel $*" >>"$CALLS"
case $* in *@local_cuda*) [ -e "$(dirname "$0")/toolkit" ]; exit ;; esac
printf '//src/a:%s_test\n' one two
case $* in *'+ //kernels/'*) echo "//${*##*+ //}" ;; esac
END
# Says whether it can link with the sanitizers' runtime.
printf '#!/bin/sh\ncat >/dev/null\ntest -e "$0.runtime"\n' >bin/clang
touch bin/clang.runtime
chmod +x tools/test tools/setup bin/bazel bin/clang
count() { # EXIT-CODE LAST-LINE
  printf 'import sys\nprint("skipped //src/a:x")\nprint("%s")\nsys.exit(%s)\n' "$2" "$1" >tools/ci/count_tests.py
}
count 0 '9 passed, 0 failed, 1 skipped'

echo 'std::vector<std::thread> threads;' >src/a/starts.cc
echo 'const std::jthread device(body);' >src/a/starts_too.h
echo 'ParallelFor(8, 1, body);' >src/a/loops.cc
echo 'auto call = std::async(body);' >src/a/calls.cc
printf '#include <thread>\nstd::this_thread::sleep_for(1s); std::mutex guard;\n' >src/a/waits.cc
echo 'std::thread on_gpu_machines;' >kernels/turn.cc
git init -q . && git add .

: >calls
output=$(tools/sanitize)
check "exit code of a clean run" 0 $?
check "all, and what has threads" 'test --config=clang-asan-ubsan ...
setup 
bazel query --noshow_progress @local_cuda//:cudart_static_archive
bazel query --noshow_progress tests(rdeps(//src/... + //conformance/... + //tools/..., set(src/a/calls.cc src/a/loops.cc'\
' src/a/starts.cc src/a/starts_too.h), 2)) except attr(tags, '\''\bmanual\b'\'', //src/... + //conformance/... + //tools/...)'\
' except attr(target_compatible_with, '\''//tools/cuda:'\'', //src/... + //conformance/... + //tools/...) 
test --config=tsan ... //src/a:one_test //src/a:two_test' "$(cat calls)"
check "summary" 'asan+ubsan: 9 passed, 0 failed, 1 skipped
tsan: 9 passed, 0 failed, 1 skipped' "$(echo "$output" | tail -n 2)"

: >calls
touch bin/toolkit
tools/sanitize tsan >/dev/null
check "sessions too where there is a toolkit" 'test --config=tsan ... --//tools/cuda:archs=sm_90a //src/a:one_test //src/a:two_test'\
' //kernels/draft:draft_without_gpu_test' "$(tail -n 1 calls)"
tools/sanitize tsan --config=nocuda >/dev/null
check "but not without CUDA" 'test --config=tsan ... --config=nocuda //src/a:one_test //src/a:two_test' "$(tail -n 1 calls)"
check "nor is a toolkit fetched then" 'setup --no-cuda' "$(grep setup calls | tail -n 1)"
tools/sanitize tsan --//tools/cuda:enabled=false >/dev/null
check "nor with CUDA off by its own option" \
  'test --config=tsan ... --//tools/cuda:enabled=false //src/a:one_test //src/a:two_test' "$(tail -n 1 calls)"

: >calls
tools/sanitize tsan ubsan --config=nocuda //src/a:three_test >/dev/null
check "given targets alone" 'test --config=tsan ... --config=nocuda //src/a:three_test
test --config=ubsan ... --config=nocuda //src/a:three_test' "$(cat calls)"

: >calls
rm bin/clang.runtime
tools/sanitize asan+ubsan //src/a:three_test >/dev/null
check "g++ where clang has no runtime" 'test --config=asan --config=ubsan ... //src/a:three_test' "$(cat calls)"

count 1 '8 passed, 1 failed, 1 skipped'
output=$(tools/sanitize asan //src/a:three_test)
check "exit code of a failure" 1 $?
check "summary of a failure" 'asan: 8 passed, 1 failed, 1 skipped' "$(echo "$output" | tail -n 1)"

: >calls
printf '#!/bin/sh\necho "bazel: no such package" >&2\nexit 7\n' >bin/bazel
tools/sanitize tsan >/dev/null 2>&1
check "exit code without a list of tests" 7 $?
check "nothing runs without a list of tests" 'setup ' "$(cat calls)"

tools/sanitize msan >/dev/null 2>&1
check "usage" 2 $?
exit $failures
