"""Small drafters, their inputs, and dumps of numpy_drafter.py with one mistake each, for diagnose_dumps_test.cc.

    numpy_dumps.py check         fails if the packages are absent
    numpy_dumps.py write FOLDER  FOLDER/GEOMETRY/{config.json, model.safetensors, inputs.safetensors,
                                 *.safetensors} and FOLDER/expected.json: what a diagnosis of each
                                 dump should say
"""

import json
import os
import sys

import numpy as np
import safetensors

from numpy_drafter import LOCATED, UNLISTED, Drafter, bf16

BASE = dict(
    kind="dflash", convention="A", h=48, layers=2, nq=6, nkv=2, d=16, I=96, V=211, gamma=8, taps=3, h_t=40, eps=1e-5,
    theta=5e5, partial=1.0, pairing_of_head=False, yarn=None, sliding=[True, False], causal=[False, False], window=9,
    bias=False, sinks=False, mask_embedding=False, embed_scale=1.0, multiplier=1.0, softcap=None,
    conv_taps=0, conv_group=8, selector_rank=0, top_k=16, markov_rank=0, markov_type="vanilla", confidence=False, hot=1.0, tap_scale=1.0)

GENERAL = """taps-reversed taps-rotated hidden-norm-missing context-input-norm kv-swapped kv-grouped context-position-high
    context-position-low context-position-from-slot context-unrotated slide-not-rewritten stale-block-rows anchor-as-mask
    norm-plus-one qk-norm-missing qk-norm-no-weight qk-norm-after-rope final-norm-missing residual-after-norm
    rope-interleaved rope-backwards rope-theta-1e4 rope-theta-1e6 rope-width-64 rope-width-128 rope-bf16-frequencies
    yarn-4-of-32768 yarn-32-of-4096 yarn-64-of-4096 block-position-from-slot block-position-high block-position-low
    block-position-stale query-unrotated scale-missing scale-by-width scale-of-64 scale-of-128 causal-everywhere
    sliding-causal window-ignored window-one-more window-one-less mask-by-slot gqa-modulo value-normed value-rotated
    stale-kv-length band-zero-context band-zero-arguments band-zero-positions band-zero-logits gate-up-swapped gelu
    row-zero-used""".split()

# name -> (what differs from BASE, mistakes that show there)
GEOMETRIES = {
    "dflash": (dict(), GENERAL),
    "causal": (
        dict(causal=[True, True], bias=True, sinks=True, mask_embedding=True, embed_scale=6.5,
             multiplier=0.37, softcap=2.0, hot=7.0),
        """sliding-not-causal full-not-causal sinks-ignored bias-dropped mask-embedding-ignored embed-scale-missing
        swiglu-clamp-10 swiglu-clamp-7 multiplier-missing softcap-missing softcap-first""".split()),
    "wide": (dict(gamma=70, layers=1, sliding=[False], causal=[False], V=101),
             ["key-loop-tile-16", "key-loop-tile-32", "key-loop-tile-64"]),
    "small": (dict(tap_scale=2e-3, embed_scale=0.01), ["epsilon-1e-6"]),
    "smaller": (dict(tap_scale=1e-3, embed_scale=0.005, eps=1e-6), ["epsilon-1e-5"]),
    "yarn": (dict(d=32, nq=4, yarn=dict(factor=8.0, original=32.0, beta_fast=8.0, beta_slow=1.0,
                                        mscale=1.0, mscale_all_dim=0.5)),
             ["yarn-ignored", "yarn-no-amplitude", "yarn-plain-amplitude"]),
    "partial": (dict(partial=0.5), ["rope-other-pairing", "rope-full-width"]),
    "ties": (dict(V=1100), ["tie-last-id", "tie-modulo-1024"]),
    "dflash2": (
        dict(kind="dflash2", conv_taps=2, selector_rank=12),
        """context-conv conv-crosses-bands conv-crosses-blocks conv-dynamic-of-source conv-sides-swapped conv-other-dynamic
        conv-taps-reversed conv-no-dynamic logits-after-top-k logits-stale-top-k selector-independent selector-viterbi
        selector-swapped selector-prev-anchor band-zero-anchor row-zero-used gqa-modulo""".split()),
    "dspark": (
        dict(kind="dspark", convention="B", markov_rank=8, confidence=True),
        """markov-missing markov-row-zero-exempt markov-prev-unbiased markov-prev-anchor markov-swapped confidence-no-markov
        confidence-order confidence-stale row-zero-dropped rows-rotated band-zero-anchor gqa-modulo""".split()),
    "dspark_rnn": (dict(kind="dspark", convention="B", markov_rank=8, markov_type="rnn"), ["rnn-state-lost"]),
    "dspark_gated": (dict(kind="dspark", convention="B", markov_rank=8, markov_type="gated"), ["markov-missing"]),
    "dspark_in_place": (dict(kind="dspark", convention="A", markov_rank=8), ["markov-prev-row-zero", "row-zero-used"]),
}

