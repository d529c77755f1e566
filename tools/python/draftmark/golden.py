"""Reading the golden set: manifest, safetensors, and cases of drafts.

    golden = draftmark.golden.open("golden")
    golden.find("operations/rms_norm.safetensors").tolerance     # "T1"
    golden.tensors("operations/rms_norm.safetensors")            # {name: array}; the hash is checked
    golden.case("drafts/qwen3-4b-dflash")                        # config, weights, inputs, expected

Arrays are NumPy's; BF16 is read as float32, which holds it exactly.
"""

import dataclasses
import hashlib
import os
import stat

from draftmark import _arrays
from draftmark._library import DraftmarkError, call


@dataclasses.dataclass(frozen=True)
class File:
    """One entry of manifest.json (conformance/golden/manifest.h says what the fields mean)."""

    path: str
    kind: str
    bytes: int
    sha256: str
    generator: str
    seed: str
    config: str
    cases: tuple
    kept_context_rows: str
    precision: str
    tolerance: str
    inputs_sha256: str
    agreement: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Case:
    """A drafter's golden. Generated weights and inputs are there as if they lay in files.

    `expected` holds float64 stages by name ("step0.fc"). Of a stage in `rows` it holds these rows
    alone: `select` takes them out of a whole stage.
    """

    id: str
    config: dict
    weights: dict
    inputs: dict
    expected: dict
    rows: dict

    def select(self, name, stage):
        return stage[self.rows[name]] if name in self.rows else stage


def read(path, names=None):
    """({name: array}, metadata) of any safetensors file; `names` alone where given."""
    request = {"path": os.fspath(path), "names": None if names is None else list(names)}
    answer, tensors = call("safetensors", request)
    return {name: _arrays.from_bytes(name, *tensor) for name, tensor in tensors.items()}, answer["metadata"]


def load_case(folder):
    """The case in `folder`: config.json, golden.safetensors, and model.safetensors or a generator."""
    answer, tensors = call("case", {"path": os.fspath(folder)})
    parts = {"weights": {}, "inputs": {}, "expected": {}}
    for name, tensor in tensors.items():
        part = "weights"
        if name.startswith("expected."):
            part, name = "expected", name[len("expected."):]
        elif name.startswith("step") and ".inputs." in name:
            part = "inputs"
        parts[part][name] = _arrays.from_bytes(name, *tensor)
    return Case(id=answer["id"], config=answer["config"], rows=answer["rows"], **parts)


class Golden:
    """A golden folder. `files` are the entries of its manifest, ascending by path."""

    def __init__(self, path):
        self.path = os.fspath(path)
        entries = call("manifest", {"golden": self.path})[0]["files"]
        self.files = [File(**{**entry, "cases": tuple(entry["cases"])}) for entry in entries]
        self._by_path = {file.path: file for file in self.files}

    def find(self, path):
        """The entry of `path` (below the folder); KeyError if the manifest has none."""
        return self._by_path[path]

    def check(self, path=None):
        """Raises DraftmarkError unless the file, or every file, is what the manifest says."""
        for file in self.files if path is None else [self.find(path)]:
            place = os.path.join(self.path, file.path)
            try:
                if not stat.S_ISREG(os.stat(place).st_mode):  # a pipe would be waited for, a device never end
                    raise DraftmarkError(f"{place}: expected a regular file")
                with open_file(place, "rb") as stream:
                    data = stream.read()
            except OSError as error:
                raise DraftmarkError(f"{place}: {error.strerror}") from error
            found = hashlib.sha256(data).hexdigest()
            if (len(data), found) != (file.bytes, file.sha256):
                raise DraftmarkError(
                    f"{place}: expected {file.bytes} bytes with SHA-256 {file.sha256}, found "
                    f"{len(data)} bytes with {found}")

    def tensors(self, path, names=None):
        """{name: array} of a file, after `check(path)`."""
        self.check(path)
        return read(os.path.join(self.path, path), names)[0]

    def metadata(self, path):
        self.check(path)
        return read(os.path.join(self.path, path), names=[])[1]

    def case(self, name):
        """The case of a folder such as "drafts/qwen3-4b-dflash", after a check of its files."""
        files = [file for file in self.files if os.path.dirname(file.path) == name]
        if not files:
            raise DraftmarkError(f"{self.path}: the manifest has no case {name}")
        for file in files:
            self.check(file.path)
        return load_case(os.path.join(self.path, name))


open_file = open  # before the name below hides it


def open(path):  # noqa: A001, the name that a reader looks for
    """The golden set in the folder `path`. Raises DraftmarkError if its manifest cannot be used."""
    return Golden(path)
