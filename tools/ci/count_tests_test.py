#!/usr/bin/env python3
"""Tests of count_tests.py. The events are those of real runs, cut down to what is read."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import count_tests  # noqa: E402  (found through the line above, also among Bazel's links)

GTEST_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="A">
  <testcase name="One" status="run" result="completed" classname="A" />
  <testcase name="Two" status="run" result="skipped" classname="A">
    <skipped message="a.cc:4&#x0A;no GPU"><![CDATA[a.cc:4]]></skipped>
  </testcase>
  <testcase name="Three" status="run" result="completed" classname="A">
    <failure message="a.cc:5" type=""><![CDATA[a.cc:5]]></failure>
    <failure message="a.cc:6" type=""><![CDATA[a.cc:6]]></failure>
  </testcase>
  <testcase name="DISABLED_Four" status="notrun" result="suppressed" classname="A" />
</testsuite></testsuites>"""
PASSING_XML = """<testsuites><testsuite><testcase name="t/ok" status="run"></testcase></testsuite></testsuites>"""
# What Bazel writes for a test that ended without writing one.
CRASH_XML = """<testsuites><testsuite name="t/crash" tests="1" failures="0" errors="1">
  <testcase name="t/crash" status="run"><error message="exited with error code 134"></error></testcase>
  <system-out>Generated test.log</system-out>
</testsuite></testsuites>"""


def configured(label, kind="cc_test rule", test=True):
    body = {"targetKind": kind}
    if test:
        body["testSize"] = "MEDIUM"
    return {"id": {"targetConfigured": {"label": label}}, "configured": body}


def built(label, tested=True):
    children = [{"testResult": {"label": label}}, {"testSummary": {"label": label}}] if tested else []
    return {"id": {"targetCompleted": {"label": label}}, "children": children, "completed": {"success": True}}


def not_built(label):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {"failureDetail": {"message": "gcc failed"}}}


def aborted(label, reason):
    return {"id": {"targetCompleted": {"label": label}}, "aborted": {"reason": reason}}


