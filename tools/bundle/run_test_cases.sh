# The cases of run_test.sh, which sources this.

# What the machine lacks.

set_up other_processor
echo 'case $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac' | fake uname
start conformance
refused 'for Linux on x86-64; this machine is Linux on aarch64'

set_up old_glibc
echo 'echo glibc 2.35' | fake getconf
start conformance
refused 'glibc is too old: found 2.35, 2.36 or newer is needed'

set_up glibc_by_ldd
echo 'exit 1' | fake getconf
echo 'echo "ldd (Ubuntu GLIBC 2.31-0ubuntu9) 2.31"' | fake ldd
start conformance
refused 'glibc is too old: found 2.31'

set_up no_glibc
echo 'exit 1' | fake getconf
echo 'echo "musl libc (x86_64)" >&2; exit 1' | fake ldd
start conformance
refused 'no glibc found'

set_up no_driver
rm "$base/lib/libcuda.so.1"
start conformance
refused 'no NVIDIA driver: libcuda.so.1 is not among'

set_up driver_of_another_abi
rm "$base/lib/libcuda.so.1"
echo 'echo "	libcuda.so.1 (libc6) => /usr/lib32/libcuda.so.1"' | fake ldconfig
start conformance
refused 'no NVIDIA driver'

set_up driver_by_loader_cache
rm "$base/lib/libcuda.so.1"
echo 'echo "	libcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1"' | fake ldconfig
start conformance --out results
ended 0 '15 passed, 0 failed, 2 skipped'

set_up driver_not_loaded
echo 'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."; exit 9' | fake nvidia-smi
start conformance
refused 'the NVIDIA driver does not answer: NVIDIA-SMI has failed'

set_up old_driver
echo 'case "$*" in *compute_cap*) echo "Field is not valid"; exit 2 ;; *driver_version*) echo 575.57.08 ;; esac' | fake nvidia-smi
start bench
refused 'the NVIDIA driver is too old: found 575.57.08, CUDA 13 needs 580 or newer'

set_up no_device
echo 'echo "No devices were found"; exit 6' | fake nvidia-smi
start conformance
refused 'no GPU: nvidia-smi says "No devices were found"'

set_up hidden_devices
visible=
start conformance
refused 'no GPU: CUDA_VISIBLE_DEVICES hides all of them'
visible=7
start conformance
refused 'no GPU'
visible=1,0
start conformance --out results
ended 0 '15 passed, 0 failed, 2 skipped'
unset visible

# capability ARCHS yes|no: whether such code runs on the GPU.
capability() {
  set_up "capability_$1"
  printf '%s\n' $2 >"$bundle/ARCHS"
  fake nvidia-smi <<END
case "\$*" in *compute_cap*) echo $1 ;; *driver_version*) echo 581.0 ;; *name*) echo GPU ;; esac
END
  start conformance --out results
  if [ $3 = yes ]; then
    ended 0 '15 passed, 0 failed, 2 skipped'
  else
    refused "is sm_$(echo "$1" | tr -d .), and this bundle holds code for $2 only"
  fi
}
capability 9.0 'sm_80 sm_90a' yes
capability 9.0 'sm_80' no
capability 8.6 'sm_80' yes
capability 7.5 'sm_80' no
capability 8.0 'sm_89' no
capability 10.3 'sm_100a' no
capability 10.3 'sm_100f' yes
capability 12.1 'sm_120' yes
capability 12.1 'sm_90a compute_90' yes
capability 12.1 'compute_120a' no

set_up unknown_capability
echo 'case "$*" in *compute_cap*) echo "[N/A]" ;; *driver_version*) echo 581.0 ;; esac' | fake nvidia-smi
start conformance
refused "does not know the GPU's compute capability: [N/A]"

set_up no_cublaslt
rm -r "$base/cuda"
start conformance
refused 'cuBLASLt is missing: no libcublasLt.so.13 (CUDA 13) in '

set_up old_cublaslt
rm -r "$base/cuda"
mkdir -p "$base/cuda/targets/x86_64-linux/lib"
touch "$base/cuda/targets/x86_64-linux/lib/libcublasLt.so.12"
start conformance
refused 'cuBLASLt is too old: found'

for place in toolkit home loader; do
  set_up "cublaslt_by_$place"
  rm -r "$base/cuda"
  mkdir "$base/place 1"
  case $place in
    toolkit) mkdir -p "$base/cuda-13.2/lib"; touch "$base/cuda-13.2/lib/libcublasLt.so.13" ;;
    home) home="$base/place 1"; mkdir "$home/lib"; touch "$home/lib/libcublasLt.so.13" ;;
    loader) loader="/nowhere::$base/place 1"; touch "$base/place 1/libcublasLt.so.13" ;;
  esac
  start conformance --out results
  ended 0 '15 passed, 0 failed, 2 skipped'
  unset home loader
