"""The tail of numpy_drafter.py: logits, the plain argmax, the Markov and confidence heads, the candidate selector."""

import numpy as np


def bf16(x):
    """Nearest BF16, ties to even, as float64."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32)
    up = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    return ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Heads:
    """Part of Drafter, which has the weights and the roundings."""

    def tail(self, put, x, tokens, band, step, bands):
        c, w = self.c, self.w
        y = x if self.is_("final-norm-missing") else self.rms(x, w["norm"])
        put("norm", y)
        z = y @ w["lm_head"].T
        if self.rounding == "hf":
            z = bf16(z)
        multiplier = 1 if self.is_("multiplier-missing") else c["multiplier"]
        cap = None if self.is_("softcap-missing") else c["softcap"]
        capped = lambda t: t if not cap else cap * np.tanh(t / cap)
        logits = self.rne(multiplier * capped(z) if self.is_("softcap-first") else capped(self.hf(multiplier * z)))
        if self.is_("x-logits-of-next-row"):
            logits = np.roll(logits, -1, axis=0)
        if self.is_("band-zero-logits") and band > 0:
            logits = self.logits_of_band_zero
        if band == 0:
            self.logits_of_band_zero = logits
        drafts = np.arange(1, len(tokens)) if c["convention"] == "A" else np.arange(len(tokens))
        if self.is_("row-zero-used"):
            drafts = np.arange(len(tokens) - 1)
        if self.is_("row-zero-dropped"):
            drafts = np.arange(1, len(tokens))
        if self.is_("rows-rotated"):
            drafts = np.arange(len(tokens) - 1)
        if self.is_("logits-stale-top-k") and step > 0:
            logits = logits.copy()
            for row, ids in self.top[band].items():
                logits[row, ids] = bf16(-1e30)
        anchor = bands[0][step]["tokens"][0] if self.is_("band-zero-anchor") else tokens[0]
        put("logits", logits)
        if c["selector_rank"]:
            chosen, scores = self.selector(put, y, logits, drafts, anchor, band)
            shown = logits.copy()
            if self.is_("logits-after-top-k"):
                for row in drafts:
                    shown[row, self.top[band][row]] = bf16(-1e30)
            put("logits", shown)
        elif c["kind"] == "dspark":
            chosen, scores = self.markov(put, y, logits, drafts, anchor, band, step)
        else:
            scores = [logits[row] for row in drafts]
            chosen = [self.argmax(s) for s in scores]
        put("draft_tokens", np.array(chosen, dtype=np.uint32))
        put("margin", np.array([np.sort(s)[-1] - np.sort(s)[-2] for s in scores]))

    def argmax(self, row):
        row = np.where(row > -1e30, row, -1e30)  # NaN is never chosen
        ties = np.flatnonzero(row == row.max())
        if self.is_("tie-last-id"):
            return int(ties[-1])
        if self.is_("tie-modulo-1024"):
            return int(min(ties, key=lambda i: (i % 1024, i)))
        return int(ties[0])

    def markov(self, put, y, logits, drafts, anchor, band, step):
        c, w = self.c, self.w
        biased = logits.copy()
        prev, chosen, confidence = anchor, [], []
        if self.is_("markov-prev-row-zero"):
            prev = self.argmax(logits[0])
        state = np.zeros(c["markov_rank"])
        for j in drafts:
            if c["markov_rank"]:
                w1, w2 = w["markov_w1"], w["markov_w2"]
                if self.is_("markov-swapped"):
                    w1, w2 = w2, w1
                e = latent = w1[prev]
                if c["markov_type"] == "gated":
                    gate = self.linear(np.concatenate([y[j], e]), w["markov_gate"], w["markov_gate_bias"])
                    latent = self.rne(sigmoid(gate) * e)
                if c["markov_type"] == "rnn":
                    if self.is_("rnn-state-lost"):
                        state = np.zeros_like(state)
                    joint = self.linear(np.concatenate([state, e, y[j]]), w["markov_joint"], w["markov_joint_bias"])
                    g, cand, o = np.split(joint, 3)
                    state = self.rne(sigmoid(g) * state + (1 - sigmoid(g)) * np.tanh(cand))
                    latent = self.rne(np.tanh(o))
                exempt = self.is_("markov-row-zero-exempt") and j == drafts[0]
                if not exempt and not self.is_("markov-missing"):
                    biased[j] = self.rne(logits[j] + self.linear(latent, w2))
            if c["confidence"]:
                e = w["markov_w1"][prev]
                if self.is_("confidence-no-markov"):
                    e = np.zeros_like(e)
                feature = np.concatenate([e, y[j]] if self.is_("confidence-order") else [y[j], e])
                confidence.append(float(self.rne(feature @ w["confidence_w"][0] + w["confidence_b"][0])))
            chosen.append(self.argmax(biased[j]))
            prev = chosen[-1]
            if self.is_("markov-prev-unbiased"):
                prev = self.argmax(logits[j])
            if self.is_("markov-prev-anchor"):
                prev = anchor
        put("markov.logits", biased)
        if c["confidence"]:
            if self.is_("confidence-stale") and step > 0:
                confidence[-3:] = self.confidence[band][-3:]
            self.confidence[band] = confidence
            put("confidence_logits", np.array(confidence))
        return chosen, [biased[j] for j in drafts]

    def selector(self, put, y, logits, drafts, anchor, band):
        c, w = self.c, self.w
        pre, suc = w["predecessor"], w["successor"]
        if self.is_("selector-swapped"):
            pre, suc = suc, pre
        H = self.linear(y[drafts], w["selector_projection"])
        ids, unary, gaps = [], [], []
        for j in drafts:
            order = np.lexsort((np.arange(len(logits[j])), -logits[j]))
            ids.append(order[: c["top_k"]])
            unary.append(logits[j][ids[-1]])
            gaps.append(unary[-1][-1] - logits[j][order[c["top_k"]]])
            self.top[band][j] = ids[-1]
        ids, unary = np.array(ids), np.array(unary)
        pairwise = lambda prev, t: suc[ids[t]] @ (pre[prev] * H[t])
        if self.is_("selector-viterbi"):
            best, back = unary[0] + pairwise(anchor, 0), []
            for t in range(1, len(drafts)):
                total = np.array([best[k] + pairwise(ids[t - 1][k], t) for k in range(c["top_k"])]) + unary[t]
                back.append(total.argmax(0))
                best = total.max(0)
            path = [int(best.argmax())]
            for step_back in back[::-1]:
                path.append(int(step_back[path[-1]]))
            forced = [int(ids[t][k]) for t, k in enumerate(path[::-1])]
        chosen, scores, prev = [], [], anchor
        for t in range(len(drafts)):
            s = unary[t] + pairwise(prev, t)
            if self.rounding == "hf":
                g = bf16(pre[prev] * H[t])
                s = bf16(unary[t] + bf16(suc[ids[t]] @ g))
            token = int(ids[t][s.argmax()])
            if self.is_("selector-independent"):
                token = self.argmax(logits[drafts[t]])
            if self.is_("selector-viterbi"):
                token = forced[t]
            scores.append(s)
            chosen.append(token)
            prev = anchor if self.is_("selector-prev-anchor") else token
        put("selector.hidden_projection", H)
        put("selector.candidate_ids", ids.astype(np.uint32))
        put("selector.unary", unary)
        put("selector.topk_gap", np.array(gaps))
        put("selector.scores", np.array(scores))
        if self.is_("selector-independent"):
            scores = [logits[j] for j in drafts]
        return chosen, scores
