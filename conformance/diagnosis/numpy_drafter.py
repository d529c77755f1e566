"""An independent forward of small drafters in NumPy, written from spec/drafter.md, that can be wrong on purpose.

    Drafter(config, weights, rounding="bf16", bug="gqa-modulo").run(bands) -> {tensor name: array}

`rounding` is "bf16" (one rounding at each of the normative points), "hf" (the chains of a PyTorch
BF16 model) or "none". `bug` is the name of one mistake of conformance/plain/mistakes.h, two joined
by "+", one of UNLISTED or LOCATED, or None. `bands` is a list of lists of steps:
{"hidden": [n, L_t * h_t], "tokens": [gamma], "start": int, "drop": int}.
"""

import math

import numpy as np

from numpy_heads import Heads, bf16, sigmoid

UNLISTED = ("x-scores-times-1.1", "x-up-tanh", "x-residual-0.9", "x-heads-reversed", "x-logits-of-next-row")
# Mutants of spec/drafter.md section 13 that depend on what the inputs do not say: mutants.cc calls them located.
LOCATED = {"x-rejected-taps-appended": "M2", "x-slots-read-as-i64": "M11", "x-negative-slot-written": "M13",
           "x-nan-of-padded-rows": "M19", "x-stale-graph-rows": "M21"}


