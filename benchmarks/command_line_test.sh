#!/bin/sh
# command_line_test.sh DRAFT_BENCHMARK OPERATIONS_BENCHMARK: help, refusals, and no GPU.
set -u
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

for option in '--draft=ENTRY,gamma=N,ctx=N,new=N,nb=N' '--catalogue=FILE' '--path=fast|simple' '--benchmark_filter'; do
  "$1" --help | grep -q -F -e "$option" || fail "the help lacks $option"
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
CUDA_VISIBLE_DEVICES=-1
export CUDA_VISIBLE_DEVICES
refuses '' "$1"
refuses 'no usable CUDA device: ' "$1" --path=simple
refuses 'no usable CUDA device: ' "$1" --path fast
refuses '' "$2"
! grep -q UNAVAILABLE "$TEST_TMPDIR/stderr" || fail "a code of the program's stands before its sentence"

[ "$failures" = 0 ]
