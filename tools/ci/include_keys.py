#!/usr/bin/env python3
"""A key for each source file: include_keys.py SALT FILES...

Prints "KEY FILE" for each file. Two runs give a file the same key as long as SALT, the file and what it includes of the project
(`#include "..."`, followed through headers) have not changed; what comes from elsewhere belongs into SALT as a version. The key is
"generated" for a file that includes, however far, a header of one of the project's folders that is not there: only a build has it.
Paths are relative to the root of the project, the current folder.
"""

import functools
import hashlib
import os
import re
import sys

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@functools.lru_cache(maxsize=None)
def read(path):
    """(digest, what it includes) of a file, or None if it is not there."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return None
    return hashlib.sha256(text).hexdigest(), [os.fsdecode(name) for name in INCLUDE.findall(text)]


def closure(path):
    """The file and all that it includes, sorted; and whether a header among them comes from a build."""
    found = set()
    pending = [path]
    generated = False
    while pending:
        path = pending.pop()
        if path in found or read(path) is None:
            continue
        found.add(path)
        for name in read(path)[1]:
            # As a compiler does: beside the file first.
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            name = os.path.normpath(name)
            pending += [beside, name]
            # A library's `#include "fmt/format.h"` has no such folder here.
            if read(beside) is None and read(name) is None and "/" in name and os.path.isdir(name.split("/")[0]):
                generated = True
    return sorted(found), generated


def key(salt, path):
    names, generated = closure(path)
    if generated:
        return "generated"
    lines = [salt, path] + [f"{read(name)[0]} {name}" for name in names]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def main(arguments):
    for path in arguments[1:]:
        print(key(arguments[0], path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
