"""The reference of a draft, stage by stage, on NumPy arrays or torch tensors.

    stages = draftmark.reference.run("drafter/config.json", weights, inputs)
    stages["step0.layers.0.k_new"]       # float64, [rows, heads, width]
    stages["step0.draft_tokens"]         # int64

`weights` are named as in a Hugging Face checkpoint, the target's embedding and LM head included
("embed_tokens.weight", "lm_head.weight"). They are BF16; other float types are taken if every value is exact in
BF16. `inputs` are those of `draftmark diff --inputs`:

    stepS.inputs.target_hidden    [n, taps * width], exact in BF16
    stepS.inputs.block_tokens     [gamma]: anchor, then mask ids
    stepS.inputs.start            absolute position of the anchor
    stepS.inputs.drop_front_rows  optional: rows that leave the context before this step

and stepS.bandB.inputs.NAME for further sequences. Stages come in the order in which they are computed, so the first
one that differs is where a mistake was made.
"""

import collections.abc
import re

from draftmark import _arrays
from draftmark._library import DraftmarkError, call

# As conformance/diagnosis/inputs.h has them; which NAMEs there are is said there.
_INPUT = re.compile(r"(step[0-9]{1,9}\.)?(band[0-9]{1,9}\.)?inputs\..*", re.DOTALL)
_IDS = ("draft_tokens", "selector.candidate_ids")


class Stages(dict):
    """{stage: array}, in the order of computation. `blocks` has tokens, margins and confidences."""

    blocks = ()


def run(config, weights, inputs, *, precision="exact", entry=None):
    """Runs all steps and returns Stages.

    config: path of a drafter's config.json or of a catalogue (then `entry`), or the parsed dict.
    precision: "exact", float64 throughout, or "bf16", rounded where the drafter rounds.
    Stages are torch tensors (on the CPU) if weights or inputs hold one, else NumPy arrays; values are
    float64, which holds BF16 exactly, ids int64.
    Raises DraftmarkError for a config, weights or inputs that do not fit each other.
    """
    for what, tensors in (("weights", weights), ("inputs", inputs)):
        if not isinstance(tensors, collections.abc.Mapping):
            raise DraftmarkError(f"{what}: expected a dict of arrays, found {type(tensors).__name__}")
    both = set(weights) & set(inputs)
    if both:
        raise DraftmarkError(f"{min(both)}: expected a weight or an input, found both")
    for name in inputs:
        if not isinstance(name, str) or not _INPUT.fullmatch(name):
            raise DraftmarkError(f"{name}: expected an input stepS.inputs.NAME")
    named = {**weights, **inputs}
    tensors = {name: _arrays.to_bytes(name, value) for name, value in named.items()}
    request = {"config": config, "entry": entry, "precision": precision}
    answer, found = call("reference", request, tensors)
    as_torch = any(_arrays.is_torch(value) for value in named.values())
    stages = Stages()
    for name, tensor in found.items():
        array = _arrays.from_bytes(name, *tensor)
        if name.endswith(_IDS):
            array = array.astype("i8")
        if as_torch:
            import torch

            array = torch.from_numpy(array)
        stages[name] = array
    stages.blocks = answer["blocks"]
    return stages
