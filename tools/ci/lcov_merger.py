#!/usr/bin/python3
"""Both coverage tools that Bazel asks of @remote_coverage_tools, on the standard library alone.

    lcov_merger.py --coverage_dir=DIR --output_file=FILE ...    after a test: what gcov (9 or newer) left in DIR, as lcov
    lcov_merger.py --reports_file=LIST --output_file=FILE ...   at the end: the files that LIST names, added up

Lines alone are counted: `genhtml` and tools/check need no more, and gcov says little of functions in templates.
"""

import collections
import glob
import gzip
import json
import os
import subprocess
import sys


def add_gcov(text, counts):
    """Adds gcov's JSON; only files of the project, which it names relative to the root of the build."""
    for file in json.loads(text)["files"]:
        name = file["file"]
        if name.startswith(("/", "external/", "bazel-out/")):
            continue
        lines = counts[name]
        # A line stands there once for each instance of a template.
        for line in file["lines"]:
            lines[line["line_number"]] += line["count"]


def add_folder(folder, counts):
    """Bazel's script runs gcov on every object of the project, which it knows by the .gcno beside the counters. It puts all
    reports into one folder; where two objects have the same name only one is left there, so these are made again."""
    objects = collections.defaultdict(list)
    for path in glob.glob(folder + "/**/*.gcda", recursive=True):
        if os.path.exists(path[: -len("gcda")] + "gcno"):
            objects[os.path.basename(path)[: -len(".gcda")]].append(path)
    for name, paths in objects.items():
        if len(paths) == 1:
            with gzip.open(os.path.join(folder, name + ".gcov.json.gz")) as file:
                add_gcov(file.read(), counts)
            continue
        for path in paths:
            gcov = [os.path.join(folder, "gcov"), "--json-format", "--stdout", "-o", os.path.dirname(path), path]
            for text in subprocess.run(gcov, check=True, stdout=subprocess.PIPE).stdout.splitlines():
                add_gcov(text, counts)


def add_lcov(path, counts):
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, _, value = line.rstrip("\n").partition(":")
            if key == "SF":
                lines = counts[value]
            elif key == "DA":
                number, count = value.split(",")[:2]
                lines[int(number)] += int(count)


def write_lcov(path, counts):
    with open(path, "w", encoding="utf-8") as file:
        for name in sorted(counts):
            lines = counts[name]
            file.write(f"SF:{name}\n")
            file.writelines(f"DA:{number},{lines[number]}\n" for number in sorted(lines))
            hit = sum(1 for count in lines.values() if count > 0)
            file.write(f"LH:{hit}\nLF:{len(lines)}\nend_of_record\n")


def main(arguments):
    options = dict(argument.lstrip("-").split("=", 1) for argument in arguments if "=" in argument)
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    if "coverage_dir" in options:
        add_folder(options["coverage_dir"], counts)
    if "reports_file" in options:
        with open(options["reports_file"], encoding="utf-8") as file:
            for path in file.read().split():
                add_lcov(path, counts)
    write_lcov(options["output_file"], counts)


if __name__ == "__main__":
    main(sys.argv[1:])
