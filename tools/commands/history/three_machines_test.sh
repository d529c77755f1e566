#!/bin/sh
# three_machines_test.sh DRAFTMARK GOLDEN: three machines share the cases of one suite and measure each their own GPU; their
# JSONL files, copied together, give one history, in whatever order and however often they come.
set -u
draftmark=$PWD/$1
golden=$PWD/$2
cd "$TEST_TMPDIR" || exit 1
failures=0
check() { # NAME EXPECTED FOUND
  [ "$2" = "$3" ] || { printf 'FAIL: %s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); }
}
die() { echo "FAIL: $*"; exit 1; }

# machine NUMBER DATE GPU ARCH MILLISECONDS: what happens there, in a folder of its own; only the JSONL files leave it.
machine() {
  mkdir "machine$1"
  cat >"machine$1/bench.json" <<JSON
{"context": {"date": "$2T02:24:17+00:00", "executable": "./draft_benchmark", "host_name": "machine$1", "driver": "580.159.04",
  "gpu": "$3 ($4, 132 SMs, driver CUDA 13.0, runtime CUDA 13.0)"},
 "benchmarks": [{"name": "draft/a/nb=1/manual_time", "run_type": "iteration", "real_time": $5, "time_unit": "ms", "launches": 12}]}
JSON
  "$draftmark" verify --shard "$1/3" --format json "$golden/drafter" >"machine$1/verify.json" || die "verify on machine $1"
  "$draftmark" history import "machine$1/bench.json" --commit b8a6378 --db "machine$1/h.db" >"machine$1/log" &&
    "$draftmark" history import "machine$1/verify.json" --commit b8a6378 --time "$2T03:00:0$1Z" --db "machine$1/h.db" \
      >>"machine$1/log" || { cat "machine$1/log"; die "import on machine $1"; }
  cp -r "machine$1/h.db.runs" "sent$1"
  rm -r "machine$1"/h.db*
}
# Two of them have the same GPU, and so share their series.
machine 1 2026-11-28 "NVIDIA A100" sm_80 2.5
machine 2 2026-11-28 "NVIDIA H200" sm_90 1.25
machine 3 2026-11-29 "NVIDIA H200" sm_90 1.26

check "merge" "all.db: 6 records added, 0 known, 0 replaced, 0 left out" \
  "$("$draftmark" history merge sent1 sent2 sent3 --db all.db | tail -n 1)"
check "again" "all.db: 0 records added, 6 known, 0 replaced, 0 left out" \
  "$("$draftmark" history merge sent3 sent1 sent2 --db all.db | tail -n 1)"
"$draftmark" history merge sent3 --db other.db >log && "$draftmark" history merge sent2 sent1 --db other.db >log ||
  die "merge in another order"
list() { "$draftmark" history list --db "$1" && "$draftmark" history list --what series --db "$1"; }
check "the order of machines" "$(list all.db)" "$(list other.db)"
check "series" "draft/a/nb=1 schema 1 sm_80 NVIDIA A100 driver 580.159.04 CUDA 13.0 clocks default
draft/a/nb=1 schema 1 sm_90 NVIDIA H200 driver 580.159.04 CUDA 13.0 clocks default" \
  "$("$draftmark" history list --what series --db all.db | grep '^draft/a/')"
"$draftmark" history check --db all.db >log || { cat log; die "history check"; }

# Every case of the suite arrived exactly once.
cases=$(find "$golden/drafter/" -name config.json | wc -l)
found=$(cat all.db.runs/*.jsonl | grep -o '"case":"draft/[^"]*=[^"]*","precision"' | sort)
check "cases" "$cases" "$(echo "$found" | grep -c .)"
check "cases, once each" "$(echo "$found" | uniq)" "$found"
exit $failures
