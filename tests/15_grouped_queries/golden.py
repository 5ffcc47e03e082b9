"""Lesson 15: many query heads that share few key/value heads."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


def cut(x, count):
    """(B, L, count·D) -> (B, count, L, D)"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def merged(x):
    """(B, H, L, D) -> (B, L, E)"""
    return x.transpose(1, 2).flatten(2)


class Layer:
    """H query heads and G key/value heads, each step open to a mistake."""

    def __init__(self, embed_dim, num_heads, num_kv_heads):
        self.H, self.G, self.D = num_heads, num_kv_heads, embed_dim // num_heads
        widths = (embed_dim, num_kv_heads * self.D, num_kv_heads * self.D, embed_dim)
        self.projections = [nn.Linear(embed_dim, width, dtype=DOUBLE) for width in widths]
        self.q, self.k, self.v, self.o = self.projections

    def add_to(self, case, prefix=""):
        for name, projection in zip(NAMES, self.projections):
            case.add_linear(prefix + name, projection)
        return case

    def project(self, X):
        return cut(self.q(X), self.H), cut(self.k(X), self.G), cut(self.v(X), self.G)

    def mix(self, weights, V):
        """V has H heads by now."""
        return weights, self.o(merged(weights @ V))

    def shared(self, x):
        """As LLaMA's repeat_kv: each head as often as its group has queries, neighbours together."""
        return x.repeat_interleave(self.H // self.G, dim=1)

    def attend(self, Q, K, V, mask=None, **change):
        """K and V have H heads by now."""
        return self.mix(softmax(scores_of(Q, K, change.pop("scale", None)), mask, **change), V)

    def __call__(self, X, mask=None, **change):
        Q, K, V = self.project(X)
        return self.attend(Q, self.shared(K), self.shared(V), mask, **change)

    def by_groups(self, X):
        """Section 2.2 of the paper word by word: each group of queries with its one key and value head."""
        Q, K, V = self.project(X)
        Q = Q.unflatten(1, (self.G, -1))  # (B, G, H / G, L, D)
        weights = torch.softmax(torch.einsum("bgrid,bgjd->bgrij", Q, K) / math.sqrt(self.D), dim=-1)
        return weights.flatten(1, 2), self.o(merged(torch.einsum("bgrij,bgjd->bgrid", weights, V).flatten(1, 2)))


def scores_of(Q, K, scale=None):
    return Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)


def softmax(scores, mask=None, fill=-math.inf, nan_rows=False):
    """A row without any key becomes zeros, unless nan_rows."""
    if mask is not None:
        scores = scores.masked_fill(mask == 0, fill)
    weights = torch.softmax(scores, dim=-1)
    return weights if nan_rows else torch.nan_to_num(weights, nan=0.0)


def slices(x, which, H):
    """The slices of our (L x D x G·B) in another order: n = b·H + h gets slice which(b, h)."""
    B = x.shape[0]
    return x.flatten(0, 1)[[which(b, h) for b in range(B) for h in range(H)]].unflatten(0, (B, H))


def wrong_heads(layer, Q, K, V):
    """Which key/value head a query head gets, where there is more than one, and the slices exist."""
    H, G = layer.H, layer.G
    size, last = H // G, G * Q.shape[0] - 1
    rules = {
        "head_modulo": lambda b, h: b * G + h % G,
        "divided_by_kv_heads": lambda b, h: b * G + h // G,
        "slice_divided_by_kv_heads": lambda b, h: (b * H + h) // G,
        "kv_of_first_sequence": lambda b, h: h // size,
        "kv_batch_and_head_swapped": lambda b, h: h // size * Q.shape[0] + b,
        "first_kv_head_only": lambda b, h: b * G,
    }
    if G > 1:
        rules["slice_modulo"] = lambda b, h: (b * H + h) % G
    for name, rule in rules.items():
        if max(rule(b, h) for b in range(Q.shape[0]) for h in range(H)) <= last:
            yield name, layer.attend(Q, slices(K, rule, H), slices(V, rule, H))
    modulo = rules["head_modulo"]
    yield "keys_modulo", layer.attend(Q, slices(K, modulo, H), layer.shared(V))
    yield "values_modulo", layer.attend(Q, layer.shared(K), slices(V, modulo, H))


def mistakes_without_mask(layer, X):
    Q, few_K, few_V = layer.project(X)
    K, V = layer.shared(few_K), layer.shared(few_V)
    scores = scores_of(Q, K)
    yield from wrong_heads(layer, Q, few_K, few_V)
    yield "unscaled", layer.attend(Q, K, V, scale=1)
    yield "multiplied_by_root", layer.attend(Q, K, V, scale=1 / math.sqrt(layer.D))
    yield "root_embed_dim", layer.attend(Q, K, V, scale=math.sqrt(X.shape[-1]))
    yield "root_kv_width", layer.attend(Q, K, V, scale=math.sqrt(layer.G * layer.D))
    yield "divided_by_head_dim", layer.attend(Q, K, V, scale=layer.D)
    yield "softmax_queries", layer.mix(torch.softmax(scores, dim=-2), V)
    yield "softmax_forgotten", layer.mix(scores, V)
    yield "key_value_swapped", layer.attend(Q, V, K)
    yield "key_proj_for_values", layer.attend(Q, K, K)
    weights = softmax(scores)
    yield "output_proj_forgotten", (weights, merged(weights @ V))
    averaged = layer.shared(weights.unflatten(1, (layer.G, -1)).mean(dim=2))
    yield "weights_averaged", layer.mix(averaged, V)
    pooled = Q.unflatten(1, (layer.G, -1)).mean(dim=2)
    yield "queries_averaged", layer.attend(layer.shared(pooled), K, V)


