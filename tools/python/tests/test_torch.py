"""The package on torch tensors. Opt-in: needs PyTorch (its CPU build is enough), which no other test does."""

import draftmark
import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_the_reference_on_torch_tensors(golden_folder):
    case = draftmark.golden.open(golden_folder).case("drafts/qwen3-4b-dflash")
    weights = {n: torch.from_numpy(w.copy()).bfloat16() for n, w in case.weights.items()}
    inputs = {n: torch.from_numpy(numpy.asarray(v).copy()) for n, v in case.inputs.items()
              if not n.endswith("block_tokens")}
    inputs.update({n: torch.from_numpy(v.astype("i8")) for n, v in case.inputs.items()
                   if n.endswith("block_tokens")})
    stages = draftmark.reference.run(case.config, weights, inputs)
    of_numpy = draftmark.reference.run(case.config, case.weights, case.inputs)
    assert list(stages) == list(of_numpy)
    for name, value in stages.items():
        assert isinstance(value, torch.Tensor)
        numpy.testing.assert_array_equal(value.numpy(), of_numpy[name])


def test_stages_against_torch_itself(golden_folder):
    case = draftmark.golden.open(golden_folder).case("drafts/qwen3-4b-dflash")
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    taps = torch.from_numpy(case.inputs["step0.inputs.target_hidden"]).double()
    fc = torch.nn.functional.linear(taps, torch.from_numpy(case.weights["fc.weight"]).double())
    torch.testing.assert_close(fc, torch.from_numpy(stages["step0.fc"]), rtol=1e-12, atol=1e-14)
    # By hand: PyTorch before 2.4 has no rms_norm.
    weight = torch.from_numpy(case.weights["hidden_norm.weight"]).double()
    normed = fc * torch.rsqrt(fc.square().mean(-1, keepdim=True) + case.config["rms_norm_eps"]) * weight
    torch.testing.assert_close(normed, torch.from_numpy(stages["step0.hidden_norm"]), rtol=1e-11,
                               atol=1e-13)


def test_a_bf16_product_is_within_its_class():
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(16, 512, generator=generator).bfloat16()
    b = torch.randn(64, 512, generator=generator).bfloat16()
    how = dict(tolerance_class="T1", reduction_length=512,
               magnitudes=a.double().abs() @ b.double().abs().T)
    oracle = a.double() @ b.double().T
    draftmark.testing.assert_close((a.float() @ b.float().T).bfloat16(), oracle, **how)
    with pytest.raises(AssertionError):
        draftmark.testing.assert_close((a[:, :-1].float() @ b[:, :-1].float().T).bfloat16(), oracle,
                                       **how)
