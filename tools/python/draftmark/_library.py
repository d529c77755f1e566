"""libdraftmark.so by ctypes: one call, JSON and tensors in both directions (c_abi.h)."""

import ctypes
import json
import numbers
import operator
import os
import pathlib

import numpy

_ABI_VERSION = 1


class DraftmarkError(ValueError):
    """Wrong input. The message names file, field or tensor, expected and found."""


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_uint64)),
        ("rank", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
    ]


def _load():
    path = pathlib.Path(__file__).with_name("libdraftmark.so")
    library = ctypes.CDLL(os.fspath(path))
    try:
        library.draftmark_abi_version.restype = ctypes.c_int
    except AttributeError as error:
        raise ImportError(f"{path}: expected Draftmark's library, found another: {error}") from error
    found = library.draftmark_abi_version()
    if found != _ABI_VERSION:
        raise ImportError(f"{path}: expected interface version {_ABI_VERSION}, found {found}")
    library.draftmark_call.argtypes = [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Tensor), ctypes.c_size_t]
    library.draftmark_call.restype = ctypes.c_void_p
    library.draftmark_answer_status.argtypes = [ctypes.c_void_p]
    library.draftmark_answer_status.restype = ctypes.c_int
    library.draftmark_answer_text.argtypes = [ctypes.c_void_p]
    library.draftmark_answer_text.restype = ctypes.c_char_p
    library.draftmark_answer_tensor_count.argtypes = [ctypes.c_void_p]
    library.draftmark_answer_tensor_count.restype = ctypes.c_size_t
    library.draftmark_answer_tensor.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.draftmark_answer_tensor.restype = ctypes.POINTER(_Tensor)
    library.draftmark_answer_free.argtypes = [ctypes.c_void_p]
    library.draftmark_answer_free.restype = None
    return library


_LIBRARY = _load()


def _plain(value):
    """Paths as text, and whatever counts as a number or a truth value (numpy's, too) as one."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return float(value)
    try:
        return operator.index(value)
    except TypeError:  # also of arrays
        pass
    raise DraftmarkError(f"expected a path, a number, text or a dict, found {type(value).__name__}")


def _json(name, request):
    try:
        return json.dumps(request, default=_plain)
    except DraftmarkError:
        raise
    # Keys that are no text; dicts that contain themselves, or are nested too deeply.
    except (TypeError, ValueError, RecursionError) as error:
        raise DraftmarkError(f"{name}: not to be written as JSON: {error}") from error


def _name(tensor):
    """In C a name ends at a zero byte, so that another tensor's would be left."""
    if isinstance(tensor, str) and "\0" not in tensor:
        try:
            return tensor.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            pass
    raise DraftmarkError(f"{tensor!r}: expected the name of a tensor, Unicode text without zero bytes")


def call(name, request, tensors=None):
    """(dict, {name: (dtype, shape, bytes)}) of a call; `tensors` likewise has what goes in.

    Keys of `request` that are None are left out. Data that go in are C-contiguous NumPy arrays, used where they lie;
    what comes out are bytes objects.
    """
    text = _json(name, {k: v for k, v in request.items() if v is not None})
    tensors = tensors or {}
    array = (_Tensor * len(tensors))()
    for slot, (tensor, (dtype, shape, data)) in zip(array, tensors.items()):
        slot.name, slot.dtype = _name(tensor), dtype.encode()
        slot.shape, slot.rank = (ctypes.c_uint64 * len(shape))(*shape), len(shape)
        slot.data, slot.bytes = data.ctypes.data, data.nbytes
    answer = _LIBRARY.draftmark_call(name.encode(), text.encode(), array, len(tensors))
    try:
        reply = _LIBRARY.draftmark_answer_text(answer).decode()
        if _LIBRARY.draftmark_answer_status(answer) != 0:
            raise DraftmarkError(reply)
        found = {}
        for i in range(_LIBRARY.draftmark_answer_tensor_count(answer)):
            tensor = _LIBRARY.draftmark_answer_tensor(answer, i).contents
            shape = tuple(tensor.shape[k] for k in range(tensor.rank))
            data = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
            found[tensor.name.decode()] = (tensor.dtype.decode(), shape, data)
        return json.loads(reply), found
    finally:
        _LIBRARY.draftmark_answer_free(answer)
