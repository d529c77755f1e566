#!/usr/bin/env python3
"""pytorch_baseline.py where it cannot run: without PyTorch, and with a PyTorch that finds no GPU."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "benchmarks/pytorch_baseline.py")
FAKE = """
bfloat16 = None
class cuda:
    is_available = staticmethod(lambda: False)
"""


def run(torch):
    """With modules of these texts by path, and no others but Python's own."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in torch.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w") as f:
                f.write(text)
        environment = dict(os.environ, PYTHONPATH=folder)
        return subprocess.run([sys.executable, "-S", SCRIPT], env=environment, capture_output=True, text=True)


class PytorchBaselineTest(unittest.TestCase):
    def refuses(self, torch, sentence):
        result = run(torch)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr, f"pytorch_baseline.py: {sentence}\n")
        self.assertEqual(result.stdout, "")

    def test_without_pytorch(self):
        self.refuses({}, "PyTorch with CUDA is needed: No module named 'torch'")

    def test_without_a_gpu(self):
        modules = {"torch/__init__.py": FAKE, "torch/nn/__init__.py": "", "torch/nn/functional.py": ""}
        self.refuses(modules, "PyTorch finds no GPU")


if __name__ == "__main__":
    unittest.main()