WRITER_NAMES = {"BF16": "bfloat16", "F32": "float32", "U32": "uint32", "I64": "int64"}
EXACT_F32 = ("margin", "selector.unary", "selector.scores", "selector.topk_gap")


def save(path, tensors):
    """tensors: name -> (dtype as in files, array)."""
    keep, specs = [], {}
    for name, (dtype, array) in tensors.items():
        if dtype == "BF16":
            bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
            data = (bits >> 16).astype(np.uint16)
        else:
            data = np.ascontiguousarray(array, dtype={"F32": np.float32, "U32": np.uint32, "I64": np.int64}[dtype])
        keep.append(data)
        specs[name] = safetensors.TensorSpec(dtype=WRITER_NAMES[dtype], shape=list(array.shape),
                                             data_ptr=data.ctypes.data, data_len=data.nbytes)
    with open(path, "wb") as file:
        file.write(bytes(safetensors.serialize(specs, metadata=None)))


def config_json(c):
    types = ["sliding_attention" if s else "full_attention" for s in c["sliding"]]
    rope = {"rope_type": "default"}
    if c["yarn"]:
        rope = {"rope_type": "yarn", "factor": c["yarn"]["factor"],
                "original_max_position_embeddings": c["yarn"]["original"],
                **{k: c["yarn"][k] for k in ("beta_fast", "beta_slow", "mscale", "mscale_all_dim")}}
    scheme = {"target_layer_ids": [1, 5, 9][: c["taps"]], "mask_token_id": c["V"] - 3, "target_hidden_size": c["h_t"],
              "output_multiplier": c["multiplier"], "input_embedding_scale": c["embed_scale"]}
    if c["softcap"]:
        scheme["final_logit_softcapping"] = c["softcap"]
    if c["conv_taps"]:
        scheme.update(conv_kernel_size=c["conv_taps"], conv_group_size=c["conv_group"],
                      selector_rank=c["selector_rank"], selector_top_k=c["top_k"])
    config = {
        "hidden_size": c["h"], "num_hidden_layers": c["layers"], "num_attention_heads": c["nq"],
        "num_key_value_heads": c["nkv"], "head_dim": c["d"], "intermediate_size": c["I"], "vocab_size": c["V"],
        "block_size": c["gamma"], "rms_norm_eps": c["eps"], "rope_theta": c["theta"], "attention_bias": c["bias"],
        "layer_types": types, "sliding_window": c["window"], "is_causal": c["causal"][0], "num_target_layers": 12,
        "rope_parameters": rope, "partial_rotary_factor": c["partial"], **scheme}
    if c["markov_rank"]:
        config.update(markov_rank=c["markov_rank"], markov_head_type=c["markov_type"],
                      enable_confidence_head=c["confidence"], confidence_head_with_markov=c["confidence"])
    if c["kind"] == "dspark" and c["convention"] == "A":
        config.update(name="in_place", kind="dspark", row_convention="A")
    else:
        family = {"dflash": "DFlash", "dflash2": "DFlash2", "dspark": "DSpark"}[c["kind"]]
        config["architectures"] = [family + "DraftModel"]
    return config


