"""Draftmark from Python: sizes and scratch tables, goldens, the reference stage by stage, comparisons.

    import draftmark

    draftmark.sizes("config.json", max_batch_tokens=4096, max_seq_len=32768, kv_block_size=16,
                    max_batch_size=8)["buffers"]          # 41 names -> bytes
    draftmark.scratch("drafter/config.json", version=2, ctx_window=4096, max_batch=8)["fields"]

    golden = draftmark.golden.open("golden")              # manifest, tensors, cases
    case = golden.case("drafts/qwen3-4b-dflash")
    stages = draftmark.reference.run(case.config, case.weights, case.inputs)
    draftmark.testing.assert_close(mine, stages["step0.fc"], tolerance_class="T1",
                                   reduction_length=14336)

Everything is computed by the same C++ as the program `draftmark`. Wrong input raises
draftmark.DraftmarkError with one message: file, field or tensor, expected, found.
"""

from draftmark import golden, reference, testing
from draftmark._library import DraftmarkError, call

__version__ = "0.1.0"
__all__ = ["DraftmarkError", "golden", "reference", "scratch", "sizes", "testing"]


def sizes(config, *, max_batch_tokens, max_seq_len, kv_block_size, max_batch_size, native_q2=False,
          native_q2_mmq=False, sm_count=None):
    """Bytes of the 41 buffers of one forward pass, as `draftmark sizes --format json` has them.

    config: path of a model's config.json, or the parsed dict; flat dicts of the 34 sizing fields too.
    Returns a dict: "buffers" (name -> bytes), "total_bytes", "sub_offsets" and what they follow from.
    """
    request = {
        "config": config,
        "max_batch_tokens": max_batch_tokens,
        "max_seq_len": max_seq_len,
        "kv_block_size": kv_block_size,
        "max_batch_size": max_batch_size,
        "native_q2": native_q2,
        "native_q2_mmq": native_q2_mmq,
        "sm_count": sm_count,
    }
    return call("sizes", request)[0]


def scratch(config, *, version, ctx_window, max_batch, gamma=None, layout=None, entry=None,
            batched_heads=False):
    """Every field of a drafter's DFlash scratch, as `draftmark scratch --format json` has them.

    config: path of a drafter's config.json or of a catalogue (then `entry`), or the parsed dict.
    layout: "doc", "code-a", "code-b" (version 1), "normative", "as-upstream" (version 2).
    Returns a dict: "fields" (name -> bytes, dtype, shape, ...), "device_bytes", "borrows", "warnings".
    """
    request = {
        "config": config,
        "version": version,
        "ctx_window": ctx_window,
        "max_batch": max_batch,
        "gamma": gamma,
        "layout": layout,
        "entry": entry,
        "batched_heads": batched_heads,
    }
    return call("scratch", request)[0]
