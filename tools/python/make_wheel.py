"""make_wheel.py OUT.whl LIBRARY SOURCE...: packs the Python package `draftmark`.

A wheel is a zip file with metadata (packaging.python.org, "Binary distribution format"). Same content, same bytes: no
time of the clock goes in.
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

# glibc of Debian 12, on which the library is built; C++'s library is inside.
TAG = "py3-none-manylinux_2_36_x86_64"


def version_of(init):
    return re.search(r'^__version__ = "([0-9.]+)"$', init, re.MULTILINE).group(1)


def metadata(version):
    return (f"Metadata-Version: 2.1\nName: draftmark\nVersion: {version}\n"
            "Summary: Sizes, goldens, reference and tolerances for block-diffusion drafters\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy>=1.24\n")


def main():
    out, library, *sources = sys.argv[1:]
    files = {}
    for path in sources:
        with open(path, "rb") as stream:
            files["draftmark/" + os.path.basename(path)] = stream.read()
    with open(library, "rb") as stream:
        files["draftmark/libdraftmark.so"] = stream.read()
    version = version_of(files["draftmark/__init__.py"].decode())
    expected = f"draftmark-{version}-{TAG}.whl"
    if os.path.basename(out) != expected:
        sys.exit(f"make_wheel: {out}: expected the name {expected}")
    info = f"draftmark-{version}.dist-info/"
    files[info + "METADATA"] = metadata(version).encode()
    files[info + "WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: draftmark\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    record = info + "RECORD"
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files[record] = ("".join(lines) + record + ",,\n").encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name])


main()