done

# A container may have the driver's libraries and no nvidia-smi.
set_up no_nvidia_smi
rm "$base/fakes/nvidia-smi"
if ! command -v nvidia-smi >/dev/null; then
  start conformance
  refused 'the kernel module is not loaded'
  mkdir -p "$base/proc/gpus/0000:01:00.0"
  echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build' >"$base/proc/version"
  start conformance
  refused 'the NVIDIA driver is too old: found 570.86.10'
  echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build' >"$base/proc/version"
  start conformance
  refused 'no GPU: '
  printf 'Model: \t\t NVIDIA H200\nIRQ: 1\n' >"$base/proc/gpus/0000:01:00.0/information"
  start conformance --out results
  ended 0 '15 passed, 0 failed, 2 skipped'
  holds results/summary.json '"gpu": "NVIDIA H200"'
fi

# The command line.

set_up usage
start
[ $code = 2 ] || fail "no command: exit code $code"
start --help
[ $code = 0 ] && grep -q '^usage: ' "$base/stdout" || fail "no help"
start conformance --help
[ $code = 0 ] || fail "no help behind a command"
start verify
refused 'unknown command verify'
start conformance --fast
refused 'unknown option --fast'
start conformance --out
refused '--out needs a value'
for command in conformance bench; do
  start $command --only nothing --out results
  refused 'no program'"'"'s name holds "nothing"'
  [ ! -e "$base/here/results" ] || fail "made a folder"
done
mkdir "$base/here/full"
touch "$base/here/full/file"
start conformance --out full
refused 'is not empty'
start conformance --out full/file/sub
refused 'cannot make the folder full/file/sub'

# compute-sanitizer.

set_up sanitize
echo 'test bin/kernels/gpu_test' >>"$bundle/PROGRAMS"
mv "$bundle/bin/kernels/first_test" "$bundle/bin/kernels/gpu_test"
start sanitize
refused 'compute-sanitizer is missing'
echo 'tool=$2; shift 4; "$@"; [ "$tool" != racecheck ] || exit 9' | fake compute-sanitizer
start sanitize --only nothing
refused 'no tool'"'"'s name holds "nothing"'
start sanitize --out results -- --x
refused 'takes no options'
start sanitize --only memcheck --out results
ended 0 '2 passed, 0 failed, 1 skipped'
holds results/logs/memcheck.log '--gtest_filter='
start sanitize --out all
ended 1 '8 passed, 1 failed, 4 skipped'
holds all/summary.json '"problem": "ended with exit code 9, though no test failed"'

# Good runs.

set_up good
start conformance --out 'my results/1'
ended 0 '15 passed, 0 failed, 2 skipped'
[ ! -s "$base/stderr" ] || fail "stderr is not empty"
well_formed 'my results/1'
for text in '"command": "conformance"' '"commit": "0123456789abcdef"' '"gpu": "NVIDIA \"H200\""' '"compute_capability": "9.0"' \
  '"driver": "580.159.03"' '"driver_cuda": "13.0"' '"toolkit_cuda": "13.0"' '"cublaslt": "13.1.2"' '"archs": "sm_80 sm_90a sm_120"' \
  '"passed": 15,' '{"name": "kernels.first_test", "passed": 2, "failed": 0, "skipped": 1, "exit_code": 0, "seconds": '; do
  holds 'my results/1/summary.json' "$text"
done
for text in '<testsuite name="kernels.first_test.First" tests="3"' '<testcase name="op/rms_norm/rows=1,h=1/bf16" ' \
  'name="sizes/rows &amp; &lt;more>"' '<skipped message="XFAIL"/>' 'name="draft/&quot;one&quot;"' \
  '<testcase name="draft on sm_80" classname="architectures"><skipped message="compiled: sm_80"/>'; do
  holds 'my results/1/junit.xml' "$text"
done
holds 'my results/1/logs/kernels.first_test.log' 'arguments: --gtest_output=xml:'
[ ! -e "$base/here/my results/1/unfinished" ] || fail "unfinished files are left"

# A share of the cases, for one of several GPUs.
set_up shard
sed -i 's|verify --backend cuda --format json|& --shard 2/4|' "$bundle/bin/tools/draftmark"
for program in first_test second_test; do
  sed -i '2i [ "$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS" = "1 of 4" ] || exit 9' "$bundle/bin/kernels/$program"
