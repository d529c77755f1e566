"""draftmark.sizes and draftmark.scratch."""

import json

import draftmark
import numpy
import pytest

ARGUMENTS = dict(max_batch_tokens=8, max_seq_len=1024, kv_block_size=16, max_batch_size=2)


def test_sizes_are_those_of_the_oracle_rows(golden_folder):
    rows = 0
    for path in sorted((golden_folder / "buffer_sizes").glob("models_*.json")):
        for row in json.loads(path.read_text()):
            answer = draftmark.sizes(row["config"], **row["args"], **row["flags"])
            assert answer["buffers"] == row["expected"]
            assert len(answer["buffers"]) == 41
            rows += 1
    assert rows >= 40


def test_sizes_of_a_path_and_of_its_dict_agree(configs):
    path = configs / "qwen3_8b.json"
    of_path = draftmark.sizes(path, **ARGUMENTS)
    of_dict = draftmark.sizes(json.loads(path.read_text()), **ARGUMENTS)
    assert of_path["buffers"] == of_dict["buffers"]
    assert of_path["total_bytes"] == sum(of_path["buffers"].values())


def test_numpy_numbers_are_numbers(configs):
    arguments = {name: numpy.int64(value) for name, value in ARGUMENTS.items()}
    path = configs / "qwen3_8b.json"
    assert draftmark.sizes(path, **arguments) == draftmark.sizes(path, **ARGUMENTS)
    assert draftmark.sizes(path, native_q2=numpy.bool_(True), **ARGUMENTS) == draftmark.sizes(
        path, native_q2=True, **ARGUMENTS)
    # Half is no whole number, of whatever type.
    with pytest.raises(draftmark.DraftmarkError, match="max_seq_len: expected .*found 0.5"):
        draftmark.sizes(path, **{**ARGUMENTS, "max_seq_len": numpy.float32(0.5)})


def test_scratch_of_the_worked_example(configs):
    answer = draftmark.scratch(configs / "drafter_configs.json", version=2, ctx_window=4096,
                               max_batch=8, gamma=10, entry="z-lab/Qwen3.8-27B-DFlash2 (incoai)")
    assert answer["device_bytes"] == 675944624
    assert answer["host_pinned_bytes"] == 320
    assert len(answer["fields"]) == 27
    assert answer["fields"]["precompute_in"]["bytes"] == 13107200


def test_scratch_layouts(configs):
    path = configs / "drafter_specforge_qwen3_8b_dflash.json"
    slots = {layout: draftmark.scratch(path, version=1, ctx_window=16, max_batch=1, layout=layout)
             ["fields"]["slot_mapping_dev"]["bytes"] for layout in ("doc", "code-a")}
    assert slots == {"doc": 64, "code-a": 128}


NESTED = {}
NESTED["itself"] = NESTED


@pytest.mark.parametrize("change, message", [
    ({"config": "no/such.json"}, "no/such.json"),
    ({"config": {"hidden_size": -1}}, "config"),
    ({"max_seq_len": 1.5}, "max_seq_len: expected an unsigned 64-bit integer"),
    ({"max_batch_size": -1}, "max_batch_size: expected an unsigned 64-bit integer, found -1"),
    ({"max_batch_tokens": 2**64 - 1}, ""),
    ({"config": object()}, "expected a path"),
    ({"config": NESTED}, "sizes: not to be written as JSON"),
    ({"config": {(1, 2): 3}}, "sizes: not to be written as JSON"),
    ({"config": {"hidden_size": numpy.ones(2)}}, "expected a path, a number"),
])
def test_wrong_sizes_requests(configs, change, message):
    request = {"config": configs / "qwen3_8b.json", **ARGUMENTS, **change}
    with pytest.raises(draftmark.DraftmarkError) as error:
        draftmark.sizes(request.pop("config"), **request)
    assert message in str(error.value)


def test_wrong_scratch_requests(configs):
    path = configs / "drafter_specforge_qwen3_8b_dflash.json"
    with pytest.raises(draftmark.DraftmarkError, match="version: expected 1 or 2, found 3"):
        draftmark.scratch(path, version=3, ctx_window=16, max_batch=1)
    with pytest.raises(draftmark.DraftmarkError, match="layout: expected one of normative"):
        draftmark.scratch(path, version=2, ctx_window=16, max_batch=1, layout="doc")
