# How `run` collects what its programs say; sourced by it. Works in $out; unfinished files lie in $work.

# replace FILE: puts stdin there as a whole or not at all.
replace() {
  { cat >"$work/replace" && mv "$work/replace" "$1"; } 2>/dev/null || die "cannot write $1: is the disk full?"
}

json_text() { printf '"%s"' "$(printf %s "$1" | tr -d '[:cntrl:]' | sed 's/[\\"]/\\&/g')"; }
xml_text() { printf %s "$1" | tr -d '[:cntrl:]' | sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g'; }

# gtest_suites FILE NAME: the suites of a GoogleTest report, named behind the program; the counts go to $work/counts.
# Text in CDATA may look like anything.
gtest_suites() {
  awk -v name="$2" -v counts="$work/counts" '
    function count() { if (open) { if (bad) failed++; else if (skip) skipped++; else passed++; open = 0 } }
    {
      line = $0
      if (!inside) {
        if (line ~ /^<\?xml/ || line ~ /^<testsuites/) next
        if (line ~ /^<\/testsuites>/) { complete = 1; next }
        if (line ~ /^ *<testsuite /) sub(/<testsuite name="/, "&" name ".", line)
        if (line ~ /^ *<testcase /) {
          count()
          open = 1; bad = 0; skip = line ~ / (result="skipped"|status="notrun")/
        }
        if (line ~ /^ *<failure/) bad = 1
      }
      print line
      rest = $0
      while (1) {
        mark = inside ? "]]>" : "<![CDATA["
        at = index(rest, mark)
        if (!at) break
        rest = substr(rest, at + length(mark))
        inside = !inside
      }
    }
    END { count(); print passed + 0, failed + 0, skipped + 0 > counts; exit !complete }' "$1"
}

# The same for the report of draftmark verify: a test case each for what has an id, one for all checks of a suite.
# nlohmann-json indents by two, so that the depth of a key says whose it is.
verify_suite() {
  awk -v name="$2" -v counts="$work/counts" '
    function value() { sub(/^ *("[a-z_]+": )?/, ""); sub(/,$/, ""); gsub(/^"|"$/, ""); gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;"); gsub(/\\?"/, "\\&quot;"); return $0 }
    function add(id, result) {
      body = body "    <testcase name=\"" id "\" classname=\"" name "\">" result "</testcase>\n"
      tests++
    }
    /^  "passed": / { passed = value() + 0; seen++ }
    /^  "failed": / { failed = value() + 0; seen++ }
    /^  "expected_failures": / { skipped = value() + 0 }
    /^  "errors": \[$/ { errors = 1; next }
    /^  \]/ { errors = 0 }
    errors { errors_found++; add("error " errors_found, "<error message=\"" value() "\"/>"); bad++ }
    /^      "suite": / { suite = value() }
    /^      "subject": / { subject = value() }
    /^      "failed": / { add(suite "/" subject, value() + 0 > 0 ? "<failure message=\"" $0 " checks failed\"/>" : ""); if ($0 + 0 > 0) bad++ }
    /^      "(id|case)": / { id = value() }
    /^      "outcome": / {
      outcome = value()
      if (outcome == "PASS") add(id, "")
      else if (outcome == "XFAIL") { add(id, "<skipped message=\"XFAIL\"/>"); waived++ }
      else { add(id, "<failure message=\"" outcome "\"/>"); bad++ }
    }
    /^}$/ { complete = 1 }
    END {
      printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">\n%s  </testsuite>\n", name, tests, bad, waived, body
      print passed + 0, failed + errors_found, skipped + 0 > counts
      exit !(complete && seen == 2)
    }' "$1"
}

# benchmark_suite FILE NAME: a test case for each benchmark; SkipWithError is a failure.
benchmark_suite() {
  awk -v name="$2" -v counts="$work/counts" '
    function add() {
      if (id == "") return
      if (error != "") { failed++; body = body "    <testcase name=\"" id "\" classname=\"" name "\"><failure message=\"" error "\"/></testcase>\n" }
      else { passed++; body = body "    <testcase name=\"" id "\" classname=\"" name "\"/>\n" }
      id = error = ""
    }
    function value() { sub(/^ *("[a-z_]+": )?/, ""); sub(/,$/, ""); gsub(/^"|"$/, ""); gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;"); gsub(/\\?"/, "\\&quot;"); return $0 }
    /^      "name": / { add(); id = value() }
    /^      "error_message": / { error = value() }
    /^}$/ { complete = 1 }
    END {
      add()
      printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"0\">\n%s  </testsuite>\n", name, passed + failed, failed, body
      print passed + 0, failed + 0, 0 > counts
      exit !complete
    }' "$1"
}