def mistakes_with_mask(layer, X, mask):
    Q, K, V = layer.project(X)
    K, V = layer.shared(K), layer.shared(V)
    full = mask.expand(X.shape[0], layer.H, -1, -1)
    yield "mask_ignored", layer.attend(Q, K, V)
    yield "mask_inverted", layer.attend(Q, K, V, 1 - mask)
    yield "mask_after_softmax", layer.mix(softmax(scores_of(Q, K)) * full, V)
    yield "fill_1e9", layer.attend(Q, K, V, mask, fill=-1e9)
    yield "nan_row", layer.attend(Q, K, V, mask, nan_rows=True)
    yield "mask_of_groups_first_head", layer.attend(Q, K, V, layer.shared(full[:, :: layer.H // layer.G]))
    if mask.shape[0] > 1 and mask.shape[1] == 1:
        # slice n of the scores takes slice n % B of the mask, where it should take slice n / H
        order = torch.arange(full.shape[0] * layer.H) % full.shape[0]
        yield "mask_slices_mixed", layer.attend(Q, K, V, mask[:, 0][order].view(full.shape))


def only(names, mistakes):
    return [mistake for mistake in mistakes if mistake[0] in names]


def add_result(case, result, suffix="", mistakes=(), weights_too=False, with_weights=True):
    weights, output = result
    case.add("output" + suffix, output, "B L E")
    if with_weights:
        case.add("weights" + suffix, weights, "B H L S")
    for name, (wrong_weights, wrong_output) in mistakes:
        case.add_mistake(name, **{"output" + suffix: wrong_output})
        if weights_too:
            case.add_mistake(name, **{"weights" + suffix: wrong_weights})


def forward_case(layer, X, seed=None, mistakes=(), weights_too=False):
    case = layer.add_to(Case(seed)).add("X", X, "B L E")
    result = layer(X)
    for ours, papers in zip(result, layer.by_groups(X)):
        assert torch.allclose(ours, papers, rtol=0, atol=1e-12)
    add_result(case, result, mistakes=mistakes, weights_too=weights_too)
    return case


def by_hand():
    """Q is X itself, K and V are columns of it, and the output is the contexts side by side."""
    layer = Layer(8, 4, 2)
    columns = (range(8), (0, 1, 6, 7), (2, 3, 4, 5), range(8))
    for projection, picked in zip(layer.projections, columns):
        projection.weight.data = torch.eye(8, dtype=DOUBLE)[list(picked)]  # (out x in)
        projection.bias.data.zero_()
    rows = [[1, 0, 0, 1, 2, 1, 0, 2], [0, 2, 1, 0, 1, 0, 1, 1], [1, 1, 2, 0, 0, 1, 1, 0]]
    X = torch.tensor([rows], dtype=DOUBLE)
    wanted = ("head_modulo", "keys_modulo", "values_modulo", "first_kv_head_only")
    wanted += ("unscaled", "multiplied_by_root", "key_value_swapped")
    return forward_case(layer, X, mistakes=only(wanted, mistakes_without_mask(layer, X)), weights_too=True)


def masks(B, H, L):
    """suffix: the mask, its axes, how it is stored, and the mistakes that are named there."""
    shared = torch.ones(1, 1, L, L, dtype=DOUBLE)
    shared[0, 0, 0, 3:] = shared[0, 0, 1, :2] = shared[0, 0, 3, 0] = shared[0, 0, 4, 1:4] = 0
    batch = torch.ones(B, 1, L, L, dtype=DOUBLE)
    batch[0, :, :, 4:] = batch[1, :, :, 2:] = 0  # padding
    heads = (torch.rand(B, H, L, L) < 0.6).to(DOUBLE)
    heads[1, 1, 0, :] = heads[0, 4, 3, :] = 0  # a query that may attend to nobody
    return {
        "_shared": (shared, "1 L S", shared[0], ("mask_ignored", "mask_inverted", "mask_after_softmax")),
        "_batch": (batch, "B L S", batch[:, 0], ("mask_ignored", "mask_slices_mixed")),
        "_heads": (heads, "B H L S", heads, ("fill_1e9", "nan_row", "mask_of_groups_first_head")),
    }


def batch(seed):
    """Six query heads, three key/value heads: pairs. H / G = 2 differs from G = 3."""
    torch.manual_seed(seed)
    B, L, E, H, G = 2, 5, 24, 6, 3
    layer = Layer(E, H, G)
    X = 2 * torch.randn(B, L, E, dtype=DOUBLE)
    case = forward_case(layer, X, seed, mistakes_without_mask(layer, X))
    for suffix, (mask, axes, stored, named) in masks(B, H, L).items():
        case.add("mask" + suffix, stored, axes)
        mistakes = only(named, mistakes_with_mask(layer, X, mask))
        add_result(case, layer(X, mask), suffix, mistakes, with_weights=suffix == "_heads")
    return case


def two_groups(seed):
    """Groups of three."""
    torch.manual_seed(seed)
    layer = Layer(24, 6, 2)
    X = 2 * torch.randn(3, 5, 24, dtype=DOUBLE)
    wanted = ("head_modulo", "slice_modulo", "keys_modulo", "values_modulo")
    return forward_case(layer, X, seed, only(wanted, wrong_heads(layer, *layer.project(X))))


def multi_query(seed):
    """One key/value head for all."""
    torch.manual_seed(seed)
    layer = Layer(12, 4, 1)
    X = 2 * torch.randn(3, 5, 12, dtype=DOUBLE)
    return forward_case(layer, X, seed, wrong_heads(layer, *layer.project(X)))


def multi_head(seed):
    """As many key/value heads as query heads: PyTorch's own layer."""
    torch.manual_seed(seed)
    B, L, E, H = 2, 5, 12, 3
    layer = Layer(E, H, H)
    library = nn.MultiheadAttention(E, H, batch_first=True, dtype=DOUBLE)
    library.in_proj_weight.data = torch.cat([projection.weight.data for projection in layer.projections[:3]])
    library.in_proj_bias.data = torch.cat([projection.bias.data for projection in layer.projections[:3]])
    library.out_proj.load_state_dict(layer.o.state_dict())
    X = 2 * torch.randn(B, L, E, dtype=DOUBLE)
    output, weights = library(X, X, X, average_attn_weights=False)
    case = layer.add_to(Case(seed)).add("X", X, "B L E")
    wanted = ("slice_divided_by_kv_heads", "kv_batch_and_head_swapped")
    add_result(case, (weights, output), mistakes=only(wanted, wrong_heads(layer, *layer.project(X))))
    return case


def far_from_zero(seed):
    torch.manual_seed(seed)
    layer = Layer(12, 6, 3)
    return forward_case(layer, 400 * torch.randn(4, 5, 12, dtype=DOUBLE), seed)


def pools(heads, G):
    """What becomes of the rows of PyTorch's weight (or bias), cut into heads (H, D, ...): the paper's mean pooling, and
    what it is taken for."""
    H, D = heads.shape[:2]
    size = H // G
    groups = heads.unflatten(0, (G, size))
    return {
        "right": groups.mean(dim=1),
        "pool_sum": groups.sum(dim=1),
        "pool_strided": heads.unflatten(0, (size, G)).mean(dim=0),
        "pool_first_of_group": groups[:, 0],
        "pool_first_heads": heads[:G],
        "pool_neighbouring_columns": heads.flatten(0, 1).unflatten(0, (G * D, size)).mean(dim=1).unflatten(0, (G, D)),
        "pool_divided_by_kv_heads": groups.sum(dim=1) / G,
    }


def pooled(seed):
    """A multi-head layer, and the grouped one that the paper makes of it."""
    torch.manual_seed(seed)
    E, H, G = 12, 6, 3
    full, grouped = Layer(E, H, H), Layer(E, H, G)
    wrong = {}
    for name, before, after in zip(NAMES, full.projections, grouped.projections):
        for part, axes in ("weight", "out in"), ("bias", "out"):
            old = getattr(before, part).data
            if name in ("query_proj", "output_proj"):
                getattr(after, part).data = old
                continue
            for pool, heads in pools(old.unflatten(0, (H, E // H)), G).items():
                wrong.setdefault(pool, {})[f"pooled.{name}.{part}"] = heads.flatten(0, 1)
            getattr(after, part).data = wrong["right"][f"pooled.{name}.{part}"]
    X = 2 * torch.randn(2, 5, E, dtype=DOUBLE)
    case = grouped.add_to(full.add_to(Case(seed)), "pooled.").add("X", X, "B L E")
    case.add("output", grouped(X)[1], "B L E")
    for pool, arrays in wrong.items():
        case.add_mistake(pool, **arrays)
    key = {name: value for name, value in wrong["right"].items() if "key_proj" in name}
    case.add_mistake("values_pooled_from_keys", **{name.replace("key", "value"): value for name, value in key.items()})
    return case


def cases():
    return {
        "by_hand": by_hand(),
        "batch": batch(151),
        "two_groups": two_groups(152),
        "multi_query": multi_query(153),
        "multi_head": multi_head(154),
        "far_from_zero": far_from_zero(155),
        "pooled": pooled(156),
    }
