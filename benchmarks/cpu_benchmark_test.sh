#!/bin/sh
# cpu_benchmark_test.sh PROGRAM...: every benchmark runs, and the report is what Google Benchmark's readers expect.
set -u
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

for program in "$@"; do
  name=${program##*/}
  out=$TEST_TMPDIR/$name.json
  "$program" --benchmark_min_time=0.001 --benchmark_format=json >"$out" || fail "$name: exit code $?"
  wanted=$("$program" --benchmark_list_tests | wc -l)
  found=$(grep -c '"real_time"' "$out")
  [ "$wanted" -gt 0 ] && [ "$found" = "$wanted" ] || fail "$name: $wanted benchmarks, $found times"
  ! grep -q '"error_occurred"' "$out" || fail "$name: a benchmark failed: $(cat "$out")"
  "$program" --no_such_flag >/dev/null 2>&1 && fail "$name: takes an unknown flag"
done

[ "$failures" = 0 ]
