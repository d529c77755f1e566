"""draftmark.golden."""

import json
import os
import shutil

import draftmark
import numpy
import pytest


def test_manifest(golden_folder):
    golden = draftmark.golden.open(golden_folder)
    written = json.loads((golden_folder / "manifest.json").read_text())["files"]
    assert [file.path for file in golden.files] == [entry["path"] for entry in written]
    file = golden.find("operations/rms_norm.safetensors")
    assert (file.kind, file.tolerance) == ("operation", "T1")
    assert all(case.startswith("op/rms_norm/") for case in file.cases)
    with pytest.raises(KeyError):
        golden.find("operations/nothing.safetensors")


def test_every_file_is_what_the_manifest_says(golden_folder):
    draftmark.golden.open(golden_folder).check()


def test_tensors_are_those_of_the_reference_library(golden_folder):
    """Where that package is: its own reading, dtype by dtype."""
    safetensors = pytest.importorskip("safetensors")
    compared = set()
    for path in sorted(golden_folder.glob("**/*.safetensors")):
        mine, metadata = draftmark.golden.read(path)
        with safetensors.safe_open(path, framework="numpy") as theirs:
            assert set(mine) == set(theirs.keys())
            assert metadata == (theirs.metadata() or {})
            for name, array in mine.items():
                dtype = theirs.get_slice(name).get_dtype()
                assert list(array.shape) == theirs.get_slice(name).get_shape()
                compared.add(dtype)
                if dtype != "BF16":
                    numpy.testing.assert_array_equal(array, theirs.get_tensor(name))
    assert {"BF16", "F32", "I64", "U32"} <= compared


def test_bf16_is_read_exactly(tmp_path):
    bits = numpy.array([0x3F80, 0xC000, 0x0001, 0x8000, 0x7F80, 0x3EAB], "<u2")
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bits.tobytes())
    values = draftmark.golden.read(path)[0]["x"]
    assert values.dtype == numpy.float32
    assert values.tolist() == [[1.0, -2.0, 2.0**-133], [-0.0, float("inf"), 0.333984375]]


def test_some_tensors_alone(golden_folder):
    path = golden_folder / "operations/rms_norm.safetensors"
    everything, _ = draftmark.golden.read(path)
    name = min(everything)
    some, _ = draftmark.golden.read(path, names=[name])
    assert list(some) == [name]
    numpy.testing.assert_array_equal(some[name], everything[name])
    with pytest.raises(draftmark.DraftmarkError, match="no_such_tensor"):
        draftmark.golden.read(path, names=["no_such_tensor"])


def test_a_changed_byte_is_found(golden_folder, tmp_path):
    shutil.copytree(golden_folder, tmp_path / "golden")
    golden = draftmark.golden.open(tmp_path / "golden")
    path = tmp_path / "golden/operations/argmax.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    with pytest.raises(draftmark.DraftmarkError, match=r"argmax.*expected \d+ bytes with SHA-256"):
        golden.tensors("operations/argmax.safetensors")
    with pytest.raises(draftmark.DraftmarkError, match="argmax"):
        golden.check()
    path.unlink()
    with pytest.raises(draftmark.DraftmarkError, match="No such file"):
        golden.check("operations/argmax.safetensors")
    os.mkfifo(path)
    with pytest.raises(draftmark.DraftmarkError, match="argmax.*expected a regular file"):
        golden.check("operations/argmax.safetensors")


def test_cases(golden_folder):
    golden = draftmark.golden.open(golden_folder)
    case = golden.case("drafts/qwen3-4b-dflash")
    assert case.id.startswith("draft/qwen3-4b-dflash/")
    assert case.config["hidden_size"] == 48
    assert case.weights["fc.weight"].shape == (48, 5 * 48)
    assert case.inputs["step0.inputs.target_hidden"].shape == (70, 5 * 48)
    assert case.inputs["step1.inputs.start"] == 104
    assert case.rows["step0.fc"] == [0, 15, 16, 35, 68, 69]
    assert case.expected["step0.fc"].shape == (6, 48)
    with pytest.raises(draftmark.DraftmarkError, match="no case drafts/nothing"):
        golden.case("drafts/nothing")


def test_a_folder_that_is_no_golden_set(tmp_path):
    with pytest.raises(draftmark.DraftmarkError, match="manifest.json"):
        draftmark.golden.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema_version": 2, "files": []}')
    with pytest.raises(draftmark.DraftmarkError, match="schema_version"):
        draftmark.golden.open(tmp_path)
    (tmp_path / "x.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(draftmark.DraftmarkError, match="x.safetensors"):
        draftmark.golden.read(tmp_path / "x.safetensors")
