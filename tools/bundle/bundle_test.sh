#!/bin/sh
# bundle_test.sh TAR: the real bundle, unpacked where no file can be written and the path holds spaces.
set -u
tar=$PWD/$1
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

LARGEST=$((40 << 20))
NEWEST_GLIBC=2.36

size=$(stat -L -c %s "$tar")
[ "$size" -lt $LARGEST ] || fail "the tar has $size bytes, $LARGEST are allowed"
[ -z "$(tar -tvzf "$tar" --numeric-owner --utc | grep -v ' 0/0 .* 1970-01-01 00:00 draftmark-gpu/')" ] ||
  fail "owner or time of a file differ from build to build"
[ "$(tar -tzf "$tar" | grep -v '/$')" = "$(tar -tzf "$tar" | grep -v '/$' | LC_ALL=C sort)" ] || fail "files are not in order"

folder="$TEST_TMPDIR/an unpacked bundle"
mkdir -p "$folder"
tar -xzf "$tar" -C "$folder"
bundle=$folder/draftmark-gpu
chmod -R a-w "$bundle"

for program in $(sed 's/^[a-z]* //' "$bundle/PROGRAMS"); do
  for library in $(readelf -d "$bundle/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $library in
      libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2 | libdl.so.2 | libpthread.so.0 | librt.so.1) ;;
      *) fail "$program needs $library: give it linkopts = PORTABLE_LINKOPTS" ;;
    esac
  done
  newest=$(printf '%s\n' $NEWEST_GLIBC $(objdump -T "$bundle/$program" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p') | sort -V | tail -n 1)
  [ "$newest" = $NEWEST_GLIBC ] || fail "$program needs glibc $newest"
  readelf -d "$bundle/$program" | grep -q -E 'RPATH|RUNPATH' && fail "$program looks for libraries where it was built"
done
[ "$(grep -c '^test ' "$bundle/PROGRAMS")" -ge 4 ] || fail "test programs are missing"
for file in ARCHS COMMIT CUDA; do
  [ -s "$bundle/$file" ] || fail "$file is empty"
done

# The programs start, with the data of the bundle; tests skip here where there is no GPU.
"$bundle/run" --help | grep -q '^usage: ' || fail "no help"
expect() { # EXIT-CODE TEXT COMMAND...
  code=$1
  text=$2
  shift 2
  answer=$("$@" 2>&1)
  [ $? = "$code" ] && case $answer in *"$text"*) true ;; *) false ;; esac || fail "$*: expected $code and '$text', got: $answer"
}
cd "$bundle/data/draftmark" || exit 1
"$bundle/bin/tools/draftmark" verify golden/drafter --precision bf16 --format json >"$TEST_TMPDIR/report.json" ||
  fail "draftmark verify golden/drafter: exit code $?"
# Whether `run` can read it.
cases=$(ls -d golden/drafter/*/ | wc -l)
work=$TEST_TMPDIR
. "$bundle/results.sh"
verify_suite "$TEST_TMPDIR/report.json" verify >"$TEST_TMPDIR/suite" || fail "the report of draftmark verify is not understood"
[ "$(cat "$TEST_TMPDIR/counts")" = "$cases 0 0" ] || fail "found $(cat "$TEST_TMPDIR/counts") in the report of $cases cases"
[ "$(grep -c '<testcase name="draft/' "$TEST_TMPDIR/suite")" = "$cases" ] || fail "the report's cases are not understood"
# By hand, from any folder, programs find the data of their bundle, and a copy elsewhere says what it lacks.
by_hand() { # EXIT-CODE TEXT PROGRAM ARGUMENTS...
  expected=$1
  wanted=$2
  shift 2
  expect "$expected" "$wanted" env -u TEST_SRCDIR -u BUILD_WORKSPACE_DIRECTORY -u DRAFTMARK_REQUIRE_GPU CUDA_VISIBLE_DEVICES=-1 \
    sh -c 'cd / && exec "$0" "$@"' "$@"
}
by_hand 0 'checks passed, 0 failed' "$bundle/bin/tools/draftmark" verify
by_hand 0 SKIPPED "$bundle/bin/kernels/gpu_test"
for test in conformance/cuda/cuda_cases_test tools/commands/draft/draft_cuda_test tools/commands/verify/verify_cuda_test; do
  by_hand 0 SKIPPED "$bundle/bin/$test"
  cp "$bundle/bin/$test" "$TEST_TMPDIR/alone"
  by_hand 2 'alone: no golden' "$TEST_TMPDIR/alone"
  rm -f "$TEST_TMPDIR/alone"
done
by_hand 2 'draft_benchmark: no usable CUDA device: ' "$bundle/bin/benchmarks/draft_benchmark"
by_hand 2 'draftmark: no usable CUDA device: ' "$bundle/bin/tools/draftmark" bench roofline # found its catalogue
[ -s "$bundle/data/draftmark/benchmarks/pytorch_baseline.py" ] || fail "the PyTorch baseline is missing"
by_hand 2 'operations_benchmark: no usable CUDA device: ' "$bundle/bin/benchmarks/operations_benchmark"
# No fact of this machine gets through.
expect 2 'run: no NVIDIA driver' env PATH="$TEST_TMPDIR:$PATH" LD_LIBRARY_PATH= DRAFTMARK_SYSTEM_FOLDERS= \
  sh -c 'printf "#!/bin/sh\n" >"$TEST_TMPDIR/ldconfig" && chmod +x "$TEST_TMPDIR/ldconfig" && cd "$TEST_TMPDIR" && exec "$0" conformance' "$bundle/run"

chmod -R u+w "$bundle"
[ "$failures" = 0 ]