done
start conformance --shard 2/4 --out results
ended 0 '15 passed, 0 failed, 2 skipped'
# None may be left for it.
sed -i '2i printf "<testsuites tests=\\"0\\">\\n</testsuites>\\n" >"${1#--gtest_output=xml:}"; exit 0' "$bundle/bin/kernels/first_test"
start conformance --shard=2/4 --only first_test --out few
ended 0 '0 passed, 0 failed, 0 skipped'
start conformance --only first_test --out none
ended 1 '0 passed, 1 failed, 0 skipped'

set_up shard_refused
for shard in 0/4 5/4 1 x/4 1/ /4 1/2/3 08/9 1/0; do
  start conformance --shard $shard --out refused
  refused "--shard needs I/N with 1 <= I <= N, found $shard"
done
start bench --shard 1/2 --out refused
refused '--shard is for conformance'

set_up default_folder
start bench --only first_benchmark
ended 0 '2 passed, 0 failed, 0 skipped'
well_formed "$(cd "$base/here" && ls -d results-2*)"

# The musts of a roofline are cases.
set_up roofline
start bench --out results
ended 1 '3 passed, 1 failed, 0 skipped'
well_formed results
holds results/junit.xml '<testcase name="draft/a/nb=1" classname="draftmark_roofline"></testcase>'
holds results/junit.xml '<testcase name="linear/rows=1,n=2,k=3" classname="draftmark_roofline"><failure message="FAIL"/>'
start bench --only draftmark_roofline --out alone -- --no-baseline --runs 7
ended 1 '1 passed, 1 failed, 0 skipped'
holds alone/logs/draftmark_roofline.log '(--no-baseline --runs 7)'
# A missed must is no reason to leave results out.
for folder in results alone; do
  holds $folder/summary.json '{"name": "draftmark_roofline", "passed": 1, "failed": 1, "skipped": 0, "exit_code": 1, '
  holds $folder/bench/draftmark_roofline.json '"linear/rows=1,n=2,k=3"'
  [ ! -e "$base/here/$folder/unfinished" ] || fail "unfinished files are left"
done
! grep -q '"problem": "[^"]' "$base/here/alone/summary.json" || fail "a missed must counts as a program that broke"
[ ! -s "$base/stderr" ] || fail "stderr is not empty"

set_up roofline_refused
start bench --out both -- --no-baseline
refused 'options behind -- need --only TEXT'
start conformance --only draftmark_roofline --out none
refused 'no program'"'"'s name holds "draftmark_roofline"'

set_up by_a_link
ln -s "$bundle/run" "$base/a link"
run="$base/a link"
start conformance --out results
ended 0 '15 passed, 0 failed, 2 skipped'
unset run

set_up cdpath
mkdir "$base/elsewhere" "$base/elsewhere/results" "$base/elsewhere/the bundle"
CDPATH="$base/elsewhere"
export CDPATH
run="../the bundle/run"
start conformance --out results
ended 0 '15 passed, 0 failed, 2 skipped'
well_formed results
unset run CDPATH

for file in environment.sh results.sh PROGRAMS ARCHS COMMIT CUDA; do
  set_up "without_$file"
  rm "$bundle/$file"
  start conformance --out results
  refused "the bundle is incomplete, $bundle/$file is missing"
  [ ! -e "$base/here/results" ] || fail "made a folder"
done

set_up options
start conformance --only=first_test --out=results -- '--gtest_filter=A B' more
ended 0 '2 passed, 0 failed, 1 skipped'
holds results/logs/kernels.first_test.log '--gtest_filter=A B more'

# Options are for the programs that --only names, or for the only one.

set_up options_for_all
start conformance --out results -- --gtest_filter=A
refused 'options behind -- need --only TEXT'
[ ! -e "$base/here/results" ] || fail "made a folder"
start conformance --only draftmark --out results -- --gtest_filter=A
refused 'draftmark_verify takes no options behind --'
start bench --only benchmark --out results -- --benchmark_filter=a
ended 0 '2 passed, 0 failed, 0 skipped'

set_up options_for_one_of_two
echo 'bench bin/second_benchmark' >>"$bundle/PROGRAMS"
echo 'exit 1' | program bin/second_benchmark
start bench --out results -- --draft=x
refused 'options behind -- need --only TEXT'
start bench --only first --out results -- --draft=x
ended 0 '2 passed, 0 failed, 0 skipped'

# Programs that fail.

set_up mismatches
sed -i 's/"failed": 0,/"failed": 2,/; s/"outcome": "PASS"/"outcome": "FAIL"/' "$bundle/bin/tools/draftmark"
echo 'exit 1' >>"$bundle/bin/tools/draftmark"
start conformance --only draftmark --out results
ended 1 '12 passed, 2 failed, 1 skipped'
well_formed results
holds results/junit.xml '<failure message="FAIL"/>'

