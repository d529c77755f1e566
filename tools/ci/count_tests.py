#!/usr/bin/env python3
"""Counts the test cases of Bazel runs: count_tests.py [--failed=NAME...] EVENTS.json...

Reads the build events that `bazel test --build_event_json_file=EVENTS.json` wrote and the test.xml files that they name
(cached results have them too), prints one line for each target that failed, and ends with

    N passed, N failed, N skipped

Cases are counted, and on top of them, each as one: a target that did not build, analyse or load, a test that ended
badly without a failed case or left no test.xml (failed), and a test target that this machine cannot build (skipped).
--failed=NAME adds a check outside Bazel that failed. Exits with 1 if anything failed.
"""

import dataclasses
import json
import sys
import urllib.parse
import xml.etree.ElementTree


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problems: list = dataclasses.field(default_factory=list)
    skips: list = dataclasses.field(default_factory=list)  # one line each: what, and why

    def fail(self, number, problem):
        self.failed += number
        self.problems.append(problem)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def skip_reason(case):
    """Why a case was skipped, as one line: the last line of the message (the first names source and line)."""
    element = case.find("skipped")
    text = "" if element is None else (element.get("message") or element.text or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def count_cases(path):
    """(passed, failed, reasons of the skipped) of one test.xml."""
    passed = failed = 0
    skipped = []
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif (
            case.find("skipped") is not None
            or case.get("status") == "notrun"
            or case.get("result") in ("skipped", "suppressed")
        ):
            skipped.append(f"{case.get('classname', '')}.{case.get('name', '')}: {skip_reason(case)}")
        else:
            passed += 1
    return passed, failed, skipped


def test_xml_path(result):
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return None


def count_result(label, result, counts):
    """Adds one run of one test (or of one of its shards)."""
    path = test_xml_path(result)
    try:
        passed, failed, skipped = count_cases(path) if path else (0, 0, [])
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        path, passed, failed, skipped = None, 0, 0, []
        print(f"{label}: {error}")
    counts.passed += passed
    counts.skipped += len(skipped)
    counts.skips += [f"skipped {label} {line}" for line in skipped]
    if failed:
        counts.fail(failed, f"{label}: {failed} failed")
    elif result.get("status") != "PASSED":
        # For example a sanitizer's report at exit, after all cases had passed.
        counts.fail(1, f"{label}: {result.get('status', 'no status')} outside its cases")
    elif path is None:
        counts.fail(1, f"{label}: passed without a test.xml")


def count_events(events):
    """Counts one Bazel run, given as the parsed lines of its event file."""
    counts = Counts()
    tests = set()  # labels of requested tests
    results = {}  # (label, run, shard) -> (attempt, result); the last attempt counts
    awaited = {}  # label -> whether Bazel announced results for it
    build_failures = 0
    exit_code = "missing"
    for event in events:
        kind, value = next(iter(event["id"].items()))
        label = value.get("label")
        if kind == "targetConfigured" and "testSize" in event.get("configured", {}):
            tests.add(label)
        elif kind == "targetCompleted" and "aborted" in event:
            if event["aborted"].get("reason") != "SKIPPED":
                build_failures += 1
                counts.fail(1, f"{label}: did not build ({event['aborted'].get('reason', 'aborted')})")
            elif label in tests:
                counts.skipped += 1
                counts.skips.append(f"skipped {label}: cannot be built on this machine")
        elif kind == "targetCompleted" and not event.get("completed", {}).get("success"):
            build_failures += 1
            counts.fail(1, f"{label}: did not build")
        elif kind == "targetCompleted":
            awaited[label] = any("testSummary" in child for child in event.get("children", []))
        elif kind == "testResult":
            key = (label, value.get("run"), value.get("shard"))
            attempt = value.get("attempt", 1)
            if key not in results or attempt > results[key][0]:
                # An interrupted run has the reason in its place.
                interrupted = {"status": event.get("aborted", {}).get("reason", "no status")}
                results[key] = (attempt, event.get("testResult", interrupted))
        elif kind == "buildFinished":
            exit_code = event.get("finished", {}).get("exitCode", {}).get("name", "missing")

    for (label, _, _), (_, result) in sorted(results.items()):
        count_result(label, result, counts)
    with_results = {label for label, _, _ in results}
    for label in sorted(label for label in awaited if awaited[label] and label not in with_results):
        counts.fail(1, f"{label}: no result")
    # Packages that do not load leave no event but the exit code.
    if exit_code not in ("SUCCESS", "TESTS_FAILED") and build_failures == 0:
        counts.fail(1, f"bazel: {exit_code}")
    return counts


def read_events(path):
    """The lines' events; a killed run's last line, which has no end, is left out."""
    with open(path, encoding="utf-8") as lines:
        events = []
        for line in lines:
            try:
                if line.strip():
                    events.append(json.loads(line))
            except ValueError:
                if line.endswith("\n"):
                    raise
        return events


def main(arguments):
    total = Counts()
    for path in arguments:
        if path.startswith("--failed="):
            total.fail(1, path[len("--failed=") :] + ": failed")
            continue
        try:
            counts = count_events(read_events(path))
        except (OSError, ValueError) as error:
            counts = Counts()
            counts.fail(1, f"{path}: {error}")
        total.passed += counts.passed
        total.failed += counts.failed
        total.skipped += counts.skipped
        total.problems += counts.problems
        total.skips += counts.skips
    for line in total.skips + total.problems:
        print(line)
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
