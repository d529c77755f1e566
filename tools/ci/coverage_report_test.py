#!/usr/bin/env python3
"""Tests of coverage_report.py, and of lcov_merger.py, which makes its input."""

import contextlib
import gzip
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage_report  # noqa: E402  (found through the line above, also among Bazel's links)
import lcov_merger  # noqa: E402

REPORT = """SF:src/a/half.cc
DA:1,1
DA:2,0
DA:3,0
DA:4,7
end_of_record
SF:src/a/whole.h
DA:9,1
end_of_record
SF:src/a/half_test.cc
DA:1,0
end_of_record
SF:tools/x.cc
DA:1,0
end_of_record
"""


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        os.makedirs("src/a")
        self.write("report.dat", REPORT)

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class CoverageReportTest(InFolder):
    def run_main(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = coverage_report.main(list(arguments))
        return code, output.getvalue().splitlines()

    def test_sums_the_project_and_names_lines_that_nothing_runs(self):
        code, lines = self.run_main("--minimum", "60", "report.dat", "src/a/half.cc", "src/a/whole.h")
        self.assertEqual(
            lines,
            [
                " 50.0 % of    4 src/a/half.cc: 2-3",
                "100.0 % of    1 src/a/whole.h",
                "60.0 % of 5 lines of src/ in 2 files; report report.dat",
            ],
        )
        self.assertEqual(code, 0)

    def test_fails_below_the_minimum(self):
        self.assertEqual(self.run_main("--minimum", "60.1", "report.dat")[0], 1)
        self.write("empty.dat", "")
        code, lines = self.run_main("empty.dat")
        self.assertEqual((code, lines[-1][:5]), (1, "0.0 %"))

    def test_a_source_in_no_test_fails_unless_only_another_build_runs_it(self):
        self.write("src/a/forgotten.cc", "#include <string>\n")
        self.write("src/a/kernel.cc", "#include <cuda_runtime.h>\n")
        self.write("src/a/declared.h", "")
        self.write("src/a/fault.cc", '#include "a.h"\n\n#ifdef DRAFTMARK_FAULTS\n\nint one;\n\n#endif\n')
        sources = ["src/a/kernel.cc", "src/a/fault.cc", "src/a/declared.h", "src/a/other_test.cc", "src/cuda/stream.cc"]
        self.assertEqual(self.run_main("--minimum", "60", "report.dat", *sources)[0], 0)
        code, lines = self.run_main("--minimum", "60", "report.dat", "src/a/forgotten.cc", *sources)
        self.assertEqual(code, 1)
        self.assertIn("in no test: src/a/forgotten.cc", lines)
        # Products have the rest of these.
        for rest in ("#ifdef DRAFTMARK_FAULTS\nint one;\n#endif\nint two;\n#ifdef X\n#endif\n",
                     "int two() {\n  return 2;\n}\n#ifdef DRAFTMARK_FAULTS\nint one;\n#endif\n"):
            self.write("src/a/forgotten.cc", rest)
            self.assertEqual(self.run_main("--minimum", "60", "report.dat", "src/a/forgotten.cc", *sources)[0], 1)


class MergerTest(InFolder):
    def write_gcov(self, name, lines, file="src/a/one.h"):
        report = {"files": [{"file": file, "lines": [{"line_number": n, "count": c} for n, c in lines]}]}
        with gzip.open(f"coverage/{name}.gcov.json.gz", "wt") as output:
            json.dump(report, output)

    def test_adds_objects_and_then_tests(self):
        os.makedirs("coverage/x")
        for name, lines in (("one", [(1, 1), (2, 0), (2, 3)]), ("two", [(1, 4), (7, 0)])):
            self.write(f"coverage/x/{name}.gcda", "")
            self.write(f"coverage/x/{name}.gcno", "")
            self.write_gcov(name, lines)
        # Another repository's: counters, but no .gcno and no report.
        self.write("coverage/x/fmt.gcda", "")
        lcov_merger.main(["--coverage_dir=coverage", "--output_file=test.dat", "--filter_sources=/usr/.+"])
        expected = "SF:src/a/one.h\nDA:1,5\nDA:2,3\nDA:7,0\nLH:2\nLF:3\nend_of_record\n"
        with open("test.dat", encoding="utf-8") as file:
            self.assertEqual(file.read(), expected)
        self.write("tests.txt", "test.dat\ntest.dat\n")
        lcov_merger.main(["--reports_file=tests.txt", "--output_file=all.dat"])
        with open("all.dat", encoding="utf-8") as file:
            self.assertEqual(file.read(), expected.replace("1,5", "1,10").replace("2,3", "2,6"))

    def test_leaves_out_what_is_not_the_projects(self):
        os.makedirs("coverage")
        for number, file in enumerate(("/usr/include/x.h", "external/fmt/x.h", "bazel-out/k8/x.h")):
            self.write(f"coverage/{number}.gcda", "")
            self.write(f"coverage/{number}.gcno", "")
            self.write_gcov(str(number), [(1, 1)], file)
        lcov_merger.main(["--coverage_dir=coverage", "--output_file=test.dat"])
        self.assertEqual(os.path.getsize("test.dat"), 0)


if __name__ == "__main__":
    unittest.main()
