#!/usr/bin/env python3
"""`tools/torture` with fake scenarios: its last line, its exit code, and its JUnit report as CI counts it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TOOLS, "ci"))
import count_tests  # noqa: E402  (found through the line above, also among Bazel's links)

SCENARIOS = r"""
import subprocess
from work import Skip

def good(work):
    work.done = work.rounds
    return {"files": 2}

def lost(work):
    work.check(False, "a <file> & its \x1b[1mrecord\x00 are lost")
    work.check(False, "and another")
    return {"files": 1}

def broken(work):
    raise subprocess.TimeoutExpired("draftmark", 300)

def skipped(work):
    raise Skip("no <disk> here")

def disk(work):
    with work.tmpfs(100):
        pass

ALL = {"good": good, "lost": lost, "broken": broken, "skipped": skipped, "disk": disk}
"""

NO_DISK = "torture.skipped: no <disk> here"
NO_MOUNT = "torture.disk: no tmpfs can be mounted here: mount: must be superuser."


class TortureScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = os.path.join(folder.name, "tools/torture")
        self.xml = os.path.join(folder.name, "test.xml")
        parts = os.path.join(folder.name, "tools/torture_parts")
        os.makedirs(parts)
        shutil.copy(os.path.join(TOOLS, "torture"), self.script)
        for name in ("results.py", "work.py"):
            shutil.copy(os.path.join(TOOLS, "torture_parts", name), parts)
        with open(os.path.join(parts, "scenarios.py"), "w", encoding="utf-8") as file:
            file.write(SCENARIOS)
        # As Debian's says it to who is not root.
        mount = os.path.join(folder.name, "bin/mount")
        os.makedirs(os.path.dirname(mount))
        with open(mount, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'mount: must be superuser.' >&2\necho '  dmesg(1) may have more.' >&2\nexit 32\n")
        os.chmod(mount, 0o755)
        self.environment = {**os.environ, "PATH": os.path.dirname(mount) + ":" + os.environ["PATH"]}

    def run_script(self, *arguments):
        """Exit code, lines, and (passed, failed, reasons of the skipped) of the report."""
        command = [sys.executable, self.script, "--draftmark", "/bin/true", "--rounds", "3", "--junit", self.xml, *arguments]
        process = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True, env=self.environment
        )
        return process.returncode, process.stdout.splitlines(), count_tests.count_cases(self.xml)

    def expect(self, names, code, last_line, passed, failed, skipped):
        found_code, lines, counts = self.run_script(*names)
        self.assertEqual((found_code, lines[-1]), (code, last_line))
        self.assertEqual(counts, (passed, failed, skipped))
        return lines

    def test_skips_are_counted_and_say_why(self):
        names = ["good", "skipped", "disk"]
        lines = self.expect(names, 0, "nothing lost: 1 scenarios ran, 2 skipped", 1, 0, [NO_DISK, NO_MOUNT])
        self.assertIn("good                    3  good; 2 files", lines)

    def test_where_nothing_ran_nothing_is_shown(self):
        self.expect(["skipped"], 3, "nothing tried: 0 scenarios ran, 1 skipped", 0, 0, [NO_DISK])

    def test_a_loss_is_a_failure_with_all_problems(self):
        self.expect(["lost", "good"], 1, "1 lost something: 2 scenarios ran, 0 skipped", 1, 1, [])
        with open(self.xml, encoding="utf-8") as file:
            failure = re.search("<failure.*</failure>", file.read(), re.DOTALL)[0]
        for text in ('message="round 0: a &lt;file&gt; &amp; its ?[1mrecord? are lost"', "round 0: and another"):
            self.assertIn(text, failure)

    def test_a_loss_counts_where_the_rest_is_skipped(self):
        self.expect(["lost", "skipped"], 1, "1 lost something: 1 scenarios ran, 1 skipped", 0, 1, [NO_DISK])

    def test_a_scenario_that_breaks_off_is_a_failure_and_the_others_run(self):
        self.expect(["broken", "good"], 1, "1 lost something: 2 scenarios ran, 0 skipped", 1, 1, [])

    def test_without_names_all_run(self):
        self.expect([], 1, "2 lost something: 3 scenarios ran, 2 skipped", 1, 2, [NO_DISK, NO_MOUNT])

    def test_wrong_usage(self):
        process = subprocess.run([sys.executable, self.script, "none"], stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(process.returncode, 2)
        self.assertIn("no such scenario: none", process.stderr)


if __name__ == "__main__":
    unittest.main()
