#!/usr/bin/env python3
"""Sums a coverage report up: coverage_report.py [--minimum PERCENT] REPORT.dat FILES-OF-SRC...

REPORT is lcov's format. A line for each file, least covered first; then files that no test was built with; last
"N.N % of N lines of src/ in N files; report FILE". Exits with 1 below the minimum or if a source is in no test.
"""

import argparse
import re
import sys

# Tests, and what exists for tests alone.
TESTING = re.compile(
    r"(_test\.cc|_testing\.(h|cc)|/history_benchmark\.cc|/testing/.*|/(test|fake)_[a-z_]*\.(h|cc)|_matchers\.h|/runfiles\.h)$"
)


def counted(path):
    return path.startswith("src/") and not TESTING.search(path)


def needs_other_build(path):
    """Only a machine with CUDA compiles it, and only one with a GPU runs it; or only faulty binaries have anything of it."""
    if path.startswith("src/cuda/"):
        return True
    with open(path, encoding="utf-8") as file:
        text = file.read()
    of_faults = r"\A(?:(?:#include .*|//.*)?\n)*#ifdef DRAFTMARK_FAULTS\n(?:(?!#endif).*\n)*#endif\n*\Z"
    return re.search(r"#include <cu(da|blas|pti)", text) is not None or re.search(of_faults, text) is not None


def read_report(path):
    """{file: {line: count}}"""
    files = {}
    lines = None
    with open(path, encoding="utf-8") as report:
        for line in report:
            key, _, value = line.strip().partition(":")
            if key == "SF":
                lines = files.setdefault(value, {})
            elif key == "DA":
                number, count = value.split(",")[:2]
                lines[int(number)] = lines.get(int(number), 0) + int(count)
    return files


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--minimum", type=float, default=90)
    parser.add_argument("report")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args(arguments)

    files = {path: lines for path, lines in read_report(options.report).items() if counted(path) and lines}
    rates = sorted((sum(1 for count in lines.values() if count) / len(lines), path) for path, lines in files.items())
    for rate, path in rates:
        missing = sorted(number for number, count in files[path].items() if not count)
        print(f"{100 * rate:5.1f} % of {len(files[path]):4} {path}{': ' + ranges(missing) if missing else ''}")
    # A header of declarations has no line that runs; a source has.
    untested = sorted(path for path in options.sources if counted(path) and path.endswith(".cc") and path not in files and not needs_other_build(path))
    for path in untested:
        print(f"in no test: {path}")
    total = sum(len(lines) for lines in files.values())
    hit = sum(1 for lines in files.values() for count in lines.values() if count)
    percent = 100 * hit / total if total else 0
    print(f"{percent:.1f} % of {total} lines of src/ in {len(files)} files; report {options.report}")
    return 0 if percent >= options.minimum and not untested else 1


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
