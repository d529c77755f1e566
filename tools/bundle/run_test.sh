#!/bin/sh
# `run` in a fake bundle, on a machine made of fake programs: each sentence, the good path, and programs that
# misbehave. Paths hold spaces, and the bundle is read-only.
set -u
scripts=$PWD/tools/bundle
failures=0

fail() {
  echo "FAIL $current: $*"
  [ ! -f "$base/stdout" ] || sed 's/^/  stdout: /' "$base/stdout"
  [ ! -f "$base/stderr" ] || sed 's/^/  stderr: /' "$base/stderr"
  failures=$((failures + 1))
}

# fake NAME: a program of the machine, from stdin.
fake() {
  { echo '#!/bin/sh'; cat; } >"$base/fakes/$1"
  chmod +x "$base/fakes/$1"
}
# program PATH: one of the bundle, from stdin.
program() {
  mkdir -p "$(dirname "$bundle/$1")"
  { echo '#!/bin/sh'; cat; } >"$bundle/$1"
  chmod +x "$bundle/$1"
}

# A good machine and a good bundle. Each test then breaks one thing.
set_up() {
  current=$1
  base="$TEST_TMPDIR/$1 test"
  bundle="$base/the bundle"
  rm -rf "$base"
  mkdir -p "$base/fakes" "$base/lib" "$base/cuda/lib64" "$base/here" "$bundle/data/draftmark"
  fake uname <<'END'
case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac
END
  echo 'echo glibc 2.39' | fake getconf
  echo 'exit 0' | fake ldconfig
  fake nvidia-smi <<'END'
case "$*" in
  *-i*) [ "$2" = 1 ] || { echo "No devices were found"; exit 6; } ;;
esac
case "$*" in
  *driver_version*) echo 580.159.03 ;;
  *name*) echo 'NVIDIA "H200"' ;;
  *compute_cap*) echo 9.0 ;;
  *) echo '| NVIDIA-SMI 580.159.03   Driver Version: 580.159.03   CUDA Version: 13.0   |' ;;
esac
END
  touch "$base/lib/libcuda.so.1" "$base/cuda/lib64/libcublasLt.so.13.1.0.3"
  ln -s libcublasLt.so.13.1.0.3 "$base/cuda/lib64/libcublasLt.so.13"

  cp "$scripts/run" "$scripts/environment.sh" "$scripts/results.sh" "$bundle"
  printf 'tool bin/tools/draftmark\ntest bin/kernels/first_test\ntest bin/kernels/second_test\nbench bin/first_benchmark\n' >"$bundle/PROGRAMS"
  printf 'sm_80\nsm_90a\nsm_120\n' >"$bundle/ARCHS"
  echo 0123456789abcdef >"$bundle/COMMIT"
  echo 13.0 >"$bundle/CUDA"
  program bin/tools/draftmark <<'END'
if [ "$1 $2 $3" = 'bench roofline --out' ]; then
  shift 3
  cat >"$1" <<'JSON'
{
  "schema_version": 1,
  "passed": 1,
  "failed": 1,
  "works": [
    {
      "id": "draft/a/nb=1",
      "outcome": "PASS",
      "baseline": {
        "best": "graph"
      }
    }
  ],
  "linear": [
    {
      "id": "linear/rows=1,n=2,k=3",
      "outcome": "FAIL"
    }
  ],
  "baseline_notes": []
}
JSON
  shift
  echo "1 passed, 1 failed ($*)"
  exit 1
fi
if [ "$*" = 'architectures --junit' ]; then
  echo 'a line of no report'
  echo '  <testsuite name="architectures" tests="1" failures="0" errors="0" skipped="1">'
  echo '    <testcase name="draft on sm_80" classname="architectures"><skipped message="compiled: sm_80"/></testcase>'
  echo '  </testsuite>'
  exit
fi
[ "$*" = 'verify --backend cuda --format json' ] || exit 2
[ -d "$BUILD_WORKSPACE_DIRECTORY" ] || exit 2
cat <<'JSON'
{
  "passed": 12,
  "failed": 0,
  "expected_failures": 1,
  "errors": [],
  "groups": [
    {
      "suite": "sizes",
      "subject": "rows & <more>",
      "checks": 10,
      "failed": 0,
      "failures": []
    }
  ],
  "operations": [
    {
      "case": "op/rms_norm/rows=1,h=1/bf16",
      "outcome": "PASS"
    },
    {
      "case": "op/rms_norm/rows=2,h=1/bf16",
      "outcome": "XFAIL"
    }
  ],
  "drafts": [
    {
      "case": "draft/\"one\"",
      "stages": [
        {
          "case": "no case",
          "failed": 7
        }
      ],
      "outcome": "PASS"
    }
  ]
}
JSON
END
  program bin/kernels/first_test <<'END'
