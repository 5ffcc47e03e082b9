"""Lesson 09: queries from one sequence, keys and values from another."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


class Layer:
    """Four projections and H heads: the arithmetic of cross-attention, each step open to a mistake."""

    def __init__(self, embed_dim, num_heads):
        self.H = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim, dtype=DOUBLE) for _ in NAMES)

    def add_to(self, case):
        for name, projection in zip(NAMES, (self.q, self.k, self.v, self.o)):
            case.add_linear(name, projection)
        return case

    def split(self, x):  # (B, L, E) -> (B, H, L, D)
        return x.view(x.shape[0], x.shape[1], self.H, -1).transpose(1, 2)

    def merge(self, x):  # (B, H, L, D) -> (B, L, E)
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def project(self, query, key, value):
        return self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))

    def mix(self, weights, V):
        return weights, self.o(self.merge(weights @ V))

    def attend(self, Q, K, V, mask=None, fill=-math.inf, nan_rows=False, scale=None):
        scores = Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)
        return self.mix(softmax(scores, mask, fill, nan_rows), V)

    def __call__(self, query, key, value, mask=None, **change):
        return self.attend(*self.project(query, key, value), mask, **change)


def softmax(scores, mask=None, fill=-math.inf, nan_rows=False):
    """A row without any key becomes zeros, unless nan_rows."""
    if mask is not None:
        scores = scores.masked_fill(mask == 0, fill)
    weights = torch.softmax(scores, dim=-1)
    return weights if nan_rows else torch.nan_to_num(weights, nan=0.0)


def column_major_reshape(x, length, heads):
    """What Armadillo's reshape gives for (B, S, E) -> (B, H, length, D): column after column, slice after slice, and
    without a word it leaves out what is too much and fills with zeros what is missing."""
    batch, _, width = x.shape
    numbers = x.transpose(1, 2).reshape(-1)
    wanted = batch * length * width
    numbers = torch.cat((numbers[:wanted], numbers.new_zeros(max(0, wanted - numbers.numel()))))
    return numbers.view(batch, heads, width // heads, length).transpose(2, 3)


def resize_rows(x, length):
    """Armadillo's resize to `length` rows: the first ones, or zeros added at the end."""
    missing = max(0, length - x.shape[1])
    return torch.cat((x[:, :length], x.new_zeros(x.shape[0], missing, x.shape[2])), dim=1)


def scores_of(Q, K):
    return Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])


def other_sequence_lengths(layer, Q, query, key, value):
    """The query's length where the keys' belongs."""
    K, V = layer.k(key), layer.v(value)
    L, H = query.shape[1], layer.H
    yield "query_length_for_keys", layer.attend(
        Q, column_major_reshape(K, L, H), column_major_reshape(V, L, H)
    )
    yield "first_keys_only", layer.attend(Q, layer.split(resize_rows(K, L)), layer.split(resize_rows(V, L)))


def mistakes_without_mask(layer, query, key, value):
    Q, K, V = layer.project(query, key, value)
    D, E = Q.shape[-1], query.shape[-1]
    scores = scores_of(Q, K)
    yield from other_sequence_lengths(layer, Q, query, key, value)
    yield "unscaled", layer.attend(Q, K, V, scale=1)
    yield "root_embed_dim", layer.attend(Q, K, V, scale=math.sqrt(E))
    yield "divided_by_head_dim", layer.attend(Q, K, V, scale=D)
    yield "floored", layer.mix(softmax(torch.floor(scores)), V)
    yield "softmax_queries", layer.mix(torch.softmax(scores, dim=-2), V)
    yield "softmax_forgotten", layer.mix(scores, V)
    yield "sequences_exchanged", layer(key, query, query)
    yield "self_attention", layer(query, query, query)
    yield "projections_exchanged", layer.attend(Q, layer.split(layer.v(key)), layer.split(layer.k(value)))
    yield "inputs_exchanged", layer(query, value, key)
    yield "values_from_key", layer(query, key, key)
    yield "keys_from_value", layer(query, value, value)
    whole = [layer.merge(x).unsqueeze(1) for x in (Q, K, V)]  # (B, 1, L or S, E): one head of all features
    yield "heads_not_split", layer.attend(*whole)
    yield "query_proj_for_keys", layer.attend(Q, layer.split(layer.q(key)), V)
    yield "key_proj_for_values", layer.attend(Q, K, layer.split(layer.k(value)))
    weights = softmax(scores)
    yield "output_proj_forgotten", (weights, layer.merge(weights @ V))