def finished(name):
    return {"id": {"buildFinished": {}}, "finished": {"exitCode": {"name": name}}}


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def result(self, label, xml, status="PASSED", shard=1, attempt=1):
        outputs = [{"name": "test.log", "uri": "file:///test.log"}]
        if xml is not None:
            path = self.write(f"{label[2:].replace(':', '_')} {shard}.{attempt}.xml", xml)
            outputs.append({"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")})
        key = {"label": label, "run": 1, "shard": shard, "attempt": attempt}
        return {"id": {"testResult": key}, "testResult": {"testActionOutput": outputs, "status": status}}

    def expect(self, events, passed, failed, skipped):
        with contextlib.redirect_stdout(io.StringIO()):
            counts = count_tests.count_events(events)
        self.assertEqual(str(counts), f"{passed} passed, {failed} failed, {skipped} skipped")
        return counts

    def test_cases_are_counted_over_shards(self):
        self.expect(
            [
                configured("//t:a"),
                built("//t:a"),
                self.result("//t:a", GTEST_XML, "FAILED", shard=1),
                self.result("//t:a", PASSING_XML, shard=2),
                finished("TESTS_FAILED"),
            ],
            2, 1, 2,
        )

    def test_every_skip_names_its_case_and_reason(self):
        xml = (
            '<testsuites><testsuite name="S"><testcase name="A" classname="S" status="run" result="skipped">'
            '<skipped message="a.cc:3&#x0A;no GPU here"/></testcase>'
            '<testcase name="B" classname="S" status="notrun" result="suppressed"/></testsuite></testsuites>'
        )
        events = [configured("//t:a"), built("//t:a"), self.result("//t:a", xml), finished("SUCCESS")]
        counts = self.expect(events, 0, 0, 2)
        self.assertEqual(counts.skips, ["skipped //t:a S.A: no GPU here", "skipped //t:a S.B: no reason given"])

    def test_crash_counts_as_failed(self):
        events = [configured("//t:a"), built("//t:a"), self.result("//t:a", CRASH_XML, "FAILED")]
        self.expect(events + [finished("TESTS_FAILED")], 0, 1, 0)

    def test_bad_end_after_passing_cases_counts_as_failed(self):
        events = [configured("//t:a"), built("//t:a"), self.result("//t:a", PASSING_XML, "FAILED")]
        self.expect(events + [finished("TESTS_FAILED")], 1, 1, 0)

    def test_last_attempt_counts(self):
        events = [
            configured("//t:a"),
            built("//t:a"),
            self.result("//t:a", CRASH_XML, "FAILED", attempt=1),
            self.result("//t:a", PASSING_XML, attempt=2),
            finished("SUCCESS"),
        ]
        self.expect(events, 1, 0, 0)

    def test_missing_or_broken_xml_counts_as_failed(self):
        for xml in (None, "<testsuites><testsu"):
            events = [configured("//t:a"), built("//t:a"), self.result("//t:a", xml)]
            self.expect(events + [finished("SUCCESS")], 0, 1, 0)

    def test_announced_test_without_result_counts_as_failed(self):
        self.expect([configured("//t:a"), built("//t:a"), finished("SUCCESS")], 0, 1, 0)

    def test_filtered_test_is_not_counted(self):
        events = [configured("//t:gpu"), built("//t:gpu", tested=False), finished("SUCCESS")]
        self.expect(events, 0, 0, 0)

    def test_targets_that_do_not_build_count_as_failed(self):
        counts = self.expect(
            [
                configured("//t:a"),
                configured("//t:lib", "cc_library rule", test=False),
                not_built("//t:a"),
                not_built("//t:lib"),
                aborted("//t:b", "ANALYSIS_FAILURE"),
                # Consequences and by-products that Bazel reports beside them.
                {"id": {"configuredLabel": {"label": "//none:x"}}, "aborted": {"reason": "ANALYSIS_FAILURE"}},
                {"id": {"targetConfigured": {"label": "//tools/cuda:enabled"}}, "aborted": {}},
                finished("BUILD_FAILURE"),
            ],
            0, 3, 0,
        )
        self.assertIn("//t:a: did not build", counts.problems)

    def test_incompatible_tests_count_as_skipped(self):
        events = [
            configured("//t:cuda_test"),
            configured("//t:cuda", "cuda_library_rule rule", test=False),
            aborted("//t:cuda_test", "SKIPPED"),
            aborted("//t:cuda", "SKIPPED"),
            finished("SUCCESS"),
        ]
        self.expect(events, 0, 0, 1)

    def test_package_that_does_not_load_counts_as_failed(self):
        events = [configured("//t:a"), built("//t:a"), self.result("//t:a", PASSING_XML)]
        self.expect(events + [finished("BUILD_FAILURE")], 1, 1, 0)

    def test_run_that_was_cut_off_counts_as_failed(self):
        self.expect([configured("//t:a")], 0, 1, 0)

    def test_interrupted_test_counts_as_failed(self):
        # As of a run that was stopped while shard 2 of //t:a and all of //t:b ran.
        key = {"label": "//t:a", "run": 1, "shard": 2, "attempt": 1}
        counts = self.expect(
            [
                configured("//t:a"),
                configured("//t:b"),
                built("//t:a"),
                built("//t:b"),
                self.result("//t:a", PASSING_XML, shard=1),
                {"id": {"testResult": key}, "aborted": {"reason": "USER_INTERRUPTED"}},
                {"id": {"testResult": {**key, "label": "//t:b"}}, "aborted": {"reason": "USER_INTERRUPTED"}},
                {"id": {"testSummary": {"label": "//t:b"}}, "aborted": {"reason": "USER_INTERRUPTED"}},
                finished("INTERRUPTED"),
            ],
            1, 3, 0,
        )
        self.assertIn("//t:a: USER_INTERRUPTED outside its cases", counts.problems)
        self.assertIn("//t:b: USER_INTERRUPTED outside its cases", counts.problems)
        self.expect([{"id": {"buildFinished": {}}, "aborted": {"reason": "INTERNAL"}}], 0, 1, 0)

    def test_last_line_of_a_killed_run_may_lack_its_end(self):
        events = [configured("//t:a"), built("//t:a"), self.result("//t:a", PASSING_XML)]
        lines = "".join(json.dumps(event) + "\n" for event in events)
        last = json.dumps(finished("SUCCESS"))
        for text, line in (
            (lines + last[:20], "1 passed, 1 failed, 0 skipped"),  # as without it
            (lines + last, "1 passed, 0 failed, 0 skipped"),
            (last[:20] + "\n" + lines, "0 passed, 1 failed, 0 skipped"),  # no event file
        ):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                count_tests.main([self.write("cut.json", text)])
            self.assertEqual(output.getvalue().splitlines()[-1], line)

    def test_program_sums_files_and_ends_with_the_line(self):
        good = [configured("//t:a"), built("//t:a"), self.result("//t:a", PASSING_XML), finished("SUCCESS")]
        bad = [configured("//t:b"), not_built("//t:b"), finished("BUILD_FAILURE")]
        paths = [
            self.write(name, "\n".join(json.dumps(event) for event in events) + "\n")
            for name, events in (("good.json", good), ("bad.json", bad))
        ]
        for arguments, code, last in (
            (paths[:1], 0, "1 passed, 0 failed, 0 skipped"),
            (paths, 1, "1 passed, 1 failed, 0 skipped"),
            (["--failed=clang-format"] + paths[:1], 1, "1 passed, 1 failed, 0 skipped"),
            (paths[:1] + [self.folder + "/none.json"], 1, "1 passed, 1 failed, 0 skipped"),
        ):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                self.assertEqual(count_tests.main(arguments), code)
            self.assertEqual(output.getvalue().splitlines()[-1], last)


if __name__ == "__main__":
    unittest.main()
