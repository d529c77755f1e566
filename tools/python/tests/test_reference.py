"""draftmark.reference."""

import draftmark
import numpy
import pytest

CASES = ["drafts/qwen3-4b-dflash", "drafts/qwen3.8-27b-dflash2", "drafts/synthetic-rnn-markov",
         "drafts/gpt-oss-20b-dflash", "drafter/dflash_window_slide"]


@pytest.fixture
def golden(golden_folder):
    return draftmark.golden.open(golden_folder)


def relative_l2(got, expected):
    norm = numpy.linalg.norm(expected)
    return numpy.linalg.norm(got - expected) / norm if norm else numpy.linalg.norm(got)


@pytest.mark.parametrize("name", CASES)
def test_every_stage_of_the_golden(golden, name):
    case = golden.case(name)
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    assert case.expected
    for stage, expected in case.expected.items():
        got = case.select(stage, stages[stage])
        assert got.shape == expected.shape
        # 6e-8: stages stored as float32.
        assert relative_l2(got, expected) < 6e-8, stage


def test_stages_come_in_the_order_of_computation(golden):
    case = golden.case(CASES[0])
    names = list(draftmark.reference.run(case.config, case.weights, case.inputs))
    order = ["step0.fc", "step0.hidden_norm", "step0.layers.0.q_norm", "step0.layers.4.output",
             "step0.logits", "step0.draft_tokens", "step1.fc"]
    positions = [names.index(name) for name in order]
    assert positions == sorted(positions)


def test_bf16_rounds_and_exact_does_not(golden):
    case = golden.case(CASES[0])
    exact = draftmark.reference.run(case.config, case.weights, case.inputs)
    bf16 = draftmark.reference.run(case.config, case.weights, case.inputs, precision="bf16")
    low = bf16["step0.fc"].astype("<f4").view("<u4") & 0xFFFF
    assert not low.any()
    assert (exact["step0.fc"].astype("<f4").view("<u4") & 0xFFFF).any()
    assert 1e-4 < relative_l2(bf16["step0.fc"], exact["step0.fc"]) < 1e-2


def test_fc_is_the_matrix_product(golden):
    case = golden.case(CASES[0])
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    taps = case.inputs["step0.inputs.target_hidden"].astype("f8")
    expected = taps @ case.weights["fc.weight"].astype("f8").T
    numpy.testing.assert_allclose(stages["step0.fc"], expected, rtol=1e-12, atol=1e-14)


def test_blocks_have_the_tokens_and_margins(golden):
    case = golden.case(CASES[0])
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    tokens = stages["step1.draft_tokens"]
    assert tokens.dtype == numpy.int64
    assert stages.blocks[1]["draft_tokens"] == tokens.tolist()
    logits = numpy.sort(stages["step1.logits"][-len(tokens):], axis=1)
    numpy.testing.assert_allclose(stages.blocks[1]["margin"], logits[:, -1] - logits[:, -2])


def test_two_bands_are_two_runs(golden):
    case = golden.case(CASES[0])
    alone = draftmark.reference.run(case.config, case.weights, case.inputs)
    both = dict(case.inputs)
    for name, value in case.inputs.items():
        step, rest = name.split(".", 1)
        both[f"{step}.band1.{rest}"] = value
    together = draftmark.reference.run(case.config, case.weights, both)
    for name, value in alone.items():
        step, rest = name.split(".", 1)
        numpy.testing.assert_array_equal(together[name], value)
        numpy.testing.assert_array_equal(together[f"{step}.band1.{rest}"], value)


def test_a_config_of_a_catalogue(golden, configs):
    """Geometry of the catalogue's entry, which this case's weights do not fit."""
    case = golden.case(CASES[0])
    with pytest.raises(draftmark.DraftmarkError, match="target_hidden: expected shape"):
        draftmark.reference.run(configs / "drafter_configs.json", case.weights, case.inputs,
                                entry="z-lab/Qwen3-4B-DFlash-b16")


def test_wrong_requests(golden):
    case = golden.case(CASES[0])

    def fails(match, weights=None, inputs=None, **options):
        with pytest.raises(draftmark.DraftmarkError, match=match):
            draftmark.reference.run(case.config, weights or case.weights, inputs or case.inputs,
                                    **options)

    fails("precision: expected \"exact\" or \"bf16\"", precision="fp8")
    fails("fc.weight", weights={k: v for k, v in case.weights.items() if k != "fc.weight"})
    fails(r"fc.weight.*expected BF16 \[48, 240\], found BF16 \[47, 240\]",
          weights={**case.weights, "fc.weight": case.weights["fc.weight"][:-1]})
    third = case.weights["norm.weight"].copy()
    third[1] = 1 / 3
    fails(r"norm.weight: element \[1\]: expected a value that BF16 holds exactly",
          weights={**case.weights, "norm.weight": third})
    start = case.inputs["step0.inputs.start"]
    for name in ("extra", "xinputs.start", "step-1.inputs.start", "step99999999999999999999.inputs.start", 7, None):
        fails("stepS.inputs.NAME", inputs={**case.inputs, name: start})
    fails("step1.inputs.drop_front_row: expected an input of target_hidden, .*found 'drop_front_row'",
          inputs={**case.inputs, "step1.inputs.drop_front_row": 1})
    fails(r"block_tokens: expected shape \[gamma\], found \[2, \d+\]",
          inputs={**case.inputs, "step0.inputs.block_tokens": case.inputs["step0.inputs.block_tokens"].reshape(2, -1)})
    fails("inputs: expected a dict of arrays, found list", inputs=[1])
    fails("weights: expected a dict of arrays, found list", weights=[1])
    fails("norm.weight: expected BF16, F16, F32 or F64, found I8",
          weights={**case.weights, "norm.weight": numpy.ones(48, "i1")})
    for name in (7, None, "a\0b", "a\udc80"):
        fails("expected the name of a tensor", weights={**case.weights, name: numpy.ones(3)})
    fails("norm.weight: .*inhomogeneous", weights={**case.weights, "norm.weight": [[1], [1, 2]]})
    fails("expected a weight or an input, found both",
          weights={**case.weights, "step0.inputs.start": 1})
    fails("step0.inputs.start", inputs={**case.inputs, "step0.inputs.start": -5})
    fails("expected numbers", inputs={**case.inputs, "step0.inputs.start": "x"})


def test_layouts_of_arrays_do_not_matter(golden):
    case = golden.case(CASES[0])
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    turned = {name: numpy.asfortranarray(value).astype("f8").astype(">f8")
              for name, value in case.weights.items()}
    again = draftmark.reference.run(case.config, turned, case.inputs)
    for name, value in stages.items():
        numpy.testing.assert_array_equal(again[name], value)