set_up data_errors
sed -i 's/"errors": \[\]/"errors": [\n    "golden\/x: \\"bad\\"",\n    "second"\n  ]/' "$bundle/bin/tools/draftmark"
echo 'exit 2' >>"$bundle/bin/tools/draftmark"
start conformance --only draftmark --out results
ended 1 '12 passed, 2 failed, 1 skipped'
well_formed results
holds results/junit.xml 'golden/x: &quot;bad&quot;'

set_up unknown_backend
echo 'echo "--backend: cuda not in {reference}" >&2; exit 2' | program bin/tools/draftmark
start conformance --only draftmark --out results
ended 1 '0 passed, 1 failed, 0 skipped'
well_formed results
holds results/logs/draftmark_verify.log 'cuda not in'
holds results/summary.json 'ended with exit code 2 and left no complete results: --backend: cuda not in {reference}"'
grep -q '^FAIL draftmark_verify: .*: --backend: cuda not in {reference}; see ' "$base/stderr" || fail "the reason is not told"

set_up last_words
printf 'printf "no\n\\"such\\" \303 draft\n\n" >&2
exit 2
' | program bin/first_benchmark
start bench --only benchmark --out results
ended 1 '0 passed, 1 failed, 0 skipped'
well_formed results
grep -q '^FAIL first_benchmark: .* results: "such"  draft; see ' "$base/stderr" || fail "the last line is not told"

set_up failed_case
sed -i 's|name="B" \(.*\) />|name="B" \1><failure message="x"></failure></testcase>|; s|><failure|>\n<failure|' "$bundle/bin/kernels/first_test"
echo 'exit 1' >>"$bundle/bin/kernels/first_test"
start conformance --out results
ended 1 '14 passed, 1 failed, 2 skipped'
well_formed results

# misbehaving NAME PASSED: whatever second_test does wrong is one failure.
misbehaving() {
  set_up "$1"
  program bin/kernels/second_test
  start conformance --only _test --out results
  ended 1 "$2 passed, 1 failed, 1 skipped"
  well_formed results
  grep -q '^FAIL kernels.second_test: ' "$base/stderr" || fail "the program is not named"
}
misbehaving crash 2 <<'END'
kill -SEGV $$
END
misbehaving no_results 2 <<'END'
exit 0
END
misbehaving cut_results 2 <<'END'
printf '<?xml version="1.0"?>\n<testsuites name="AllTests">\n  <testsuite name="S">\n    <testcase name="A" status="run" ' >"${1#--gtest_output=xml:}"
END
misbehaving no_tests 2 <<'END'
printf '<testsuites tests="0" name="AllTests">\n</testsuites>\n' >"${1#--gtest_output=xml:}"
END
misbehaving unexplained_exit_code 3 <<'END'
printf '<testsuites name="AllTests">\n<testsuite name="S">\n<testcase name="A" status="run" result="completed" />\n</testsuite>\n</testsuites>\n' >"${1#--gtest_output=xml:}"
exit 3
END

set_up missing_program
rm "$bundle/bin/kernels/second_test"
start conformance --out results
ended 1 '14 passed, 1 failed, 2 skipped'

set_up failed_benchmark
sed -i 's|"real_time": 2.0|"error_occurred": true,\n      "error_message": "no \\"kernel\\""|' "$bundle/bin/first_benchmark"
start bench --only benchmark --out results
ended 1 '1 passed, 1 failed, 0 skipped'
well_formed results

set_up no_benchmarks
echo 'echo "Failed to match any benchmarks against regex: x" >&2' | program bin/first_benchmark
start bench --only benchmark --out results
ended 1 '0 passed, 1 failed, 0 skipped'

# No half-written results.

set_up full_disk
echo 'exit 1' | fake mv
start conformance --out results
refused 'cannot write '

set_up interrupted
program bin/kernels/second_test <<END
echo \$PPID \$\$ >"$base/pids"
exec sleep 60
END
start conformance --out results &
test_process=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -s "$base/pids" ] && break
  sleep 0.5
done
read -r run_process program_process <"$base/pids"
kill -TERM "$run_process"
wait $test_process
[ ! -e "$base/here/results/summary.json" ] || fail "wrote a summary"
grep -q -F 'interrupted; ' "$base/stderr" || fail "does not say that it was interrupted"
sleep 0.5
if kill -0 "$program_process" 2>/dev/null; then fail "its program goes on"; fi
