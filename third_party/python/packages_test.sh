#!/bin/sh
# packages_test.sh PYTHON REQUIREMENTS: every pinned package is there in its version and can be imported.
set -eu
exec "$1" - "$2" <<'END'
import importlib
import importlib.metadata
import sys

with open(sys.argv[1], encoding="utf-8") as lines:
    pins = [line.strip().split("==") for line in lines if "==" in line]
assert pins
for name, version in pins:
    found = importlib.metadata.version(name)
    assert found == version, f"{name}: {version} is pinned, {found} is installed"
    importlib.import_module(name)
END