# error_suite NAME MESSAGE: stands for a program that left no results.
error_suite() {
  message=$(xml_text "$2")
  printf '  <testsuite name="%s" tests="1" failures="0" errors="1" skipped="0">\n    <testcase name="%s" classname="%s"><error message="%s"/></testcase>\n  </testsuite>\n' \
    "$1" "program" "$1" "$message"
}

# last_line FILE: the last line with text, in ASCII and no longer than a sentence.
last_line() { LC_ALL=C sed -n '/[^[:space:]]/h; ${g;p;}' "$1" 2>/dev/null | LC_ALL=C tr -cd '\40-\176' | cut -c 1-300; }

# add_program KIND NAME RESULTS EXIT_CODE SECONDS: judges a program that has ended, and adds it to the totals.
# A crash, a missing or cut report, a report without any test, and an exit code that the report does not explain are
# each one failure.
add_program() {
  reader=gtest_suites
  case $1 in
    verify) reader=verify_suite ;;
    bench) reader=benchmark_suite ;;
  esac
  problem=
  rm -f "$work/counts"
  if [ -s "$3" ] && $reader "$3" "$2" >"$work/suite"; then
    read -r passed failed skipped <"$work/counts" || die "cannot write to $out: is the disk full?"
    # A share of few tests may be none.
    if [ $((passed + failed + skipped)) = 0 ] && [ -z "$shard" ]; then
      problem="ran no test"
    elif [ "$4" != 0 ] && [ "$failed" = 0 ]; then
      problem="ended with exit code $4, though no test failed"
    fi
    cat "$work/suite" >>"$work/suites" || die "cannot write to $out: is the disk full?"
  else
    passed=0 failed=0 skipped=0
    problem="ended with exit code $4 and left no complete results"
    # What is wrong with the machine or the command line is the last that a program says.
    said=$(last_line "$out/logs/$2.log")
    if [ "$4" = 2 ] && [ -n "$said" ]; then problem="$problem: $said"; fi
  fi
  if [ -n "$problem" ]; then
    failed=$((failed + 1))
    error_suite "$2" "$problem; see logs/$2.log" >>"$work/suites" ||
      die "cannot write to $out: is the disk full?"
    echo "FAIL $2: $problem; see $out/logs/$2.log" >&2
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  total_skipped=$((total_skipped + skipped))
  printf '%s    {"name": "%s", "passed": %d, "failed": %d, "skipped": %d, "exit_code": %d, "seconds": %d, "problem": %s}' \
    "$separator" "$2" "$passed" "$failed" "$skipped" "$4" "$5" "$(json_text "$problem")" >>"$work/programs" || die "cannot write to $out: is the disk full?"
  separator=',
'
  echo "$2: $passed passed, $failed failed, $skipped skipped, $5 s"
}

# A test of the run that knows the library's version better than the name of its file.
read_cublaslt_property() {
  version=$(cat "$out"/tests/*.xml 2>/dev/null | sed -n 's/.*<property name="cublaslt_version" value="\([0-9]*\)".*/\1/p' | sed -n 1p)
  [ -z "$version" ] || cublaslt=$((version / 10000)).$((version / 100 % 100)).$((version % 100))
}

write_results() {
  read_cublaslt_property
  {
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="draftmark %s">\n' "$command"
    cat "$work/suites"
    printf '</testsuites>\n'
  } | replace "$out/junit.xml" || exit 2
  {
    printf '{\n  "schema_version": 1,\n  "command": "%s",\n' "$command"
    for field in date commit gpu compute_capability driver driver_cuda toolkit_cuda cublaslt archs; do
      case $field in
        date) value=$started ;;
        commit) value=$(cat "$here/COMMIT") ;;
        compute_capability) value=$capability ;;
        toolkit_cuda) value=$(cat "$here/CUDA") ;;
        archs) value=$(tr '\n' ' ' <"$here/ARCHS" | sed 's/ $//') ;;
        *) eval "value=\$$field" ;;
      esac
      printf '  "%s": %s,\n' "$field" "$(json_text "$value")"
    done
    printf '  "passed": %d,\n  "failed": %d,\n  "skipped": %d,\n  "programs": [\n' \
      "$total_passed" "$total_failed" "$total_skipped"
    cat "$work/programs"
    printf '\n  ]\n}\n'
  } | replace "$out/summary.json" || exit 2
}
