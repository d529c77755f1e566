#!/usr/bin/env python3
"""Tests of pools.py, on logs as Bazel 4.2.3 writes them."""

import contextlib
import io
import json
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pools

CPU = {"Pool": "cpu", "OSFamily": "Linux"}
GPU = {"Pool": "gpu", "gpu": "sm_90", "OSFamily": "Linux"}


def action(properties, mnemonic="CppCompile", message="Compiling src/a.cc"):
    return {
        "platform": {"properties": [{"name": name, "value": value} for name, value in sorted(properties.items())]},
        "progressMessage": message,
        "mnemonic": mnemonic,
    }


def test_run(properties, label):
    return action(properties, "TestRunner", f"Testing {label}")


class PoolsTest(unittest.TestCase):

    def run_main(self, entries, *gpu_tests):
        """(exit code, lines)"""
        path = pathlib.Path(os.environ.get("TEST_TMPDIR", "/tmp")) / "execution.json"
        # One behind the other, over several lines each.
        path.write_text("".join(json.dumps(entry, indent=2) for entry in entries))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = pools.main(str(path), list(gpu_tests))
        return code, output.getvalue().splitlines()

    def test_each_in_its_pool(self):
        code, lines = self.run_main(
            [action(CPU), test_run(CPU, "//a:b_test"), action(GPU, "CppLink", "Linking a/gpu_test"),
             test_run(GPU, "//a:gpu_test (shard 1 of 2)"), test_run(GPU, "//a:gpu_test (shard 2 of 2)")], "//a:gpu_test")
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["pool cpu: 2 actions; //a:b_test", "pool gpu sm_90: 3 actions; //a:gpu_test"])

    def test_a_gpu_test_elsewhere_fails(self):
        code, lines = self.run_main([action(CPU), test_run(CPU, "//a:gpu_test")], "//a:gpu_test")
        self.assertEqual(code, 1)
        self.assertIn("did not run in a pool of GPUs: //a:gpu_test", lines)

    def test_what_needs_no_gpu_and_takes_one_fails(self):
        for entry in (test_run(GPU, "//a:b_test"), action(GPU), action(GPU, "CppLink", "Linking a/b_test")):
            code, lines = self.run_main([entry, test_run(GPU, "//a:gpu_test")], "//a:gpu_test")
            self.assertEqual(code, 1)
            self.assertRegex(lines[-1], "needs no GPU, and ran in a pool of GPUs: (//a:b_test|Compiling src/a.cc|Linking a/b_test)")

    def test_an_action_without_a_pool_fails(self):
        code, lines = self.run_main([action(CPU), {"mnemonic": "Genrule", "progressMessage": "Executing genrule"}])
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "pool (none): 1 actions; no tests")

    def test_a_log_of_nothing_fails(self):
        self.assertEqual(self.run_main([])[0], 1)


if __name__ == "__main__":
    unittest.main()
