#!/usr/bin/env python3
"""Copies oracle cases into golden/drafter without the PyTorch tensors, float64 stages rounded to F32.

Usage: trim_oracle_case.py DESTINATION CASE_DIR...

Of each case's golden.safetensors only the inputs and the float64 stages stay, and these as F32 (half the size; the full
cases stay what they are). What the judge needs of the PyTorch run is kept as numbers in config.json: its recorded errors (there already), and per step the largest absolute difference of its
BF16 logits from the float64 logits (key `torch_bf16_max_abs_logit_error`). The result depends on the input alone.
"""

import json
import os
import shutil
import struct
import sys

TORCH = "torch_bf16."
ELEMENT = {"F64": "d", "F32": "f"}


def read(path):
    """The header and the data of a safetensors file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        return header, file.read()


def numbers(header, data, name):
    entry = header[name]
    begin, end = entry["data_offsets"]
    code = ELEMENT[entry["dtype"]]
    return struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", data[begin:end])


def logit_errors(header, data):
    """Per step that has PyTorch logits: the largest absolute difference from float64."""
    errors = {}
    for name in sorted(header):
        if name.startswith(TORCH) and name.endswith(".logits") and "markov" not in name:
            step = name[len(TORCH):].split(".")[0]
            torch = numbers(header, data, name)
            exact = numbers(header, data, f"f64.{step}.logits")
            errors[step] = max(abs(a - b) for a, b in zip(torch, exact))
    return errors


def narrowed(entry, chunk):
    """A float64 tensor as float32, rounded to nearest even; any other as it is."""
    if entry["dtype"] != "F64":
        return entry, chunk
    values = struct.unpack(f"<{len(chunk) // 8}d", chunk)
    return dict(entry, dtype="F32"), struct.pack(f"<{len(values)}f", *values)


def write_without_torch(path, header, data):
    """Keeps the order of the remaining tensors; offsets close up."""
    kept, chunks, offset = {}, [], 0
    if "__metadata__" in header:
        kept["__metadata__"] = header["__metadata__"]
    entries = [(name, entry) for name, entry in header.items() if name != "__metadata__" and not name.startswith(TORCH)]
    for name, entry in sorted(entries, key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        entry, chunk = narrowed(entry, data[begin:end])
        kept[name] = dict(entry, data_offsets=[offset, offset + len(chunk)])
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(kept, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = path + ".tmp"
    with open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    os.replace(temporary, path)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    destination = sys.argv[1]
    for source in sys.argv[2:]:
        target = os.path.join(destination, os.path.basename(os.path.normpath(source)))
        os.makedirs(target, exist_ok=True)
        header, data = read(os.path.join(source, "golden.safetensors"))
        with open(os.path.join(source, "config.json")) as file:
            config = json.load(file)
        config["torch_bf16_max_abs_logit_error"] = logit_errors(header, data)
        with open(os.path.join(target, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        shutil.copyfile(os.path.join(source, "model.safetensors"), os.path.join(target, "model.safetensors"))
        write_without_torch(os.path.join(target, "golden.safetensors"), header, data)


if __name__ == "__main__":
    main()
