"""Where the data of this checkout lies, and the package under test (the installed one, or the build's)."""

import os
import pathlib
import sys

import pytest

if "DRAFTMARK_PACKAGE" in os.environ:  # built by Bazel: the folder that holds draftmark/
    sys.path.insert(0, os.path.abspath(os.environ["DRAFTMARK_PACKAGE"]))


@pytest.fixture
def golden_folder():
    return pathlib.Path("golden").absolute()


@pytest.fixture
def configs(golden_folder):
    return golden_folder / "configs"
