#!/bin/sh
# tools/fuzz with a fake Bazel and fake targets: what it runs, its table and its exit codes.
set -u
fuzz=$(pwd)/tools/fuzz
cd "$TEST_TMPDIR"
bin=$TEST_TMPDIR/bin
failures=0
mkdir -p fakes "$bin/src/a" "$bin/src/b"
export PATH="$TEST_TMPDIR/fakes:$PATH" FAKE_BIN=$bin

cat >fakes/bazel <<'END'
#!/bin/sh
echo "bazel $*" >>"$TEST_TMPDIR/calls"
case "$*" in
  *labels*a:good_fuzz.dict*) echo //src/base/fuzzing:json.dict ;;
  *labels*) ;;
  query*) printf '//src/b:bad_fuzz\n//src/a:good_fuzz\n' ;;
  build*) [ ! -e "$TEST_TMPDIR/broken" ] ;;
  info*) echo "$FAKE_BIN" ;;
esac
END
cat >"$bin/src/a/good_fuzz" <<'END'
#!/bin/sh
echo "$0 $*" >>"$TEST_TMPDIR/calls"
echo '#2	INITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb'
echo '#700	DONE   cov: 123 ft: 456 corp: 7/90b lim: 4 exec/s: 70 rss: 40Mb'
echo 'stat::number_of_executed_units: 700'
END
cat >"$bin/src/b/bad_fuzz" <<'END'
#!/bin/sh
for argument in "$@"; do
  case $argument in -artifact_prefix=*) touch "${argument#*=}crash-1234" ;; esac
done
echo '#5	NEW    cov: 20 ft: 21 corp: 2/3b lim: 4 exec/s: 0 rss: 30Mb'
echo 'stat::number_of_executed_units: 6'
exit 77
END
chmod +x fakes/bazel "$bin"/src/*/*

# expect CODE TEXT ARGUMENT...: runs tools/fuzz, and compares its exit code and a part of its output.
expect() {
  code=$1 text=$2
  shift 2
  found=$("$fuzz" --out out --seconds 3 "$@" 2>&1)
  result=$?
  [ $result = "$code" ] || { echo "FAIL $*: expected exit code $code, found $result: $found"; failures=1; }
  echo "$found" | grep -qF -- "$text" || { echo "FAIL $*: expected \"$text\", found $found"; failures=1; }
}

expect 0 "good                              700      123       456       7        0" good
expect 0 "1 targets, 0 crashes" //src/a:good_fuzz
grep -q -- "-max_total_time=3 .*-dict=.*/src/base/fuzzing/json.dict .*out/good/corpus .*src/a/testdata/good_fuzz" calls ||
  { echo "FAIL: good_fuzz was called otherwise:"; cat calls; failures=1; }
expect 1 "bad                                 6       20        21       2        1" bad
rm -r out/bad
expect 1 "out/bad/crash-1234"
# What was found before is found again.
expect 1 "2 targets, 1 crashes" --keep_going
grep -q "^bazel build --config=fuzz --keep_going //src/a:good_fuzz //src/b:bad_fuzz" calls ||
  { echo "FAIL: options are not passed on"; failures=1; }
expect 2 "nothing: no such target; there are good, bad" nothing
expect 2 "expected a number above 0" --seconds 0
touch broken
expect 2 "clang and libclang-rt-14-dev are needed" good
rm broken
mv "$bin/src/a/good_fuzz" "$bin/src/a/other"
printf '#!/bin/sh\nexit 3\n' >"$bin/src/a/good_fuzz"
chmod +x "$bin/src/a/good_fuzz"
expect 2 "did not run: see its log" good
exit $failures
