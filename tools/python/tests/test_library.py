"""draftmark._library: the library beside the package."""

import _ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import draftmark


def test_another_library_is_an_import_error(tmp_path):
    package = tmp_path / "draftmark"
    shutil.copytree(pathlib.Path(draftmark.__file__).parent, package)
    library = package / "libdraftmark.so"
    library.unlink()
    shutil.copy(_ctypes.__file__, library)
    result = subprocess.run([sys.executable, "-c", "import draftmark"], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert result.returncode == 1
    assert f"ImportError: {library}: expected Draftmark's library, found another" in result.stderr
