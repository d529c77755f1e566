#!/usr/bin/env python3
"""Calls an operation of a plug-in from Python, through ctypes alone.

    python3 kernels/plugin/examples/python/call_plugin.py ./libcpu_plugin.so

Loads the library, prints its table, runs rms_norm on two rows and compares the result with Python's own arithmetic. The
structs below are those of draftmark_plugin.h (ABI 1), field by field. Exit codes: 0 good, 1 a difference, 2 no such
plug-in.
"""

import ctypes
import math
import struct
import sys
from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_uint32, c_uint64, c_void_p

ABI = 1
OK = 0
CPU = 1
BF16 = 1
INPUT, OUTPUT = 1, 2


class Message(Structure):
    _fields_ = [("text", c_char_p), ("capacity", c_uint64)]


class Number(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Operand(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_uint32),
        ("dtype", c_int32),
        ("role", c_int32),
        ("name", c_char_p),
        ("data", c_void_p),
        ("bytes", c_uint64),
        ("shape", POINTER(c_uint64)),
        ("strides", POINTER(c_uint64)),
    ]


class Call(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("operand_count", c_uint32),
        ("operands", POINTER(POINTER(Operand))),
        ("numbers", POINTER(Number)),
        ("number_count", c_uint64),
        ("operation", c_char_p),
        ("case_id", c_char_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
        ("stream", c_void_p),
    ]


class Limit(Structure):
    _fields_ = [("name", c_char_p), ("least", c_double), ("most", c_double)]


Query = ctypes.CFUNCTYPE(c_int32, POINTER(Call), POINTER(c_uint64), POINTER(Message))
Run = ctypes.CFUNCTYPE(c_int32, POINTER(Call), POINTER(Message))


class Operation(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("limit_count", c_uint32),
        ("id", c_char_p),
        ("dtypes", c_uint64),
        ("limits", POINTER(Limit)),
        ("query", Query),
        ("run", Run),
    ]


class Plugin(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi", c_uint32),
        ("name", c_char_p),
        ("version", c_char_p),
        ("device", c_int32),
        ("operation_count", c_uint32),
        ("operations", POINTER(POINTER(Operation))),
        ("architectures", POINTER(c_uint32)),
        ("architecture_count", c_uint32),
        ("reserved", c_uint32),
        ("session", c_void_p),
    ]


def to_bf16(value):
    """The upper half of an FP32, rounded to the nearest, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def load(path):
    """The plug-in's table."""
    entry = ctypes.CDLL(path).draftmark_plugin_entry
    entry.argtypes = [c_uint32]
    entry.restype = POINTER(Plugin)
    table = entry(ABI)
    if not table or table.contents.abi != ABI:
        raise OSError(f"{path}: has no table for ABI {ABI}")
    return table.contents


def operations(plugin):
    found = [plugin.operations[i].contents for i in range(plugin.operation_count)]
    return {operation.id.decode(): operation for operation in found}


def operand(name, role, shape, values):
    """An operand of BF16 elements, and the memory that it points to."""
    data = (ctypes.c_uint16 * len(values))(*values)
    extents = (c_uint64 * len(shape))(*shape)
    strides = (c_uint64 * len(shape))(*[math.prod(shape[i + 1 :]) for i in range(len(shape))])
    made = Operand(
        ctypes.sizeof(Operand), len(shape), BF16, role, name.encode(), ctypes.addressof(data), ctypes.sizeof(data), extents, strides
    )
    return made, (data, extents, strides)


def rms_norm(operation, x, weight, epsilon):
    """Rows of BF16 bits through the plug-in's rms_norm."""
    rows, width = len(x), len(weight)
    made = [
        operand("x", INPUT, [rows, width], [value for row in x for value in row]),
        operand("weight", INPUT, [width], weight),
        operand("y", OUTPUT, [rows, width], [0xFFFF] * (rows * width)),
    ]
    pointers = (POINTER(Operand) * len(made))(*[ctypes.pointer(one) for one, _ in made])
    numbers = (Number * 3)(Number(b"rows", rows), Number(b"h", width), Number(b"epsilon", epsilon))
    text = ctypes.create_string_buffer(512)
    message = Message(ctypes.cast(text, c_char_p), len(text))
    case_id = f"op/rms_norm/rows={rows},h={width}/bf16".encode()
    call = Call(ctypes.sizeof(Call), len(made), pointers, numbers, len(numbers), b"rms_norm", case_id, None, 0, None)
    workspace_bytes = c_uint64(0)
    if operation.query and operation.query(call, workspace_bytes, message) != OK:
        raise RuntimeError(f"rms_norm: not supported: {text.value.decode()}")
    workspace = ctypes.create_string_buffer(max(1, workspace_bytes.value))
    call.workspace, call.workspace_bytes = ctypes.addressof(workspace), workspace_bytes.value
    if operation.run(call, message) != OK:
        raise RuntimeError(f"rms_norm: {text.value.decode()}")
    y = made[2][1][0]
    return [list(y[row * width : (row + 1) * width]) for row in range(rows)]


def main(path):
    try:
        plugin = load(path)
        found = operations(plugin)
        if plugin.device != CPU or "rms_norm" not in found:
            raise OSError(f"{path}: expected rms_norm on the CPU")
    except (OSError, AttributeError) as error:
        print(f"call_plugin.py: {error}", file=sys.stderr)
        return 2
    print(f"{plugin.name.decode()} {plugin.version.decode()}: {', '.join(found)}")
    # So small that epsilon counts, and an epsilon that nobody compiles in.
    x = [[to_bf16(1e-3 * math.sin(3 * row + i)) for i in range(7)] for row in range(2)]
    weight = [to_bf16(0.5 + i / 8) for i in range(7)]
    epsilon = 3e-6
    try:
        y = rms_norm(found["rms_norm"], x, weight, epsilon)
    except RuntimeError as error:
        print(f"call_plugin.py: {error}", file=sys.stderr)
        return 1
    failures = 0
    for row, got in enumerate(y):
        values = [from_bf16(bits) for bits in x[row]]
        scale = 1 / math.sqrt(sum(value * value for value in values) / len(values) + epsilon)
        expected = [to_bf16(value * scale * from_bf16(w)) for value, w in zip(values, weight)]
        print(f"row {row}: {[from_bf16(bits) for bits in got]}")
        # FP32 sums may fall to the other side of a midpoint.
        failures += sum(abs(a - b) > 1 for a, b in zip(got, expected))
    print(f"{failures} of 14 elements differ")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
