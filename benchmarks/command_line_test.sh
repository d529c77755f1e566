#!/bin/sh
# command_line_test.sh DRAFT_BENCHMARK OPERATIONS_BENCHMARK: help, refusals, and no GPU.
set -u
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

for option in '--draft=ENTRY,gamma=N,ctx=N,new=N,nb=N' '--catalogue=FILE' '--path=fast|simple' '--benchmark_filter'; do
  "$1" --help | grep -q -F -e "$option" || fail "the help lacks $option"
done

for option in '--suite=all|compact' '--cache=cold|warm' '--samples=N' '--judge=on|off' '--time-limit=SECONDS' \
  '--benchmark_filter'; do
  "$2" --help | grep -q -F -e "$option" || fail "the help of operations_benchmark lacks $option"
done

# refuses TEXT PROGRAM ARGUMENTS...: exit code 2 and one line with the program's name in front.
refuses() {
  text=$1
  shift
  "$@" >"$TEST_TMPDIR/stdout" 2>"$TEST_TMPDIR/stderr"
  [ $? = 2 ] || fail "$*: the exit code is not 2"
  [ "$(wc -l <"$TEST_TMPDIR/stderr")" = 1 ] || fail "$*: not one line: $(cat "$TEST_TMPDIR/stderr")"
  grep -q -F -e "${1##*/}: $text" "$TEST_TMPDIR/stderr" || fail "$*: no '$text' in $(cat "$TEST_TMPDIR/stderr")"
}
refuses '--draft=qwen3-4b-dflash-b16,nb: "nb" is not of the form key=number' "$1" --draft=qwen3-4b-dflash-b16,nb
refuses '--draft needs a value' "$1" --draft
refuses '--path: expected fast or simple, found slow' "$1" --path=slow
refuses '--path needs a value' "$1" --path=
refuses '--samples: expected 1 to 100000, found 0' "$1" --samples=0
refuses '--suite: expected all or compact, found some' "$2" --suite some
refuses '--cache needs a value: cold or warm' "$2" --cache
refuses '--samples: expected 1 to 100000, found 3x' "$2" --samples=3x
refuses '--judge: expected on or off, found 1' "$2" --judge=1
refuses '--backend needs a value: the path of a plug-in' "$2" --backend=
refuses '--beside: only a plug-in (--backend) has others beside it' "$2" --beside=on
refuses '--time-limit: expected 0.01 to 86400 seconds, found nan' "$2" --backend=./libnone.so --time-limit nan
refuses '--time-limit: is that of a plug-in (--backend)' "$2" --time-limit=3
refuses 'cannot open none.json: ' "$2" --catalogue=none.json
DRAFTMARK_ORDER_SEED=first
export DRAFTMARK_ORDER_SEED
refuses "DRAFTMARK_ORDER_SEED: expected 0 to " "$2"
unset DRAFTMARK_ORDER_SEED
CUDA_VISIBLE_DEVICES=-1
export CUDA_VISIBLE_DEVICES
refuses '' "$1"
refuses 'no usable CUDA device: ' "$1" --path=simple
refuses 'no usable CUDA device: ' "$1" --path fast
refuses 'no usable CUDA device: ' "$2" --suite=compact --samples 5
refuses 'no usable CUDA device: ' "$2" --backend=./libnone.so --time-limit=3
! grep -q UNAVAILABLE "$TEST_TMPDIR/stderr" || fail "a code of the program's stands before its sentence"

[ "$failures" = 0 ]