def mistakes_with_mask(layer, query, key, value, mask):
    Q, K, V = layer.project(query, key, value)
    L, S = query.shape[1], key.shape[1]
    scores = scores_of(Q, K)
    full = mask.expand(scores.shape)
    yield "mask_ignored", layer.attend(Q, K, V)
    yield "mask_inverted", layer.attend(Q, K, V, 1 - mask)
    yield "mask_after_softmax", layer.mix(torch.softmax(scores, dim=-1) * full, V)
    yield "fill_1e9", layer.attend(Q, K, V, mask, fill=-1e9)
    yield "nan_row", layer.attend(Q, K, V, mask, nan_rows=True)
    shared = min(L, S)
    key_seen = full.amax(dim=-2)  # (B, H, S): whether any query may attend to this key
    query_sees = full.amax(dim=-1)  # (B, H, L): whether this query may attend to any key
    rows = torch.ones_like(query_sees)
    rows[..., :shared] = key_seen[..., :shared]
    yield "queries_masked_too", layer.attend(Q, K, V, full * rows.unsqueeze(-1))
    columns = torch.ones_like(key_seen)
    columns[..., :shared] = query_sees[..., :shared]
    yield "queries_masked_for_keys", layer.attend(Q, K, V, full * columns.unsqueeze(-2))
    yield "mask_first_row", layer.attend(Q, K, V, full[:, :, :1])
    if mask.shape[0] > 1 and mask.shape[1] == 1:
        # slice n of the scores takes slice n % B of the mask, where it should take slice n / H
        order = torch.arange(scores.shape[0] * layer.H) % scores.shape[0]
        yield "mask_slices_mixed", layer.attend(Q, K, V, mask[:, 0][order].view(scores.shape))


def three_inputs(B, L, S, E, spread=2.0):
    return (spread * torch.randn(B, length, E, dtype=DOUBLE) for length in (L, S, S))


def new_case(seed, layer, query, key, value):
    case = layer.add_to(Case(seed)).add("query", query, "B L E")
    return case.add("key", key, "B S E").add("value", value, "B S E")


def add_result(case, result, suffix="", mistakes=(), weights_too=False, with_weights=True):
    weights, output = result
    case.add("output" + suffix, output, "B L E")
    if with_weights:
        case.add("weights" + suffix, weights, "B H L S")
    for name, (wrong_weights, wrong_output) in mistakes:
        case.add_mistake(name, **{"output" + suffix: wrong_output})
        if weights_too:
            case.add_mistake(name, **{"weights" + suffix: wrong_weights})


def by_hand():
    layer = Layer(2, 1)
    weights = ([[1, 1], [0, 1]], [[1, 1], [0, 1]], [[2, 0], [0, 1]], [[1, 0], [1, 1]])  # (in x out)
    for projection, weight in zip((layer.q, layer.k, layer.v, layer.o), weights):
        projection.weight.data = torch.tensor(weight, dtype=DOUBLE).T.contiguous()
        projection.bias.data = torch.zeros(2, dtype=DOUBLE)
    query = torch.tensor([[[1, 0], [0, 2]]], dtype=DOUBLE)
    memory = torch.tensor([[[1, 1], [0, 1], [2, 0]]], dtype=DOUBLE)
    case = new_case(None, layer, query, memory, memory)
    add_result(
        case,
        layer(query, memory, memory),
        mistakes=mistakes_without_mask(layer, query, memory, memory),
        weights_too=True,
    )
    return case


def padding(lengths, L, S):
    """(B, 1, L, S): the first keys of each sequence may be attended to."""
    mask = torch.zeros(len(lengths), 1, L, S, dtype=DOUBLE)
    for b, length in enumerate(lengths):
        mask[b, :, :, :length] = 1
    return mask