[ "$DRAFTMARK_REQUIRE_GPU" = 1 ] && [ "$CUDA_DEVICE_ORDER" = PCI_BUS_ID ] && [ -d "$TEST_TMPDIR" ] || exit 9
echo "arguments: $*"
cat >"${1#--gtest_output=xml:}" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="0" disabled="0" errors="0" time="0.1" timestamp="2026-01-01T00:00:00" name="AllTests">
  <testsuite name="First" tests="3" failures="0" disabled="0" skipped="1" errors="0" time="0.1">
    <testcase name="A" status="run" result="completed" time="0.1" classname="First">
      <properties>
        <property name="cublaslt_version" value="130102"/>
      </properties>
    </testcase>
    <testcase name="B" status="run" result="completed" time="0.1" classname="First" />
    <testcase name="C" status="run" result="skipped" time="0" classname="First">
      <skipped message="why"><![CDATA[why
    <testcase name="not a case">
      <failure message="not a failure">
</testsuites>]]></skipped>
    </testcase>
  </testsuite>
</testsuites>
XML
END
  program bin/kernels/second_test <<'END'
cat >"${1#--gtest_output=xml:}" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="1" failures="0" name="AllTests">
  <testsuite name="Second" tests="1" failures="0">
    <testcase name="A" status="run" result="completed" time="0.1" classname="Second" />
  </testsuite>
</testsuites>
XML
END
  program bin/first_benchmark <<'END'
echo "a warning" >&2
[ "$1" = --benchmark_format=json ] || exit 9
cat <<'JSON'
{
  "context": {
    "executable": "x"
  },
  "benchmarks": [
    {
      "name": "op/a/bf16",
      "run_name": "op/a/bf16",
      "real_time": 1.0
    },
    {
      "name": "op/b/bf16",
      "real_time": 2.0
    }
  ]
}
JSON
END
}

# start ARGUMENTS...: run, in a folder of its own; sets code.
start() {
  chmod -R a-w "$bundle"
  (
    cd "$base/here" || exit 99
    unset CUDA_HOME CUDA_PATH LD_LIBRARY_PATH
    [ -z "${home:-}" ] || export CUDA_HOME="$home"
    [ -z "${loader:-}" ] || export LD_LIBRARY_PATH="$loader"
    [ -z "${visible+set}" ] || export CUDA_VISIBLE_DEVICES="$visible"
    ln -sfn "$base" "$TEST_TMPDIR/base" # toolkits and system folders are lists
    DRAFTMARK_TOOLKITS="$TEST_TMPDIR/base/cuda $TEST_TMPDIR/base/cuda-13*" \
      DRAFTMARK_SYSTEM_FOLDERS="$TEST_TMPDIR/base/lib" DRAFTMARK_PROC_NVIDIA="$base/proc" \
      PATH="$base/fakes:$PATH" "${run:-$bundle/run}" "$@"
  ) >"$base/stdout" 2>"$base/stderr"
  code=$?
  chmod -R u+w "$bundle"
}

# refused TEXT: exit code 2, one line on stderr that holds the text, no results.
refused() {
  [ "$code" = 2 ] || fail "exit code $code, expected 2"
  [ "$(wc -l <"$base/stderr")" = 1 ] || fail "stderr is not one line"
  grep -q -F -e "$1" "$base/stderr" || fail "stderr does not hold: $1"
  [ -z "$(find "$base/here" -name summary.json)" ] || fail "wrote a summary"
}
# ended CODE LAST-LINE
ended() {
  [ "$code" = "$1" ] || fail "exit code $code, expected $1"
  [ "$(tail -n 1 "$base/stdout")" = "$2" ] || fail "last line is not: $2"
}
# holds FILE TEXT
holds() { grep -q -F -e "$2" "$base/here/$1" || { fail "$1 does not hold: $2"; cat "$base/here/$1"; }; }
# A parser's word on the results, where there is one.
well_formed() {
  [ -x /usr/bin/python3 ] || return 0
  /usr/bin/python3 - "$base/here/$1" <<'END' || fail "results are not well-formed"
import json, sys, xml.etree.ElementTree as tree
summary = json.load(open(sys.argv[1] + "/summary.json"))
cases = tree.parse(sys.argv[1] + "/junit.xml").findall(".//testcase")
failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
for total in ("passed", "failed", "skipped"):
    assert summary[total] == sum(p[total] for p in summary["programs"]), total
assert (len(failed) > 0) == (summary["failed"] > 0), (len(failed), summary)
END
}

. "$scripts/run_test_cases.sh"

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
