#!/usr/bin/env python3
"""A key for each source file: include_keys.py SALT FILES...

Prints "KEY FILE" for each file. Two runs give a file the same key as long as SALT, the file and what it includes of the project
(`#include "..."`, followed through headers) have not changed; what comes from elsewhere belongs into SALT as a version. Paths
are relative to the root of the project, the current folder.
"""

import functools
import hashlib
import os
import re
import sys

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@functools.lru_cache(maxsize=None)
def read(path):
    """(digest, what it includes) of a file, or None for what only a build has."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return None
    return hashlib.sha256(text).hexdigest(), [os.fsdecode(name) for name in INCLUDE.findall(text)]


def closure(path):
    """The file and all that it includes, sorted."""
    found = set()
    pending = [path]
    while pending:
        path = pending.pop()
        if path in found or read(path) is None:
            continue
        found.add(path)
        for name in read(path)[1]:
            # As a compiler does: beside the file first.
            pending.append(os.path.normpath(os.path.join(os.path.dirname(path), name)))
            pending.append(os.path.normpath(name))
    return sorted(found)


def key(salt, path):
    lines = [salt, path] + [f"{read(name)[0]} {name}" for name in closure(path)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def main(arguments):
    for path in arguments[1:]:
        print(key(arguments[0], path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
