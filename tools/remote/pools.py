#!/usr/bin/python3
"""Counts the actions of a Bazel run by the pool that they asked for: pools.py EXECUTION-LOG.json [GPU-TEST...]

The log is that of --execution_log_json_file, the tests are the labels of those that need a GPU. Prints one line for each
pool, with the tests that ran in it. Exits with 1 if an action named no pool, or if any but these tests and the linking of
their programs (Bazel 4.2.3 has one set of properties for all actions of a target), or not all of them, ran in a pool of GPUs.
"""

import collections
import json
import re
import sys


def read_log(path):
    """The objects of the file, which stand there one behind the other."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        entry, position = decoder.raw_decode(text, position)
        yield entry


def pool_of(entry):
    properties = {item["name"]: item["value"] for item in entry.get("platform", {}).get("properties", [])}
    return " ".join(properties[key] for key in ("Pool", "gpu") if key in properties)


def test_of(entry):
    """The label of a test's run ("Testing //a:b_test (shard 1 of 4)"), None of any other action."""
    if entry.get("mnemonic") != "TestRunner":
        return None
    return re.sub(r" \(.*", "", entry["progressMessage"].removeprefix("Testing "))


def is_link_of(message, tests):
    """Of "Linking a/b_test" and //a:b_test."""
    return message in {"Linking " + test.removeprefix("//").replace(":", "/") for test in tests}


def main(path, gpu_tests):
    counts = collections.Counter()
    tests = collections.defaultdict(set)
    on_gpus = set()
    for entry in read_log(path):
        pool, test = pool_of(entry), test_of(entry)
        counts[pool] += 1
        if test:
            tests[pool].add(test)
        message = entry.get("progressMessage", "an action")
        if pool.startswith("gpu") and not is_link_of(message, gpu_tests):
            on_gpus.add(test or message)
    for pool in sorted(counts):
        print(f"pool {pool or '(none)'}: {counts[pool]} actions; {', '.join(sorted(tests[pool])) or 'no tests'}")
    for test in sorted(on_gpus - set(gpu_tests)):
        print(f"needs no GPU, and ran in a pool of GPUs: {test}")
    for test in sorted(set(gpu_tests) - on_gpus):
        print(f"did not run in a pool of GPUs: {test}")
    return 1 if not counts or "" in counts or on_gpus != set(gpu_tests) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
