#!/usr/bin/env python3
"""Trims the full oracle cases again: trim_oracle_case.py must give golden/drafter byte for byte.

Skipped, as a test case of its own in test.xml, where the oracle cases are not beside the checkout.
"""

import filecmp
import os
import subprocess
import sys
import tempfile
import unittest

RUNFILES = os.environ["TEST_SRCDIR"]
PROJECT = os.path.join(RUNFILES, os.environ["TEST_WORKSPACE"])


def external(repository):
    """The folder of another repository, as src/base/runfiles.h finds it."""
    mapping = os.path.join(RUNFILES, "_repo_mapping")
    prefix = f",{repository},"
    lines = open(mapping, encoding="utf-8").read().splitlines() if os.path.exists(mapping) else []
    names = [line[len(prefix) :] for line in lines if line.startswith(prefix)]
    return os.path.join(RUNFILES, names[0] if names else repository)


GOLDEN = os.path.join(PROJECT, "golden/drafter")
ORACLE = os.path.join(external("oracle_cases"), "cases/drafter")
SCRIPT = os.path.join(PROJECT, "tools/golden/trim_oracle_case.py")
FILES = ["config.json", "golden.safetensors", "model.safetensors"]
CASES = sorted(name for name in os.listdir(GOLDEN) if os.path.isdir(os.path.join(GOLDEN, name)))


class TrimOracleCaseTest(unittest.TestCase):
    def test_gives_the_golden_cases(self):
        self.assertEqual(len(CASES), 7)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, SCRIPT, folder] + [os.path.join(ORACLE, case) for case in CASES], check=True)
            self.assertEqual(sorted(os.listdir(folder)), CASES)
            for case in CASES:
                self.assertEqual(sorted(os.listdir(os.path.join(folder, case))), FILES)
                equal, different, errors = filecmp.cmpfiles(
                    os.path.join(folder, case), os.path.join(GOLDEN, case), FILES, shallow=False
                )
                self.assertEqual((equal, different, errors), (FILES, [], []), case)


def write_skipped(reason):
    """Bazel writes a passed case for a test.xml that is missing; this one says that nothing was tested."""
    print(f"skipped: {reason}")
    with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as file:
        file.write(
            '<testsuites><testsuite name="trim_oracle_case_test"><testcase name="gives_the_golden_cases">'
            f'<skipped message="{reason}"/></testcase></testsuite></testsuites>\n'
        )


if __name__ == "__main__":
    if os.path.isdir(ORACLE):
        unittest.main()
    write_skipped("no ../shared/cases beside the checkout")