def cross(seed):
    torch.manual_seed(seed)
    B, H, L, S, E = 2, 3, 5, 7, 12
    layer = Layer(E, H)
    query, key, value = three_inputs(B, L, S, E)
    case = new_case(seed, layer, query, key, value)
    result = layer(query, key, value)
    add_result(case, result, mistakes=mistakes_without_mask(layer, query, key, value))

    shared = torch.ones(1, 1, L, S, dtype=DOUBLE)
    shared[0, 0, 0, 3:] = shared[0, 0, 1, :2] = shared[0, 0, 3, 5] = shared[0, 0, 4, 1:6] = 0
    heads = (torch.rand(B, H, L, S) < 0.6).to(DOUBLE)
    heads[0, :, 3:, :] = 0  # the last two queries of the first sequence are padding
    heads[1, 1, 0, :] = 0
    batch, nothing = padding([4, 6], L, S), padding([3, 0], L, S)
    # suffix: the mask, its axes, how it is stored, and the mistakes that are named there
    masks = {
        "_shared": (
            shared,
            "1 L S",
            shared[0],
            {"mask_ignored", "mask_inverted", "mask_after_softmax", "mask_first_row"},
        ),
        "_batch": (
            batch,
            "B L S",
            batch[:, 0],
            {"mask_ignored", "mask_inverted", "queries_masked_too", "mask_slices_mixed"},
        ),
        "_heads": (heads, "B H L S", heads, {"queries_masked_for_keys", "fill_1e9", "nan_row"}),
        "_nothing": (nothing, "B L S", nothing[:, 0], {"fill_1e9", "nan_row"}),
    }
    for suffix, (mask, axes, stored, named) in masks.items():
        case.add("mask" + suffix, stored, axes)
        mistakes = mistakes_with_mask(layer, query, key, value, mask)
        mistakes = [mistake for mistake in mistakes if mistake[0] in named]
        weights_too = suffix in ("_batch", "_heads")
        add_result(case, layer(query, key, value, mask), suffix, mistakes, with_weights=weights_too)

    # In training, with the very mask that PyTorch draws.
    torch.manual_seed(seed + 1)
    p = 0.25
    keep = (nn.functional.dropout(torch.ones(B, H, L, S, dtype=DOUBLE), p) != 0).to(DOUBLE)
    V = layer.split(layer.v(value))
    case.add("keep", keep, "B H L S")
    mistakes = {
        "dropout_forgotten": result,
        "dropout_before_softmax": layer.mix(
            softmax(scores_of(*layer.project(query, key, value)[:2]) * keep / (1 - p)), V
        ),
    }
    add_result(case, layer.mix(result[0] * keep / (1 - p), V), "_dropout", mistakes.items())
    case.add_mistake("weights_before_dropout", weights_dropout=result[0])

    masked = layer(query, key, value, heads)
    mistakes = {"undropped_under_mask": masked, "unmasked_in_training": layer.mix(result[0] * keep / (1 - p), V)}
    add_result(case, layer.mix(masked[0] * keep / (1 - p), V), "_masked_dropout", mistakes.items())
    return case


def square(seed):
    """As many keys as queries, which hides where a length or a sequence was mistaken for the other."""
    torch.manual_seed(seed)
    B, H, L, E = 2, 3, 4, 6
    layer = Layer(E, H)
    query, key, value = three_inputs(B, L, L, E)
    case = new_case(seed, layer, query, key, value)
    mistakes = {"keys_from_query": layer(query, query, value), "values_from_query": layer(query, key, query)}
    add_result(case, layer(query, key, value), mistakes=mistakes.items())
    mask = torch.ones(B, 1, L, L, dtype=DOUBLE)
    mask[0, :, :, 3] = mask[0, :, 0, 2] = 0  # a key that is padding
    mask[1, :, 1, :3] = mask[1, :, 2, 0] = 0
    case.add("mask", mask[:, 0], "B L S")
    mistakes = {"mask_transposed": layer(query, key, value, mask.transpose(-1, -2))}
    add_result(case, layer(query, key, value, mask), "_masked", mistakes.items())
    return case


def fewer_keys(seed):
    torch.manual_seed(seed)
    layer = Layer(6, 3)
    query, key, value = three_inputs(2, 5, 4, 6)
    case = new_case(seed, layer, query, key, value)
    Q = layer.split(layer.q(query))
    mistakes = other_sequence_lengths(layer, Q, query, key, value)
    add_result(case, layer(query, key, value), mistakes=mistakes)
    return case


def notes(seed, L, S):
    """The layer of the notes, without their bugs. S = None: one sequence three times, which is self-attention."""
    torch.manual_seed(seed)
    B, H, E = 2, 3, 6
    layer = Layer(E, H)
    query = 2 * torch.randn(B, L, E, dtype=DOUBLE)
    memory = query if S is None else 2 * torch.randn(B, S, E, dtype=DOUBLE)
    case = layer.add_to(Case(seed)).add("query", query, "B L E").add("memory", memory, "B S E")
    Q, K, V = layer.project(query, memory, memory)
    floored = layer.mix(softmax(torch.floor(scores_of(Q, K))), V)
    mistakes = [("floored", floored), *other_sequence_lengths(layer, Q, query, memory, memory)]
    add_result(case, layer(query, memory, memory), mistakes=mistakes)
    mask = padding([3, 0], L, memory.shape[1])  # the second sequence is padding only
    case.add("mask", mask[:, 0], "B L S")
    mistakes = [("fill_1e9", layer(query, memory, memory, mask, fill=-1e9))]
    mistakes += [("nan_row", layer(query, memory, memory, mask, nan_rows=True))]
    add_result(case, layer(query, memory, memory, mask), "_masked", mistakes)
    return case


def far_from_zero(seed):
    torch.manual_seed(seed)
    layer = Layer(6, 3)
    query, key, value = three_inputs(2, 5, 4, 6, spread=200.0)
    case = new_case(seed, layer, query, key, value)
    add_result(case, layer(query, key, value))
    return case


def cases():
    return {
        "by_hand": by_hand(),
        "cross": cross(91),
        "square": square(93),
        "fewer_keys": fewer_keys(94),
        "notes_self": notes(95, 5, None),
        "notes_cross": notes(96, 4, 8),
        "far_from_zero": far_from_zero(97),
    }
