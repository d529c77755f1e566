"""Sparse dumps of numpy_drafter.py with mistakes that nobody lists, for unlisted_dumps_test.cc: nothing should be named.

    unlisted_dumps.py check         fails if the packages are absent
    unlisted_dumps.py write FOLDER  as numpy_dumps.py
"""

import json
import os
import sys

import numpy as np

from numpy_drafter import Drafter
from numpy_dumps import GEOMETRIES, SPARSE, Writer


def attention(change):
    """A Drafter whose attention takes changed (q, keys, values, seen)."""
    def changed(self, layer, q, keys, values, seen):
        return Drafter.attention(self, layer, *change(q, keys, values, seen.copy()))
    return {"attention": changed}


def mask(hide):
    def change(q, keys, values, seen):
        hide(seen, keys.shape[0] - len(q), np.arange(len(q)))
        return q, keys, values, seen
    return attention(change)


def no_first_key(seen, context, rows):
    seen[:, 0] = False


def no_last_context_row(seen, context, rows):
    seen[:, context - 1] = False


def not_itself(seen, context, rows):
    seen[rows, context + rows] = False


def block_alone(seen, context, rows):
    seen[:, :context] = False


def theta(factor):
    def rope_table(self):
        right, self.c = self.c, dict(self.c, theta=self.c["theta"] * factor)
        table = Drafter.rope_table(self)
        self.c = right
        return table
    return {"rope_table": rope_table}


def relu(self, z, w):
    gate, up = self.linear(z, w["gate_proj"]), self.linear(z, w["up_proj"])
    return self.linear(self.rne(np.maximum(gate, 0) * up), w["down_proj"])


BUGS = {
    "relu": {"mlp": relu},
    "scores-times-1.02": attention(lambda q, k, v, seen: (q * 1.02, k, v, seen)),
    "scores-times-0.8": attention(lambda q, k, v, seen: (q * 0.8, k, v, seen)),
    "theta-times-1.7": theta(1.7),
    "theta-times-3": theta(3),
    "theta-times-10": theta(10),
    "no-first-key": mask(no_first_key),
    "no-last-context-row": mask(no_last_context_row),
    "not-itself": mask(not_itself),
    "block-alone": mask(block_alone),
    "context-of-next-layer": {
        "context_kv": lambda self, layer, hidden: Drafter.context_kv(self, (layer + 1) % self.c["layers"], hidden)},
    "embedding-times-1.2": {"embed": lambda self, tokens: self.rne(Drafter.embed(self, tokens) * 1.2)},
    "keys-in-quarters": attention(lambda q, k, v, seen: (q, np.round(k * 4) / 4, v, seen)),
}
KINDS = dict(SPARSE, outputs=(".output", "k_new"))


def write(root):
    expected = []
    for geometry, rounding in (("dflash", "bf16"), ("causal", "bf16"), ("yarn", "bf16"), ("dspark_rnn", "hf")):
        writer = Writer(root, geometry, [], GEOMETRIES[geometry][0])
        for bug, methods in BUGS.items():
            wrong = type("Wrong", (Drafter,), methods)(writer.c, writer.weights, rounding).run(writer.bands)
            for kind, only in KINDS.items():
                writer.add(f"{bug}_{kind}", wrong, None, None, only)
        # End to end a small one is no more than rounding.
        expected += [dict(entry, may_agree=True) for entry in writer.expected]
    with open(os.path.join(root, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)


def check():
    pass


if __name__ == "__main__":
    {"check": check, "write": write}[sys.argv[1]](*sys.argv[2:])
