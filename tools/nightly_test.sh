#!/bin/sh
# `tools/nightly` in a fake checkout with fake programs: which stages run, what is said of a failure, what an
# interrupted night does when it is started again.
set -u
script=$PWD/tools/nightly
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

base=$(realpath "$TEST_TMPDIR")
root="$base/a checkout"
mkdir -p "$root/tools" "$root/bin/tools" "$root/bin/benchmarks" "$base/fakes"
cp "$script" "$root/tools/nightly"
write() { { echo '#!/bin/sh'; cat; } >"$1" && chmod +x "$1"; }
calls=$base/calls
write "$base/fakes/bazel" <<END
echo "bazel \$1" >>'$calls'
[ \$1 != build ] || echo "\$*" >'$base/built'
case \$1 in info) echo '$root/bin' ;; build) exit \${BUILD:-0} ;; esac
END
write "$base/fakes/git" <<END
echo "git \$3" >>'$calls'
case \$3 in rev-parse) echo 0123456789abcdef ;; pull) exit \${PULL:-0} ;; esac
END
# The exit codes of each command are in variables of its name.
write "$root/bin/tools/draftmark" <<END
echo "draftmark \$*" | sed 's|$base|BASE|g; s/--time [^ ]*/--time T/' >>'$calls'
case "\$1 \$2" in
  'verify --backend') echo '{}'; exit \${VERIFY:-0} ;;
  'history import') exit \${IMPORT:-0} ;;
  'history judge')
    [ \${JUDGE:-0} != 1 ] || echo "FAIL kernels/gpu_test Norm.Small: off by one"
    [ \${JUDGE:-0} != 2 ] || echo "BROKEN kernels/gpu_test: crashed"
    exit \${JUDGE:-0} ;;
  'perf counts') exit \${COUNTS:-0} ;;
  'perf aa') exit \${AA:-0} ;;
  'perf nightly')
    [ \${NIGHTLY:-0} != 1 ] || echo "SLOWER draft/a: ratio 1.03"
    exit \${NIGHTLY:-0} ;;
  'dashboard --db') exit \${DASHBOARD:-0} ;;
  *) echo "unknown: \$*" >&2; exit 99 ;;
