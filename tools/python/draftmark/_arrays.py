"""NumPy arrays and torch tensors to and from (dtype, shape, data) of _library.call."""

import numpy

from draftmark._library import DraftmarkError

# Names of the safetensors format. BF16 has no dtype in NumPy: see from_bytes.
_NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}
_NAMES = {numpy.dtype(code): name for name, code in _NUMPY.items()}


def is_torch(value):
    return type(value).__module__.split(".")[0] == "torch"


def to_bytes(name, value):
    """Of a NumPy array (also ml_dtypes.bfloat16), a torch tensor of any device, or a number."""
    if isinstance(value, numpy.ma.MaskedArray):
        raise DraftmarkError(f"{name}: expected an array without a mask, found a {type(value).__name__}")
    if is_torch(value):
        value = value.detach().cpu().contiguous()
        if str(value.dtype) == "torch.bfloat16":
            import torch

            bits = value.view(torch.int16).numpy()
            return "BF16", tuple(value.shape), numpy.ascontiguousarray(bits)
        value = value.numpy()
    try:
        array = numpy.asarray(value)
    except ValueError as error:  # such as rows of several lengths
        raise DraftmarkError(f"{name}: {error}") from error
    shape = array.shape  # ascontiguousarray makes vectors of scalars
    if array.dtype.name == "bfloat16":
        return "BF16", shape, numpy.ascontiguousarray(array).view("<u2")
    dtype = _NAMES.get(array.dtype.newbyteorder("<"))
    if dtype is None:
        raise DraftmarkError(f"{name}: expected numbers, found an array of {array.dtype}")
    return dtype, shape, numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def from_bytes(name, dtype, shape, data):
    """A NumPy array of its own memory. BF16 becomes float32, which holds it exactly."""
    if dtype == "BF16":
        bits = numpy.frombuffer(data, "<u2").astype("<u4") << 16
        return bits.view("<f4").reshape(shape)
    if dtype not in _NUMPY:
        raise DraftmarkError(f"{name}: NumPy has no dtype for {dtype}")
    return numpy.frombuffer(data, _NUMPY[dtype]).reshape(shape).copy()
