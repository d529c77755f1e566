"""Comparing tensors within the bounds of an error model instead of a constant (src/compare/tolerance.h).

    draftmark.testing.assert_close(y, oracle, tolerance_class="T1", reduction_length=4096,
                                   magnitudes=abs(a) @ abs(b))
"""

import dataclasses

from draftmark import _arrays
from draftmark._library import DraftmarkError, call


@dataclasses.dataclass(frozen=True)
class Comparison:
    passed: bool
    elements: int
    exceeding: int  # elements beyond their bound
    used_share: float  # of its bound, by the worst element; above 1 fails
    relative_l2: float
    max_abs: float
    tightest: str  # the element that uses most of its bound
    worst: str  # the one that is farthest off
    histogram: str  # of distances in ULPs


def _number(name, value):
    """Also of arrays and tensors of one element."""
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DraftmarkError(f"{name}: expected a number, found {value!r}") from error


def compare(actual, expected, *, tolerance_class, reduction_length=0, magnitudes=None,
            largest_value=None, probabilities="F32", output="BF16"):
    """How far `actual` is from `expected`, the float64 oracle that was not rounded.

    tolerance_class:
      "T0"  equal values
      "T1"  one rounding to `output`, and FP32 sums of `reduction_length` products (0: elementwise):
            2^-22 * log2(length) * magnitudes, the sum of the magnitudes of an element's terms. Without
            `magnitudes` they are |expected|, the least they can be: where terms cancel, that is
            stricter than the class
      "T2"  attention: one rounding, and a share of `largest_value` (max |v|) by the type in which
            `probabilities` multiply V ("F32", "F16", "BF16")
    output: the type that results are stored in: "BF16", "F32" or "F64".

    NumPy arrays or torch tensors; shapes must be equal. NaN equals NaN and nothing else.
    """
    tensors = {"actual": actual, "expected": expected}
    if magnitudes is not None:
        tensors["magnitudes"] = magnitudes
    request = {
        "tolerance_class": tolerance_class,
        "reduction_length": reduction_length,
        "largest_value": _number("largest_value", largest_value),
        "probabilities": probabilities,
        "output": output,
    }
    answer = call("compare", request, {n: _arrays.to_bytes(n, v) for n, v in tensors.items()})[0]
    for name in ("used_share", "relative_l2", "max_abs"):
        if answer[name] is None:  # JSON has no infinity
            answer[name] = float("inf")
    return Comparison(**{"tightest": "", "worst": "", **answer})


def assert_close(actual, expected, **how):
    """`compare`, and AssertionError if an element is beyond its bound. Returns the comparison."""
    result = compare(actual, expected, **how)
    if not result.passed:
        raise AssertionError(
            f"{result.exceeding} of {result.elements} elements are beyond their bound "
            f"({how['tolerance_class']}); the worst uses {result.used_share:.3g} times its own\n"
            f"  {result.tightest}\n"
            f"  farthest off {result.worst}\n"
            f"  relative L2 error {result.relative_l2:.3g}; ULPs {result.histogram}")
    return result
