"""libdraftmark.so by ctypes: one call, JSON and tensors in both directions (c_abi.h)."""

import ctypes
import json
import os
import pathlib

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
    library.draftmark_abi_version.restype = ctypes.c_int
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
    """Paths as text, and whatever counts as an integer (numpy's, too) as one."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "__index__"):
        return value.__index__()
    raise DraftmarkError(f"expected a path, a number, text or a dict, found {type(value).__name__}")


def call(name, request, tensors=None):
    """(dict, {name: (dtype, shape, bytes)}) of a call; `tensors` likewise has what goes in.

    Keys of `request` that are None are left out. Data that go in are C-contiguous NumPy arrays, used where they lie;
    what comes out are bytes objects.
    """
    text = json.dumps({k: v for k, v in request.items() if v is not None}, default=_plain)
    tensors = tensors or {}
    array = (_Tensor * len(tensors))()
    for slot, (tensor, (dtype, shape, data)) in zip(array, tensors.items()):
        slot.name, slot.dtype = tensor.encode(), dtype.encode()
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
