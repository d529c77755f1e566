#!/bin/sh
# `tools/run` in a fake checkout: what it asks of the program, and what it prints.
set -u
script=$PWD/tools/run
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

root="$TEST_TMPDIR/a checkout"
mkdir -p "$root/tools" "$root/bin/tools" "$TEST_TMPDIR/fakes"
cp "$script" "$root/tools/run"
write() { { echo '#!/bin/sh'; cat; } >"$1" && chmod +x "$1"; }
echo 'exit 0' | write "$root/tools/setup"
echo '[ "$1" != info ] || echo "$PWD/bin"' | write "$TEST_TMPDIR/fakes/bazel"
# A program that says how it was called, and fails in bf16 when it is told to.
write "$root/bin/tools/draftmark" <<'END'
echo "called: $*" >&2
echo '{}'
case "$*" in *bf16*) exit "${BF16:-0}" ;; esac
END

# expect CODE CALLS ARGUMENTS...: CALLS, joined by `; `, are the arguments of draftmark.
expect() {
  expected=$1
  calls=$2
  shift 2
  PATH="$TEST_TMPDIR/fakes:$PATH" "$root/tools/run" "$@" >"$TEST_TMPDIR/stdout" 2>"$TEST_TMPDIR/stderr"
  code=$?
  found=$(sed -n 's/^called: //p' "$TEST_TMPDIR/stderr" | paste -s -d ';')
  [ "$code" = "$expected" ] || fail "$*: exit code $code, expected $expected"
  [ "$found" = "$calls" ] || fail "$*: expected the calls '$calls', found '$found'"
}

expect 0 'verify --precision exact;verify --precision bf16' verify
expect 0 'verify --precision exact --golden x;verify --precision bf16 --golden x' verify --golden x
BF16=1
export BF16
expect 1 'verify --precision exact;verify --precision bf16' verify
unset BF16
expect 0 'verify --precision exact --format json;verify --precision bf16 --format json' verify --format json
grep -q '^{"exact": {},$' "$TEST_TMPDIR/stdout" || fail "no document of both reports"
expect 0 'verify --precision bf16 x' verify --precision bf16 x

# The GPU computes in bf16 only.
expect 0 'verify --backend cuda' verify --backend cuda
expect 0 'verify --backend ./libmine.so' verify --backend ./libmine.so
expect 0 'verify op/x --backend=cuda' verify op/x --backend=cuda
expect 0 'verify --backend cuda --format json' verify --backend cuda --format json
[ "$(cat "$TEST_TMPDIR/stdout")" = '{}' ] || fail "the report of the GPU is not alone"
expect 0 'verify --precision exact --backend reference;verify --precision bf16 --backend reference' \
  verify --backend reference
expect 2 ''
expect 2 '' bench

[ "$failures" = 0 ]