class Drafter(Heads):
    def __init__(self, config, weights, rounding="bf16", bug=None):
        self.c, self.w, self.rounding, self.bug = config, weights, rounding, bug
        self.bugs = set((bug or "").split("+"))
        self.frequency, self.amplitude = self.rope_table()

    def is_(self, *names):
        return not self.bugs.isdisjoint(names)

    def rne(self, x):
        return np.asarray(x, dtype=np.float64) if self.rounding == "none" else bf16(x)

    def hf(self, x):
        """A rounding that only Hugging Face's chains make."""
        return bf16(x) if self.rounding == "hf" else x

    # Building blocks.

    def linear(self, x, weight, bias=None):
        y = x @ weight.T
        return self.rne(y if bias is None or self.is_("bias-dropped") else y + bias)

    def rms(self, x, weight):
        eps = {"epsilon-1e-6": 1e-6, "epsilon-1e-5": 1e-5}.get(self.bug, self.c["eps"])
        scaled = self.hf(x / np.sqrt((x * x).mean(-1, keepdims=True) + eps))
        if self.is_("norm-plus-one"):
            weight = 1 + weight
        return self.rne(scaled * weight)

    def head_norm(self, x, weight):
        if self.is_("qk-norm-missing"):
            return x
        return self.rms(x, np.ones_like(weight) if self.is_("qk-norm-no-weight") else weight)

    def rope_table(self):
        c = self.c
        rotary = int(round(c["d"] * c["partial"]))
        if self.is_("rope-full-width"):
            rotary = c["d"]
        base = {"rope-theta-1e4": 1e4, "rope-theta-1e6": 1e6}.get(self.bug, c["theta"])
        width = {"rope-width-64": 64, "rope-width-128": 128}.get(self.bug, rotary)
        f = base ** (-2.0 * np.arange(rotary // 2) / width)
        yarn = c.get("yarn") and dict(c["yarn"])
        constant = {"yarn-4-of-32768": (4, 32768), "yarn-32-of-4096": (32, 4096), "yarn-64-of-4096": (64, 4096)}
        if self.bug in constant:
            yarn = {"factor": constant[self.bug][0], "original": constant[self.bug][1]}
        amplitude = 1.0
        if yarn and not self.is_("yarn-ignored"):
            s, n0 = yarn["factor"], yarn["original"]
            where = lambda turns: rotary * np.log(n0 / (2 * np.pi * turns)) / (2 * np.log(base))
            low = max(np.floor(where(yarn.get("beta_fast", 32))), 0)
            high = min(np.ceil(where(yarn.get("beta_slow", 1))), rotary - 1)
            ramp = np.clip((np.arange(rotary // 2) - low) / ((high - low) or 1e-3), 0, 1)
            f = ramp * f / s + (1 - ramp) * f
            m = lambda z: 1 + 0.1 * z * np.log(s)
            amplitude = m(yarn["mscale"]) / m(yarn["mscale_all_dim"]) if "mscale" in yarn else m(1)
            if self.is_("yarn-no-amplitude"):
                amplitude = 1.0
            if self.is_("yarn-plain-amplitude"):
                amplitude = m(1)
        if self.is_("rope-bf16-frequencies"):
            f = bf16(f)
        return f.astype(np.float32), amplitude

    def rope(self, x, positions):
        """x [rows, heads, d], one position per row."""
        angle = np.asarray(positions, dtype=np.float32)[:, None] * self.frequency[None, :]
        cos = self.hf(np.cos(angle.astype(np.float64)) * self.amplitude)[:, None, :]
        sin = self.hf(np.sin(angle.astype(np.float64)) * self.amplitude)[:, None, :]
        if self.is_("rope-backwards"):
            sin = -sin
        half = len(self.frequency)
        first = np.arange(half)
        of_head = self.c["pairing_of_head"] != self.is_("rope-other-pairing")
        second = first + (self.c["d"] // 2 if of_head else half)
        if self.is_("rope-interleaved"):
            first, second = 2 * first, 2 * first + 1
        a, b = x[..., first], x[..., second]
        y = x.copy()
        y[..., first] = self.rne(self.hf(a * cos) - self.hf(b * sin))
        y[..., second] = self.rne(self.hf(b * cos) + self.hf(a * sin))
        return y

    # The context path.

    def taps(self, hidden):
        parts = np.split(hidden, self.c["taps"], axis=1)
        if self.is_("taps-reversed"):
            parts = parts[::-1]
        if self.is_("taps-rotated"):
            parts = parts[-1:] + parts[:-1]
        return np.concatenate(parts, axis=1)

    def context_kv(self, layer, hidden):
        """Keys and values of context rows before norm and RoPE, [n, kv_dim] each."""
        w = self.w["layers"][layer]
        if self.is_("context-input-norm"):
            hidden = self.rms(hidden, w["input_layernorm"])
        if self.is_("context-conv"):
            dyn = self.linear(hidden, w["attention_conv"]["projection"])
            hidden = self.conv(hidden, dyn, w["attention_conv"]["base"], 0, None)
        blocks = []
        for l in self.w["layers"]:
            blocks += [(l["k_proj"], l.get("k_bias")), (l["v_proj"], l.get("v_bias"))]
        at = (2 * layer, 2 * layer + 1)
        if self.is_("kv-swapped"):
            at = at[::-1]
        if self.is_("kv-grouped"):
            at = (layer, self.c["layers"] + layer)
        return [self.linear(hidden, *blocks[i]) for i in at]

    def conv(self, v, dyn, base, side, before):
        """v [rows, h], dyn [rows, 2 K G_n], base [2, K, h]; `before` is the row ahead of row 0 or None."""
        c = self.c
        rows, h = v.shape
        taps, groups = c["conv_taps"], h // c["conv_group"]
        if self.is_("conv-sides-swapped"):
            side = 1 - side
        dyn = np.repeat(dyn.reshape(rows, 2, taps, groups)[:, side], c["conv_group"], axis=-1)
        if self.is_("conv-no-dynamic"):
            dyn = np.zeros_like(dyn)
        acc = np.zeros_like(v)
        for o in range(taps):
            tap = taps - 1 - o if self.is_("conv-taps-reversed") else o
            shifted = np.zeros_like(v)
            shifted[o:] = v[: rows - o]
            if before is not None and o == 1:
                shifted[0] = before
            kernel = dyn[:, tap]
            if self.is_("conv-dynamic-of-source"):
                kernel = np.concatenate([kernel[:o], kernel[: rows - o]])
            if self.rounding == "hf":
                acc = bf16(acc + bf16(base[side, tap] * shifted))
                acc = bf16(acc + kernel * shifted)
            else:
                acc = acc + (base[side, tap] + kernel) * shifted
        return self.rne(acc)

    # The block.

    def conv_before(self, key, v, band, step):
        """What the wrong implementations have ahead of row 0; remembers this block's last row."""
        before = None
        if self.is_("conv-crosses-blocks") and step > 0:
            before = self.last[band, key]
        if self.is_("conv-crosses-bands") and band > 0:
            before = self.last[band - 1, key]
        self.last[band, key] = v[-1]
        return before

    def visible(self, layer, rows, key_pos, context, band, step):
        """[rows, keys] of bool."""
        c = self.c
        sliding, causal = c["sliding"][layer], c["causal"][layer]
        keys = context + rows
        positions = np.asarray(key_pos)
        if self.is_("mask-by-slot"):
            positions = np.arange(keys)
        distance = (self.p0 + np.arange(rows))[:, None] - positions[None, :]
        if self.is_("causal-everywhere") or (self.is_("sliding-causal") and sliding):
            causal = True
        if (self.is_("sliding-not-causal") and sliding) or (self.is_("full-not-causal") and not sliding):
            causal = False
        seen = np.ones((rows, keys), dtype=bool)
        if causal:
            seen &= distance >= 0
        if sliding and not self.is_("window-ignored"):
            window = c["window"] + {"window-one-more": 1, "window-one-less": -1}.get(self.bug, 0)
            seen &= np.abs(distance) < window
        limit = np.full(rows, keys)
        if self.is_("stale-kv-length") and step > 0:
            limit[:] = self.kv_len[band][step - 1]
        if self.is_("band-zero-arguments"):
            limit[:] = self.kv_len[0][step]
        for tile in (16, 32, 64):
            if self.is_(f"key-loop-tile-{tile}") and not c["causal"][layer]:
                limit = np.minimum(limit, context + (np.arange(rows) // tile + 1) * tile)
        return seen & (np.arange(keys)[None, :] < limit[:, None])

    def attention(self, layer, q, keys, values, seen):
        c = self.c
        rows = q.shape[0]
        group = np.arange(c["nq"]) // (c["nq"] // c["nkv"])
        if self.is_("gqa-modulo"):
            group = np.arange(c["nq"]) % c["nkv"]
        scale = c["d"] ** -0.5
        scale = {"scale-missing": 1, "scale-by-width": 1 / c["d"], "scale-of-64": 64 ** -0.5,
                 "scale-of-128": 128 ** -0.5, "x-scores-times-1.1": 1.1 * scale}.get(self.bug, scale)
        scores = np.einsum("jhd,mhd->hjm", q, keys[:, group]) * scale
        scores = np.where(seen[None], scores, -np.inf)
        sinks = self.w["layers"][layer].get("sinks")
        if self.is_("sinks-ignored"):
            sinks = None
        top = scores.max(-1, keepdims=True)
        if sinks is not None:
            top = np.maximum(top, sinks[:, None, None])
        top = np.where(np.isfinite(top), top, 0)  # a row that sees no key gives 0
        p = np.exp(scores - top)
        total = p.sum(-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sinks[:, None, None] - top)
        out = np.einsum("hjm,mhd->jhd", self.hf(p / np.where(total > 0, total, 1)), values[:, group])
        if self.is_("x-heads-reversed"):
            out = out[:, ::-1]
        return self.rne(out).reshape(rows, -1)

    def mlp(self, z, w):
        gate, up = self.linear(z, w["gate_proj"]), self.linear(z, w["up_proj"])
        if self.is_("gate-up-swapped"):
            gate, up = up, gate
        limit = {"swiglu-clamp-10": 10, "swiglu-clamp-7": 7}.get(self.bug)
        if limit:
            gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
        act = gate * sigmoid(gate)
        if self.is_("gelu"):
            act = gate * 0.5 * (1 + np.vectorize(math.erf)(gate / 2 ** 0.5))
        if self.is_("x-up-tanh"):
            up = np.tanh(up)
        return self.linear(self.rne(self.hf(act) * up), w["down_proj"])

    def embed(self, tokens):
        x = self.w["embed"][tokens]
        mask = self.w.get("mask_embedding")
        if mask is not None and not self.is_("mask-embedding-ignored"):
            x[1:] = mask
        if self.is_("anchor-as-mask"):
            x[0] = x[1]
        return self.rne(x * (1 if self.is_("embed-scale-missing") else self.c["embed_scale"]))

    def step(self, out, step, band, bands):
        c, w = self.c, self.w
        call, state = bands[band][step], self.state[band]
        put = lambda stage, value: out.__setitem__(stage, value)
        hidden_in, tokens, drop = call["hidden"], np.asarray(call["tokens"]), call["drop"]
        n, rows = len(hidden_in), len(tokens)
        self.p0 = call["start"]
        old = len(state["pos"]) - drop
        state["pos"] = state["pos"][drop:] + [call["start"] - n + i for i in range(n)]
        for kv in state["kv"]:
            for i in (0, 1):
                kv[i] = kv[i][:old] if self.is_("slide-not-rewritten") else kv[i][drop:]
        context = len(state["pos"])
        self.kv_len[band][step] = context + rows

        fc = self.linear(self.taps(hidden_in), w["fc"])
        put("fc", fc)
        hidden = fc if self.is_("hidden-norm-missing") else self.rms(fc, w["hidden_norm"])
        put("hidden_norm", hidden)

        ctx_pos = np.arange(call["start"] - n, call["start"])
        ctx_pos = ctx_pos + {"context-position-high": 1, "context-position-low": -1}.get(self.bug, 0)
        if self.is_("context-position-from-slot"):
            ctx_pos = np.arange(old, old + n)
        first = call["start"] + {"block-position-high": 1, "block-position-low": -1}.get(self.bug, 0)
        if self.is_("block-position-from-slot"):
            first = context
        if self.is_("block-position-stale") and step > 0:
            first = bands[band][step - 1]["start"]
        if self.is_("band-zero-positions"):
            first = bands[0][step]["start"]
        blk_pos = np.arange(first, first + rows)

        x = self.embed(tokens)
        for l, lw in enumerate(w["layers"]):
            x = self.layer(put, l, lw, x, hidden, ctx_pos, blk_pos, state, band, step)
        if self.is_("stale-block-rows"):
            state["pos"] += list(blk_pos)
            for kv, block in zip(state["kv"], state["block"]):
                for i in (0, 1):
                    kv[i] = np.concatenate([kv[i], block[i]])
        if self.is_("x-rejected-taps-appended"):
            self.append_rejected(state, step)
        self.tail(put, x, tokens, band, step, bands)

    def append_rejected(self, state, step):
        """Context rows after the verified ones, of taps that are not in the inputs."""
        rows = 3
        taps = bf16(np.random.default_rng(step).normal(0, self.c["tap_scale"], (rows, self.c["taps"] * self.c["h_t"])))
        hidden = self.rms(self.linear(taps, self.w["fc"]), self.w["hidden_norm"])
        positions = list(range(self.p0, self.p0 + rows))
        for l, kv in enumerate(state["kv"]):
            k, v = (t.reshape(rows, -1, self.c["d"]) for t in self.context_kv(l, hidden))
            k = self.rope(self.head_norm(k, self.w["layers"][l]["k_norm"]), positions)
            kv[0], kv[1] = np.concatenate([kv[0], k]), np.concatenate([kv[1], v])
        state["pos"] += positions

    def layer(self, put, l, lw, x, hidden, ctx_pos, blk_pos, state, band, step):
        c = self.c
        rows, n = len(x), len(hidden)
        name = lambda stage: f"layers.{l}.{stage}"
        n1 = z = self.rms(x, lw["input_layernorm"])
        put(name("input_layernorm"), n1)
        dyn = None
        if c["conv_taps"]:
            dyn = self.linear(n1, lw["attention_conv"]["projection"])
            put(name("attention_conv.dynamic"), dyn.reshape(rows, 2, c["conv_taps"], -1))
            before = self.conv_before((l, 0), n1, band, step)
            z = self.conv(n1, dyn, lw["attention_conv"]["base"], 0, before)
            put(name("attention_conv.prepare"), z)

        heads = lambda t: t.reshape(len(t), -1, c["d"])
        q = heads(self.linear(z, lw["q_proj"], lw.get("q_bias")))
        ck, cv = self.context_kv(l, hidden)
        k = heads(np.concatenate([ck, self.linear(z, lw["k_proj"], lw.get("k_bias"))]))
        v = heads(np.concatenate([cv, self.linear(z, lw["v_proj"], lw.get("v_bias"))]))
        key_pos = np.concatenate([ctx_pos, blk_pos])
        turn_q = lambda t: t if self.is_("query-unrotated") else self.rope(t, blk_pos)

        def turn_k(t):
            turned = self.rope(t, key_pos)
            if self.is_("context-unrotated"):
                turned[:n] = t[:n]
            return turned

        if self.is_("qk-norm-after-rope"):
            q = self.head_norm(turn_q(q), lw["q_norm"])
            k = self.head_norm(turn_k(k), lw["k_norm"])
            put(name("q_norm"), q)
            put(name("k_norm"), k)
        else:
            q, k = self.head_norm(q, lw["q_norm"]), self.head_norm(k, lw["k_norm"])
            put(name("q_norm"), q)
            put(name("k_norm"), k)
            q, k = turn_q(q), turn_k(k)
        if self.is_("value-normed"):
            v = self.rms(v, lw["k_norm"])
        if self.is_("value-rotated"):
            v = self.rope(v, key_pos)
        put(name("k_new"), k)
        put(name("v_new"), v)

        kv = state["kv"][l]
        for i, new in enumerate((k, v)):
            # Two 32-bit slots make one of 64 bits, which lies outside the cache: nothing is written.
            written = np.zeros_like(new[:n]) if self.is_("x-slots-read-as-i64") else new[:n]
            kv[i] = np.concatenate([kv[i], written])
            if self.is_("x-negative-slot-written"):
                kv[i][-1] = new[-1]
            state["block"][l][i] = new[n:]
        context = len(kv[0])
        seen_k, seen_v = ([kv[i], state["block"][l][i]] for i in (0, 1))
        if self.is_("band-zero-context") and band > 0:
            other = self.state[0]
            for i, seen in enumerate((seen_k, seen_v)):
                wrong = np.concatenate([other["kv"][l][i], other["block"][l][i]])[:context]
                seen[0] = np.concatenate([wrong, seen[0][len(wrong):]])
        positions = state["pos"] + [self.p0 + j for j in range(rows)]
        mask = self.visible(l, rows, positions, context, band, step)
        o = self.attention(l, q, np.concatenate(seen_k), np.concatenate(seen_v), mask)
        if self.is_("x-nan-of-padded-rows"):
            o[-1] = np.nan
        if self.is_("x-stale-graph-rows"):
            if step > 0:  # a graph that was captured for two rows fewer
                o[-2:] = self.graph[band, l]
            self.graph[band, l] = o[-2:].copy()
        put(name("attn_out"), o)
        a = self.linear(o, lw["o_proj"], lw.get("o_bias"))
        put(name("o_proj"), a)
        if c["conv_taps"]:
            before = self.conv_before((l, 1), a, band, step)
            a = self.conv(a, dyn, lw["attention_conv"]["base"], 1, before)
            put(name("attention_conv.finish"), a)
        x = self.rne((n1 if self.is_("residual-after-norm") else x) * (0.9 if self.is_("x-residual-0.9") else 1) + a)

        n2 = z = self.rms(x, lw["post_attention_layernorm"])
        put(name("post_attention_layernorm"), n2)
        if c["conv_taps"]:
            attention_dyn, dyn = dyn, self.linear(n2, lw["mlp_conv"]["projection"])
            put(name("mlp_conv.dynamic"), dyn.reshape(rows, 2, c["conv_taps"], -1))
            before = self.conv_before((l, 2), n2, band, step)
            z = self.conv(n2, dyn, lw["mlp_conv"]["base"], 0, before)
            put(name("mlp_conv.prepare"), z)
            if self.is_("conv-other-dynamic"):
                dyn = attention_dyn
        m = self.mlp(z, lw)
        put(name("mlp"), m)
        if c["conv_taps"]:
            before = self.conv_before((l, 3), m, band, step)
            m = self.conv(m, dyn, lw["mlp_conv"]["base"], 1, before)
            put(name("mlp_conv.finish"), m)
        x = self.rne((n2 if self.is_("residual-after-norm") else x) + m)
        put(name("output"), x)
        return x

    def run(self, bands):
        c = self.c
        empty = lambda: np.zeros((0, c["nkv"], c["d"]))
        self.state = [{"pos": [], "kv": [[empty(), empty()] for _ in range(c["layers"])],
                       "block": [[None, None] for _ in range(c["layers"])]} for _ in bands]
        self.kv_len = [{} for _ in bands]
        self.last, self.graph, self.top, self.confidence = {}, {}, [{} for _ in bands], [[] for _ in bands]
        dump = {}
        for step in range(max(len(b) for b in bands)):
            for band in range(len(bands)):
                stages = {}
                self.step(stages, step, band, bands)
                prefix = f"step{step}." if band == 0 else f"step{step}.band{band}."
                dump.update({prefix + stage: value for stage, value in stages.items()})
        return dump
