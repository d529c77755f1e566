#!/usr/bin/python3
"""Counts the actions of a Bazel run by the pool that they asked for: pools.py EXECUTION-LOG.json

The log is that of --execution_log_json_file. Prints one line for each pool, with the tests that ran in it. Exits with 1 if
an action named no pool.
"""

import collections
import json
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


def main(path):
    pools = collections.defaultdict(list)
    for entry in read_log(path):
        pools[pool_of(entry)].append(entry)
    for pool, entries in sorted(pools.items()):
        tests = sorted({entry["progressMessage"] for entry in entries if entry.get("mnemonic") == "TestRunner"})
        print(f"pool {pool or '(none)'}: {len(entries)} actions; {', '.join(tests) or 'no tests'}")
    return 1 if not pools or "" in pools else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
