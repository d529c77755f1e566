"""draftmark.testing: bounds of the classes, checked against numbers worked out by hand."""

import draftmark
import numpy
import pytest
from draftmark.testing import assert_close, compare


def test_t0_takes_equal_values_only():
    x = numpy.array([1.0, -2.0, numpy.nan, numpy.inf])
    assert assert_close(x, x, tolerance_class="T0").used_share == 0
    y = x.copy()
    y[1] = numpy.nextafter(-2.0, 0)
    with pytest.raises(AssertionError, match=r"1 of 4 elements.*\(T0\)"):
        assert_close(y, x, tolerance_class="T0")


def test_t1_allows_one_spacing_of_bf16():
    # BF16 numbers from 1 to 2 are 2^-7 apart.
    inside = assert_close([1 + 2**-7], [1.0], tolerance_class="T1")
    assert inside.used_share == 1
    half = assert_close([1 - 2**-8], [1.0], tolerance_class="T1")
    assert half.used_share == 0.5
    with pytest.raises(AssertionError, match="uses 1.01 times its own"):
        assert_close([1 + 1.01 * 2**-7], [1.0], tolerance_class="T1")


def test_t1_grows_with_the_length_and_the_magnitudes():
    # 2^-7 + 2^-22 * log2(4096) * 1000 at 1.
    bound = 2**-7 + 12 * 1000 * 2**-22
    how = dict(tolerance_class="T1", reduction_length=4096, magnitudes=numpy.array([1000.0]))
    assert compare([1 + 0.999 * bound], [1.0], **how).passed
    assert not compare([1 + 1.001 * bound], [1.0], **how).passed
    # Without magnitudes they are |expected|.
    least = 2**-7 + 12 * 2**-22
    assert compare([1 + 0.9999 * least], [1.0], tolerance_class="T1", reduction_length=4096).passed
    assert not compare([1 + 1.0001 * least], [1.0], tolerance_class="T1",
                       reduction_length=4096).passed


@pytest.mark.parametrize("probabilities, share", [("F32", 2**-9), ("F16", 2**-10), ("BF16", 2**-7)])
def test_t2_is_a_share_of_the_largest_value(probabilities, share):
    bound = 2**-7 + share * 8
    how = dict(tolerance_class="T2", largest_value=8, probabilities=probabilities)
    assert compare([1 + 0.999 * bound], [1.0], **how).passed
    assert not compare([1 + 1.001 * bound], [1.0], **how).passed


@pytest.mark.parametrize("output, spacing", [("BF16", 2**-7), ("F32", 2**-23), ("F64", 2**-52)])
def test_the_output_decides_the_spacing(output, spacing):
    assert compare([1 + spacing], [1.0], tolerance_class="T1", output=output).used_share == 1


def test_nan_and_infinity_on_one_side():
    for value in (numpy.nan, numpy.inf, -numpy.inf):
        result = compare([value, 1.0], [1.0, 1.0], tolerance_class="T1")
        assert (result.passed, result.exceeding, result.used_share) == (False, 1, float("inf"))
        assert not compare([1.0], [value], tolerance_class="T1").passed


def test_the_message_names_the_element():
    expected = numpy.ones((2, 3, 4))
    actual = expected.copy()
    actual[1, 2, 3] = 2
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected, tolerance_class="T1")
    text = str(error.value)
    assert "1 of 24 elements are beyond their bound (T1); the worst uses 128 times its own" in text
    assert "[1, 2, 3]: expected 1, got 2, bound 0.00781" in text
    assert "128 BF16 ULPs" in text


def test_dtypes_and_empty_tensors():
    assert compare(numpy.float32([1, 2]), numpy.int64([1, 2]), tolerance_class="T0").passed
    empty = compare(numpy.zeros((0, 3)), numpy.zeros((0, 3)), tolerance_class="T1")
    assert (empty.passed, empty.elements) == (True, 0)


@pytest.mark.parametrize("change, message", [
    ({"tolerance_class": "T3"}, "tolerance_class: expected \"T0\", \"T1\" or \"T2\""),
    ({"tolerance_class": "T2"}, "largest_value: required"),
    ({"tolerance_class": "T2", "largest_value": -1}, "largest_value: expected max |v|"),
    ({"tolerance_class": "T2", "largest_value": float("nan")}, "largest_value"),
    ({"tolerance_class": "T2", "largest_value": 1, "probabilities": "F64"}, "probabilities: "),
    ({"output": "F16"}, "output: expected"),
    ({"reduction_length": -1}, "reduction_length: expected an unsigned"),
    ({"actual": numpy.zeros(3)}, "actual: expected shape [2], found [3]"),
    ({"actual": 0.0, "expected": numpy.zeros(1)}, "actual: expected shape [1], found []"),
    ({"reduction_length": 2, "magnitudes": numpy.ones(3)}, "magnitudes: expected shape [2], found [3]"),
    ({"reduction_length": 2, "magnitudes": numpy.ones((2, 1))}, "magnitudes: expected shape [2], found [2, 1]"),
    ({"reduction_length": 2, "magnitudes": -numpy.ones(2)}, "magnitudes: expected finite"),
    ({"actual": numpy.array(["a", "b"])}, "actual: expected numbers"),
    ({"actual": numpy.ma.masked_array(numpy.zeros(2), [0, 1])}, "actual: expected an array without a mask"),
    ({"actual": [[1], [1, 2]]}, "actual: "),
    ({"tolerance_class": "T2", "largest_value": "x"}, "largest_value: expected a number"),
    ({"tolerance_class": "T2", "largest_value": numpy.ones(2)}, "largest_value: expected a number"),
])
def test_wrong_requests(change, message):
    request = {"actual": numpy.zeros(2), "expected": numpy.zeros(2), "tolerance_class": "T1", **change}
    with pytest.raises(draftmark.DraftmarkError) as error:
        compare(request.pop("actual"), request.pop("expected"), **request)
    assert message in str(error.value)
