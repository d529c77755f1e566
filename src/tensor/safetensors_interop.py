"""The reference library's side of safetensors_interop_test.cc.

    safetensors_interop.py check                  fails if the packages are absent
    safetensors_interop.py write FILE             a file with every dtype that the package can write
    safetensors_interop.py dump FILE              what the package reads, as JSON
    safetensors_interop.py values FILE            the same through numpy, for dtypes that numpy has
    safetensors_interop.py rewrite FILE NEW_FILE  reads, then writes the same tensors and metadata
    safetensors_interop.py accepts FOLDER         {file name: whether the package opens it}
"""

import json
import os
import sys

import numpy
import safetensors
import safetensors.numpy

# Names in files -> names that the package's writer asks for. It reads the F6 types, but cannot write them.
WRITER_NAMES = {
    "BOOL": "bool",
    "F4": "float4_e2m1fn_x2",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
BITS = {"BOOL": 8, "F4": 4, "BF16": 16}


def bits_of(dtype):
    digits = "".join(c for c in dtype.split("_")[0] if c.isdigit())
    return BITS.get(dtype) or int(digits)


def save(path, tensors, metadata):
    """tensors: [(name, dtype as in files, shape in elements, bytes)]"""
    keep_alive = []
    specs = {}
    for name, dtype, shape, data in tensors:
        buffer = numpy.frombuffer(data or b"\0", dtype=numpy.uint8)
        keep_alive.append(buffer)
        if dtype == "F4":  # the package counts pairs here
            shape = shape[:-1] + [shape[-1] // 2]
        specs[name] = safetensors.TensorSpec(
            dtype=WRITER_NAMES[dtype], shape=shape, data_ptr=buffer.ctypes.data, data_len=len(data))
    with open(path, "wb") as file:
        file.write(bytes(safetensors.serialize(specs, metadata=metadata or None)))


def load(path):
    with open(path, "rb") as file:
        entries = safetensors.deserialize(file.read())
    with safetensors.safe_open(path, framework="np") as file:
        metadata = file.metadata()
    tensors = [(name, e["dtype"], e["shape"], bytes(e["data"])) for name, e in sorted(entries)]
    return tensors, metadata or {}


def write(path):
    tensors = []
    for index, dtype in enumerate(WRITER_NAMES):
        shape = [3, 2, 4]
        size = 24 * bits_of(dtype) // 8
        data = bytes((index * 11 + i * 37) % (2 if dtype == "BOOL" else 256) for i in range(size))
        tensors.append(("layer." + dtype, dtype, shape, data))
    tensors.append(("scalar", "F32", [], b"1234"))
    tensors.append(("empty", "BF16", [0, 7], b""))
    tensors.append(("\u5c42.\U0001f917 \"\\\n\x01", "U8", [1], b"x"))
    save(path, tensors, {"format": "\u20ac"})


def content(path):
    tensors, metadata = load(path)
    return {
        "metadata": metadata,
        "tensors": {name: {"dtype": dtype, "shape": shape, "hex": data.hex()} for name, dtype, shape, data in tensors},
    }


def dump(*paths):
    print(json.dumps({path: content(path) for path in paths}))


def values(path):
    with safetensors.safe_open(path, framework="np") as file:
        print(json.dumps({name: file.get_tensor(name).flatten().tolist() for name in file.keys()}))


def rewrite(path, new_path):
    save(new_path, *load(path))


def accepts(folder):
    result = {}
    for name in os.listdir(folder):
        try:
            load(os.path.join(folder, name))
            result[name] = True
        except safetensors.SafetensorError:
            result[name] = False
    print(json.dumps(result))


def check():
    pass


if __name__ == "__main__":
    commands = {f.__name__: f for f in (check, write, dump, values, rewrite, accepts)}
    commands[sys.argv[1]](*sys.argv[2:])