def make_weights(c, rng):
    matrix = lambda rows, cols, scale=1.0: bf16(rng.uniform(-1, 1, (rows, cols)) * scale * np.sqrt(3 / cols))
    norm = lambda width: bf16(rng.uniform(0.5, 1.5, width))
    q_dim, kv_dim, h, hot = c["nq"] * c["d"], c["nkv"] * c["d"], c["h"], c["hot"]
    w = {"fc": matrix(h, c["taps"] * c["h_t"]), "hidden_norm": norm(h), "norm": norm(h), "layers": []}
    for _ in range(c["layers"]):
        layer = {"input_layernorm": norm(h), "post_attention_layernorm": norm(h), "q_proj": matrix(q_dim, h),
                 "k_proj": matrix(kv_dim, h), "v_proj": matrix(kv_dim, h), "o_proj": matrix(h, q_dim),
                 "q_norm": norm(c["d"]), "k_norm": norm(c["d"]), "gate_proj": matrix(c["I"], h, hot),
                 "up_proj": matrix(c["I"], h, hot), "down_proj": matrix(h, c["I"], 1 / hot)}
        if c["bias"]:
            for name, width in (("q", q_dim), ("k", kv_dim), ("v", kv_dim), ("o", h)):
                layer[name + "_bias"] = bf16(rng.uniform(-1, 1, width))
        if c["sinks"]:
            layer["sinks"] = bf16(rng.uniform(0, 2, c["nq"]))
        if c["conv_taps"]:
            for site in ("attention_conv", "mlp_conv"):
                base = rng.uniform(-0.7, 0.7, (2, c["conv_taps"], h)) + np.array([1.0, 0.3])[None, :, None]
                layer[site] = {"base": bf16(base),
                               "projection": matrix(2 * c["conv_taps"] * h // c["conv_group"], h, 0.4)}
        w["layers"].append(layer)
    w["embed"], w["lm_head"] = matrix(c["V"], h), matrix(c["V"], h)
    if c["V"] > 1024:  # three ids whose logits tie: lowest 5, smallest modulo 1024 is 1025, last 1090
        w["lm_head"][[5, 1025, 1090]] = bf16(6 * w["lm_head"][5])
    if c["mask_embedding"]:
        w["mask_embedding"] = bf16(rng.uniform(-1, 1, h) / np.sqrt(h))
    if c["selector_rank"]:
        w["predecessor"] = bf16(rng.uniform(-1, 1, (c["V"], c["selector_rank"])) * 2)
        w["successor"] = bf16(rng.uniform(-1, 1, (c["V"], c["selector_rank"])) * 2)
        w["selector_projection"] = matrix(c["selector_rank"], h)
    if c["markov_rank"]:
        r = c["markov_rank"]
        w["markov_w1"], w["markov_w2"] = (bf16(rng.uniform(-1.3, 1.3, (c["V"], r))) for _ in range(2))
        if c["markov_type"] == "gated":
            w["markov_gate"], w["markov_gate_bias"] = matrix(r, h + r), bf16(rng.uniform(-1, 1, r))
        if c["markov_type"] == "rnn":
            w["markov_joint"], w["markov_joint_bias"] = matrix(3 * r, 2 * r + h), bf16(rng.uniform(-1, 1, 3 * r))
        if c["confidence"]:
            w["confidence_w"], w["confidence_b"] = matrix(1, h + r), bf16(rng.uniform(-1, 1, 1))
    return w


def checkpoint(c, w):
    names = {"fc.weight": w["fc"], "hidden_norm.weight": w["hidden_norm"], "norm.weight": w["norm"],
             "embed_tokens.weight": w["embed"], "lm_head.weight": w["lm_head"]}
    for i, layer in enumerate(w["layers"]):
        p = f"layers.{i}."
        for key, value in layer.items():
            if key.endswith("layernorm"):
                names[f"{p}{key}.weight"] = value
            elif key in ("gate_proj", "up_proj", "down_proj"):
                names[f"{p}mlp.{key}.weight"] = value
            elif key.endswith("_conv"):
                names[f"{p}{key}.base_kernel"] = value["base"]
                names[f"{p}{key}.kernel_projection.weight"] = value["projection"]
            elif key == "sinks":
                names[f"{p}self_attn.sinks"] = value
            elif key.endswith("_bias"):
                names[f"{p}self_attn.{key[0]}_proj.bias"] = value
            else:
                names[f"{p}self_attn.{key}.weight"] = value
    others = {"mask_embedding": "mask_embedding", "predecessor": "candidate_selector.predecessor_codebook",
              "successor": "candidate_selector.successor_codebook",
              "selector_projection": "candidate_selector.hidden_projection.weight",
              "markov_w1": "markov_head.markov_w1.weight", "markov_w2": "markov_head.markov_w2.weight",
              "markov_gate": "markov_head.gate_proj.weight", "markov_gate_bias": "markov_head.gate_proj.bias",
              "markov_joint": "markov_head.joint_proj.weight", "markov_joint_bias": "markov_head.joint_proj.bias",
              "confidence_w": "confidence_head.proj.weight", "confidence_b": "confidence_head.proj.bias"}
    names.update({name: w[key] for key, name in others.items() if key in w})
    return {name: ("BF16", value) for name, value in names.items()}


def make_bands(c, rng):
    """Two sequences of three steps: gaps in the positions, different contexts, a slide at the last step."""
    bands = []
    for rows, starts, drops in (((14, 4, 3), (34, 38, 45), (0, 0, 6)), ((19, 2, 5), (27, 29, 36), (0, 0, 4))):
        steps = []
        for n, start, drop in zip(rows, starts, drops):
            tokens = [int(rng.integers(0, c["V"] - 10))] + [c["V"] - 3] * (c["gamma"] - 1)
            hidden = bf16(rng.normal(0, c["tap_scale"], (n, c["taps"] * c["h_t"])))
            steps.append({"hidden": hidden, "tokens": tokens, "start": start, "drop": drop})
        bands.append(steps)
    return bands


def inputs_file(bands):
    tensors = {}
    for b, steps in enumerate(bands):
        for s, call in enumerate(steps):
            p = f"step{s}." + (f"band{b}." if b else "") + "inputs."
            tensors[p + "target_hidden"] = ("BF16", call["hidden"])
            tensors[p + "block_tokens"] = ("U32", np.array(call["tokens"]))
            tensors[p + "start"] = ("I64", np.array([call["start"]]))
            if call["drop"]:
                tensors[p + "drop_front_rows"] = ("I64", np.array([call["drop"]]))
    return tensors


def dump_file(dump, floats):
    tensors = {}
    for name, value in dump.items():
        stage = name.split(".", 2)[2] if ".band" in name else name.split(".", 1)[1]
        ids = stage in ("draft_tokens", "selector.candidate_ids")
        tensors[name] = ("U32" if ids else "F32" if stage in EXACT_F32 else floats, value)
    return tensors


def first_difference(clean, wrong):
    for name, value in clean.items():
        if value.shape != wrong[name].shape or not np.array_equal(value, wrong[name]):
            return name
    return None


# Where the first difference is no first stage off: the norm hides the scale but for its epsilon, and
# the selector's walk is judged along the tokens that the run itself chose.
FIRST = {"embed-scale-missing": "step0.layers.0.post_attention_layernorm",
         "selector-independent": "step0.draft_tokens", "selector-viterbi": "step0.draft_tokens"}

CHOSEN = ("draft_tokens", "margin", "selector.candidate_ids", "selector.unary", "selector.scores",
          "selector.topk_gap", "markov.logits", "confidence_logits")
# Of these little is enough to be named.
SPARSE_HEADS = {"dflash2": ("conv-sides-swapped", "selector-independent", "selector-prev-anchor", "row-zero-used"),
                "dspark": ("markov-missing", "markov-prev-unbiased", "row-zero-dropped", "rows-rotated")}
SPARSE = {"logits": ("logits", "draft_tokens"), "tokens": ("draft_tokens",)}


class Writer:
    def __init__(self, root, geometry, mistakes, overrides):
        self.root, self.geometry = root, geometry
        self.c = dict(BASE, **overrides)
        rng = np.random.default_rng(abs(hash_of(geometry)))
        self.weights, self.bands = make_weights(self.c, rng), make_bands(self.c, rng)
        self.folder = os.path.join(root, geometry)
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "config.json"), "w") as file:
            json.dump(config_json(self.c), file, indent=1)
        save(os.path.join(self.folder, "model.safetensors"), checkpoint(self.c, self.weights))
        save(os.path.join(self.folder, "inputs.safetensors"), inputs_file(self.bands))
        self.mistakes = mistakes
        self.expected = []

    def run(self, rounding="bf16", bug=None):
        return Drafter(self.c, self.weights, rounding, bug).run(self.bands)

    def add(self, name, dump, mistake, first, only=None, floats="BF16", mutant=None):
        """`mistake` is a name, "" for a dump that agrees, or None for one that nothing should explain: then
        `mutant` may say which of mutants.cc it is."""
        kept = {k: v for k, v in dump.items() if only is None or k.endswith(only)}
        save(os.path.join(self.folder, name + ".safetensors"), dump_file(kept, floats))
        self.expected.append({"folder": self.geometry, "dump": name, "mistake": mistake, "first": first,
                              "mutant": mutant})

    def write(self):
        clean = self.run()
        self.add("clean", clean, "", "")
        self.add("hf", self.run("hf"), "", "")
        self.add("unrounded", self.run("none"), "", "", floats="F32")
        # Without what was chosen before the rounding: that cannot be told from wrong ties.
        values = {k: v for k, v in self.run("none").items() if not k.endswith(CHOSEN)}
        self.add("unrounded_dumped_as_bf16", values, "", "")
        for kind, only in SPARSE.items():
            self.add(f"clean_{kind}", clean, "", "", only)
            self.add(f"hf_{kind}", self.run("hf"), "", "", only)
        for mistake in self.mistakes:
            wrong = self.run(bug=mistake)
            first = first_difference(clean, wrong)
            assert first is not None, f"{self.geometry}: {mistake} leaves no trace"
            self.add(mistake, wrong, mistake, FIRST.get(mistake, first))
        for mistake in SPARSE_HEADS.get(self.geometry, ()):
            for kind, only in SPARSE.items():
                self.add(f"{mistake}_{kind}", self.run(bug=mistake), mistake, None, only)
            # Tokens alone do not say which of two near ties a walk went through.
            self.add(f"hf_{mistake}_logits", self.run("hf", mistake), mistake, None, SPARSE["logits"])
        for mistake in self.mistakes[::4]:
            self.add("hf_" + mistake, self.run("hf", mistake), mistake, None)
        return self.expected

    def write_unlisted(self):
        clean = self.run()
        for bug in UNLISTED:
            wrong = self.run(bug=bug)
            self.add(bug, wrong, None, first_difference(clean, wrong))
            for kind, only in SPARSE.items():
                self.add(f"{bug}_{kind}", wrong, None, None, only)
        for bug, mutant in LOCATED.items():
            wrong = self.run(bug=bug)
            self.add(bug, wrong, None, first_difference(clean, wrong), mutant=mutant)
        for pair in ("gate-up-swapped+gqa-modulo", "kv-swapped+row-zero-used"):
            wrong = self.run(bug=pair)
            self.add(pair.replace("+", "_and_"), wrong, pair.replace("+", " and "), first_difference(clean, wrong))
        # Taps of another layer: what should have been there is not in the inputs.
        shifted = [[dict(call, hidden=bf16(call["hidden"][:, ::-1])) for call in steps] for steps in self.bands]
        self.add("taps_of_another_layer", Drafter(self.c, self.weights).run(shifted), None, "step0.fc")
        for mistake in ("gqa-modulo", "kv-swapped", "causal-everywhere", "row-zero-used", "qk-norm-missing"):
            wrong = self.run(bug=mistake)
            for kind, only in SPARSE.items():
                self.add(f"{mistake}_{kind}", wrong, mistake, None, only)


def hash_of(text):
    value = 7
    for char in text:
        value = (value * 31 + ord(char)) % 1000003
    return value


def write(root):
    expected = []
    for geometry, (overrides, mistakes) in GEOMETRIES.items():
        writer = Writer(root, geometry, mistakes, overrides)
        writer.write()
        if geometry == "dflash":
            writer.write_unlisted()
        expected += writer.expected
    with open(os.path.join(root, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)


def check():
    pass


if __name__ == "__main__":
    {"check": check, "write": write}[sys.argv[1]](*sys.argv[2:])
