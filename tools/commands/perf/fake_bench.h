// A script that writes a report as a program of Google Benchmark does, for tests of what runs such
// programs.
//
//   WriteTextFile(script, kFakeBench);
//   "sh SCRIPT 100000 100 draft/a"   // ten values in turn: 100000 + 0 to 9 times 100 ns
//
// Called as SCRIPT LEVEL SPREAD NAME FLAGS. COUNTERS in its environment, as ', "launches": 24', are
// counters of the entry. It keeps its calls, each with the seed that it was given,
// in SCRIPT.calls.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_FAKE_BENCH_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_FAKE_BENCH_H_

namespace draftmark {

inline constexpr char kFakeBench[] = R"sh(
out=
for flag in "$@"; do case $flag in --benchmark_out=*) out=${flag#*=} ;; esac; done
turn=$(cat "$0.$1.turn" 2>/dev/null || echo 0)
echo $(((turn + 1) % 10)) >"$0.$1.turn"
echo "$DRAFTMARK_ORDER_SEED $*" >>"$0.calls"
cat >"${out:-/dev/stdout}" <<END
{"context": {"date": "2026-11-30T02:24:17+00:00", "order_seed": "$DRAFTMARK_ORDER_SEED",
  "gpu": "NVIDIA H200 (sm_90, 132 SMs)"},
 "benchmarks": [{"name": "$3", "real_time": $(($1 + turn * $2)), "time_unit": "ns"$COUNTERS}]}
END
)sh";

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_FAKE_BENCH_H_