esac
END
# Dies at the run that KILL names, and takes the shell of the script with it if SHELL_TOO is set.
write "$root/bin/benchmarks/draft_benchmark" <<END
for flag in "\$@"; do case \$flag in --benchmark_out=*) out=\${flag#*=} ;; esac; done
run=\$(basename "\$out" .json.part)
run=\${run#*.}
echo "bench \$run" >>'$calls'
if [ "\$run" = "\${KILL:-none}" ]; then
  echo broken >"\$out"
  [ -z "\${SHELL_TOO:-}" ] || kill -9 "\$(cat '$base/pid')"
  exit 137
fi
echo '{}' >"\$out"
END
write "$root/bin/benchmarks/operations_benchmark" <<END
for flag in "\$@"; do case \$flag in --benchmark_out=*) out=\${flag#*=} ;; esac; done
echo "operations \$1 \$(basename "\$out")" >>'$calls'
echo '{}' >"\$out"
END

# night DB OPTIONS...: runs it; sets code.
night() {
  db=$1
  shift
  : >"$calls"
  PATH="$base/fakes:$PATH" sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$base/pid" \
    "$root/tools/nightly" --db "$db" --night 2026-11-30 "$@" >"$base/out" 2>"$base/err"
  code=$?
}
expect() { # CODE PATTERN OF THE LAST LINE
  [ "$code" = "$1" ] || fail "$db: exit code $code, expected $1: $(cat "$base/out" "$base/err")"
  tail -n 1 "$base/out" | grep -q -- "$2" || fail "$db: expected a last line with '$2', found '$(tail -n 1 "$base/out")'"
}
called() { grep -q -x -F -- "$1" "$calls" || fail "$db: no call '$1' in: $(cat "$calls")"; }
not_called() { ! grep -q -F -- "$1" "$calls" || fail "$db: a call '$1'"; }

# A whole night, and everything in its order.
night "$base/good.db"
expect 0 '^nightly 2026-11-30 0123456789: update ok, build ok, conformance ok, benchmarks ok, record ok, gate ok, dashboard ok; exit code 0; '
called 'git pull'
called 'draftmark verify --backend cuda --format json'
called 'bench 4'
called 'draftmark history import --db BASE/good.db --night 2026-11-30 --commit 0123456789abcdef --session nightly-2026-11-30 --number 4 BASE/good.db.nightly/2026-11-30/bench/1.4.json'
called 'draftmark history import --db BASE/good.db --night 2026-11-30 --commit 0123456789abcdef --session nightly-2026-11-30 --number 4 BASE/good.db.nightly/2026-11-30/bench/2.4.json'
called 'draftmark history import --db BASE/good.db --night 2026-11-30 --commit 0123456789abcdef --time T BASE/good.db.nightly/2026-11-30/verify/report.json'
called 'draftmark perf counts --results BASE/good.db.nightly/2026-11-30/bench'
called "draftmark perf nightly --db BASE/good.db --night 2026-11-30 --out BASE/good.db.nightly/2026-11-30/again --again 'BASE/a checkout/bin/benchmarks/draft_benchmark' --again 'BASE/a checkout/bin/benchmarks/operations_benchmark' --suite=compact"
called 'draftmark dashboard --db BASE/good.db --out BASE/good.db.dashboard'
[ "$(grep -c '^bench' "$calls")" = 5 ] || fail "not five runs"
[ "$(grep -c '^operations --suite=compact 2\.[0-4]\.json\.part$' "$calls")" = 5 ] || fail "not five runs of operations"
[ "$(grep '^bench\|^operations' "$calls" | cut -d ' ' -f 1 | sed -n 1,4p | paste -s -d ' ')" = 'bench operations bench operations' ] ||
  fail "the programs do not run in turn: $(cat "$calls")"

# Once more: all is done.
night "$base/good.db"
expect 0 'dashboard ok; exit code 0'
not_called bench
not_called draftmark

# Findings are reported by name, and everything goes on; the order of exit codes.
findings() { # EXPECTED TEXT VARIABLES...
  rm -rf "$base/f.db.nightly"
  expected=$1
  text=$2
  shift 2
  night_with "$@"
  expect "$expected" "$text"
  called 'draftmark dashboard --db BASE/f.db --out BASE/f.db.dashboard'
}
night_with() {
  for variable in "$@"; do export "${variable?}"; done
  night "$base/f.db"
  for variable in "$@"; do unset "${variable%%=*}"; done
}
findings 1 'conformance FAILED, benchmarks ok, record ok, gate ok' VERIFY=1 JUDGE=1
grep -q '^  FAIL kernels/gpu_test Norm.Small: off by one$' "$base/out" || fail "a failed case is not named: $(cat "$base/out")"
findings 1 'gate FAILED' NIGHTLY=1
grep -q '^  SLOWER draft/a: ratio 1.03$' "$base/out" || fail "a slower case is not named: $(cat "$base/out")"
findings 1 'gate FAILED' COUNTS=1
findings 3 'gate unclear' NIGHTLY=3
findings 4 'gate invalid' NIGHTLY=4
findings 5 'gate no baseline' NIGHTLY=5
findings 4 'gate invalid' COUNTS=5 NIGHTLY=4
findings 1 'gate FAILED' COUNTS=1 NIGHTLY=4
findings 2 'gate BROKEN' NIGHTLY=2
findings 2 'conformance BROKEN, benchmarks ok' VERIFY=2
findings 1 'conformance FAILED.*gate BROKEN' VERIFY=1 NIGHTLY=2
findings 2 'update BROKEN, build ok' PULL=1
findings 2 'record BROKEN, gate ok' IMPORT=2
findings 2 'benchmarks BROKEN, record ok' KILL=2
[ "$(grep -c '^bench' "$calls")" = 3 ] || fail "went on after a benchmark that crashed"
grep -q 'history import.*number 1' "$calls" || fail "runs before the crash are not recorded"
not_called '--number 2'
# Made up for by the next try, and all that is made of the runs is made again.
night "$base/f.db"
expect 0 'benchmarks ok, record ok, gate ok, dashboard ok; exit code 0'
grep -q 'history import.*number 4' "$calls" || fail "runs of the second try are not recorded"
called 'draftmark dashboard --db BASE/f.db --out BASE/f.db.dashboard'

# Without a program nothing of it runs.
rm -rf "$base/f.db.nightly"
night_with BUILD=1
expect 2 'build BROKEN, conformance BROKEN, benchmarks BROKEN, record BROKEN, gate BROKEN, dashboard BROKEN; exit code 2'
not_called draftmark
not_called bench
grep -q '^gate: BROKEN (not run: no build)$' "$base/out" || fail "a stage does not say why it did not run"
# The next try makes up for it.
night "$base/f.db"
expect 0 'exit code 0'

# Killed in the third run: the next start goes on there. The night is the one that was not finished.
KILL=2
SHELL_TOO=1
export KILL SHELL_TOO
night "$base/killed.db"
[ "$code" = 137 ] || fail "was not killed: $code"
unset KILL SHELL_TOO
tries=0
while
  : >"$calls"
  PATH="$base/fakes:$PATH" "$root/tools/nightly" --db "$base/killed.db" >"$base/out" 2>"$base/err"
  code=$?
  grep -q 'another instance' "$base/err" && [ $tries -lt 50 ]
do
  tries=$((tries + 1))
  sleep 0.1
done
db=$base/killed.db
expect 0 '^nightly 2026-11-30 .*: update ok, build ok, conformance ok, benchmarks ok, record ok, gate ok, dashboard ok'
[ "$(grep '^bench' "$calls" | paste -s -d ' ')" = 'bench 2 bench 3 bench 4' ] || fail "did not go on at run 2: $(cat "$calls")"
not_called 'bazel build'
not_called 'draftmark verify'
[ ! -e "$base/killed.db.nightly/unfinished" ] || fail "a finished night counts as unfinished"

# A second instance.
mkdir -p "$base/two.db.nightly"
exec 8>"$base/two.db.nightly/lock"
flock -n 8
night "$base/two.db"
[ "$code" = 2 ] || fail "a second instance: exit code $code"
grep -q 'another instance is at work' "$base/err" || fail "a second instance is not told"
not_called git
exec 8>&-

# Results of another machine.
mkdir -p "$base/h200 results"
night "$base/bundle.db" --results "$base/h200 results" --no-update
# No benchmark is built that nobody runs: without CUDA it would not build.
[ "$(cat "$base/built")" = 'build --show_result=0 //tools:draftmark' ] || fail "built for results: $(cat "$base/built")"
expect 0 ': update ok, build ok, conformance ok, record ok, gate ok, dashboard ok; exit code 0'
called 'draftmark history judge BASE/h200 results'
not_called 'git pull'
not_called bench
not_called 'draftmark verify'
called 'draftmark history import --db BASE/bundle.db --night 2026-11-30 BASE/h200 results'
called 'draftmark perf counts --results BASE/h200 results'
called 'draftmark perf nightly --db BASE/bundle.db --night 2026-11-30'

# Their conformance is judged as that of a checkout is, and the rest goes on.
mkdir -p "$base/bench"
of_results() { # EXPECTED TEXT VARIABLE
  rm -rf "$base/bundle.db.nightly"
  export "${3?}"
  night "$base/bundle.db" --results "$base/h200 results" --results "$base/bench"
  unset "${3%%=*}"
  expect "$1" "$2"
  called 'draftmark history judge BASE/h200 results BASE/bench'
  called 'draftmark history import --db BASE/bundle.db --night 2026-11-30 BASE/bench'
}
of_results 1 'build ok, conformance FAILED, record ok, gate ok, dashboard ok; exit code 1' JUDGE=1
grep -q '^conformance: FAILED$' "$base/out" || fail "no line about conformance"
grep -q '^  FAIL kernels/gpu_test Norm.Small: off by one$' "$base/out" || fail "a failed test of results is not named"
night "$base/bundle.db" --results "$base/h200 results" --results "$base/bench"
expect 1 'conformance FAILED.*exit code 1' # a finding is not judged again
not_called 'history judge'
of_results 2 'conformance BROKEN, record ok, gate ok, dashboard ok; exit code 2' JUDGE=2
grep -q '^  BROKEN kernels/gpu_test: crashed$' "$base/out" || fail "a program that broke is not named"
of_results 0 'conformance not run, record ok, gate ok, dashboard ok; exit code 0' JUDGE=3
night "$base/bundle.db" --results "$base/h200 results" --results "$base/bench"
expect 0 'conformance not run, .*exit code 0'

# What is slower there is looked at a second time by fresh results: the lines that do it are printed, and work.
rm -rf "$base/bundle.db.nightly"
mkdir -p "$base/again1"
export NIGHTLY=3
night "$base/bundle.db" --results "$base/h200 results" --commit fedcba98 --config nocuda
unset NIGHTLY
expect 3 'gate unclear, dashboard ok; exit code 3'
called 'draftmark history import --db BASE/bundle.db --night 2026-11-30 --commit fedcba98 BASE/h200 results'
grep -q 'draftmark-gpu/run bench --only _benchmark --out again$run; done$' "$base/out" ||
  fail "no line that measures again: $(cat "$base/out")"
line=$(sed -n "s|^ *\(tools/nightly .*\) --again-results again1 .*|\1 --again-results '$base/again1'|p" "$base/out")
[ -n "$line" ] || fail "no line for a second look: $(cat "$base/out")"
: >"$calls"
(cd "$root" && PATH="$base/fakes:$PATH" sh -c "$line") >"$base/out" 2>"$base/err"
code=$?
expect 0 'conformance ok, record ok, gate ok, dashboard ok; exit code 0'
called 'draftmark perf nightly --db BASE/bundle.db --night 2026-11-30 --again-reports BASE/again1'
called 'draftmark dashboard --db BASE/bundle.db --out BASE/bundle.db.dashboard'
not_called 'history judge' # done before

# Programs of one's own instead of the checkout's.
night "$base/own.db" --bench "'$root/bin/benchmarks/draft_benchmark' --x" --bench "'$root/bin/benchmarks/draft_benchmark' --y" --runs 1
expect 0 'benchmarks ok'
[ "$(grep -c '^bench 0' "$calls")" = 2 ] || fail "not both programs"
not_called operations
grep -q "perf nightly .* --again 'BASE/a checkout/bin/benchmarks/draft_benchmark' --x --again 'BASE/a checkout/bin/benchmarks/draft_benchmark' --y" "$calls" ||
  fail "not both programs again"

# How far alarms can be trusted, where that is asked for.
night "$base/aa.db" --runs 1 --aa 2
expect 0 'gate ok, aa ok, dashboard ok; exit code 0'
[ "$(grep -c "^draftmark perf aa --run .*_benchmark.* --gates 2 --db BASE/aa.db --commit 0123456789abcdef --out BASE/aa.db.nightly/2026-11-30/aa/[0-9]*/[12]$" "$calls")" = 2 ] ||
  fail "not both programs against themselves: $(cat "$calls")"
of_aa() { # EXPECTED TEXT AA
  rm -rf "$base/aa.db.nightly"
  AA=$3
  export AA
  night "$base/aa.db" --runs 1 --aa 1
  unset AA
  expect "$1" "$2"
  called 'draftmark dashboard --db BASE/aa.db --out BASE/aa.db.dashboard'
}
of_aa 0 'gate ok, aa advisory, dashboard ok; exit code 0' 1
night "$base/aa.db" --runs 1 --aa 1
expect 0 'aa advisory, dashboard ok; exit code 0' # is not measured again
not_called 'perf aa'
of_aa 4 'aa invalid, dashboard ok; exit code 4' 4
of_aa 2 'aa BROKEN, dashboard ok; exit code 2' 2
of_aa 2 'aa BROKEN, dashboard ok; exit code 2' 5

# Usage.
usage() {
  PATH="$base/fakes:$PATH" "$root/tools/nightly" "$@" >"$base/out" 2>&1
  [ $? = 2 ] || fail "$*: not a usage error"
}
usage
usage --db
usage --db "$base/u.db" --runs 0
usage --db "$base/u.db" --aa some
usage --db "$base/u.db" --aa 1 --results "$base/bench"
usage --db "$base/u.db" --night yesterday
usage --db "$base/u.db" --results "$base/none"
usage --db "$base/u.db" --results "$base/bench" --again-results "$base/none"
usage --db "$base/u.db" --again-results "$base/bench"
usage --db "$base/u.db" --commit fedcba98
usage --db "$base/u.db" --what
usage --db "$base/u.db" --bench 'one
two'
"$root/tools/nightly" --help | grep -q '^usage: tools/nightly --db FILE' || fail "no help"

[ "$failures" = 0 ]
