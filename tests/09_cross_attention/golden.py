"""Lesson 09: queries from one sequence, keys and values from another."""

import torch
from golden_helpers import Case, MultiHeadAttention, chance, doubles, dropout_mask, padding_mask, randn, set_linear


def three_inputs(B, L, S, E, spread=2.0):
    return tuple(spread * randn(B, length, E) for length in (L, S, S))


def attention_case(case, layer, query, key, value):
    case.add_layers(layer).add("query", query, "B L E").add("key", key, "B S E").add("value", value, "B S E")
    return case.add_attention(layer(query, key, value))


def add_memory(case, layer, key, value):
    _, K, V = layer.heads(key, key, value)
    return case.add("K", K, "B H S D").add("V", V, "B H S D")


def by_hand():
    layer = MultiHeadAttention(2)
    set_linear(layer.query_proj, [[1, 1], [0, 1]])
    set_linear(layer.key_proj, [[1, 1], [0, 1]])
    set_linear(layer.value_proj, [[2, 0], [0, 1]])
    set_linear(layer.output_proj, [[1, 0], [1, 1]])
    memory = doubles([[[1, 1], [0, 1], [2, 0]]])
    case = attention_case(Case(), layer, doubles([[[1, 0], [0, 2]]]), memory, memory)
    return add_memory(case, layer, memory, memory).only("K", "V", "weights", "output")


def cross(seed):
    B, H, L, S, E = 2, 3, 5, 7, 12
    case, layer, inputs = Case(seed), MultiHeadAttention(E, H), three_inputs(B, L, S, E)
    add_memory(attention_case(case, layer, *inputs), layer, *inputs[1:])

    shared = torch.ones(1, L, S, dtype=torch.bool)
    shared[0, 0, 3:] = shared[0, 1, :2] = shared[0, 3, 5] = shared[0, 4, 1:6] = False
    heads = chance(0.6, B, H, L, S)
    heads[0, :, 3:, :] = False  # the last two queries of the first sequence are padding
    heads[1, 1, 0, :] = False
    masks = {"_shared": shared, "_batch": padding_mask([4, 6], L, S), "_heads": heads}
    masks["_nothing"] = padding_mask([3, 0], L, S)
    for suffix, mask in masks.items():
        axes = "B H L S" if mask.dim() == 4 else "1 L S" if len(mask) == 1 else "B L S"
        case.add("mask" + suffix, mask, axes).add_attention(layer(*inputs, mask), suffix)

    torch.manual_seed(seed + 1)
    p = 0.25
    keep = dropout_mask(p, B, H, L, S)
    case.add("keep", keep, "B H L S").add_attention(layer(*inputs, keep=keep, p=p), "_dropout")
    case.add_attention(layer(*inputs, heads, keep, p), "_masked_dropout")
    return case.without("weights_shared", "weights_nothing")


def square(seed):
    """As many keys as queries, which hides where a length or a sequence was mistaken for the other."""
    case, layer, inputs = Case(seed), MultiHeadAttention(6, 3), three_inputs(2, 4, 4, 6)
    attention_case(case, layer, *inputs)
    mask = torch.ones(2, 4, 4, dtype=torch.bool)
    mask[0, :, 3] = mask[0, 0, 2] = False  # a key that is padding
    mask[1, 1, :3] = mask[1, 2, 0] = False
    return case.add("mask", mask, "B L S").add_attention(layer(*inputs, mask), "_masked")


def beams(seed):
    """Five sequences of the decoder, and which of three sources each reads: what beam search makes of a memory."""
    L, S, E, sources = 4, 6, 6, [2, 0, 0, 2, 1]
    case, layer = Case(seed), MultiHeadAttention(E, 3)
    query, key, value = (2 * randn(B, length, E) for B, length in ((len(sources), L), (3, S), (3, S)))
    mask = padding_mask([6, 2, 5], L, S)
    case.add_layers(layer).add("query", query, "B L E").add("key", key, "B S E").add("value", value, "B S E")
    key, value, mask = (x.index_select(0, torch.tensor(sources)) for x in (key, value, mask))
    add_memory(case, layer, key, value).add("mask", mask, "B L S")
    return case.add_attention(layer(query, key, value, mask)).without("weights")


def notes(seed, L, S):
    """The layer of the notes, without their bugs. S = None: one sequence three times, which is self-attention."""
    case, layer, query = Case(seed), MultiHeadAttention(6, 3), 2 * randn(2, L, 6)
    memory = query if S is None else 2 * randn(2, S, 6)
    case.add_layers(layer).add("query", query, "B L E").add("memory", memory, "B S E")
    case.add_attention(layer(query, memory))
    mask = padding_mask([3, 0], L, memory.shape[1])  # the second sequence is padding only
    return case.add("mask", mask, "B L S").add_attention(layer(query, memory, mask=mask), "_masked")


def cases():
    far_from_zero = attention_case(Case(97), MultiHeadAttention(6, 3), *three_inputs(2, 5, 4, 6, 200.0))
    return {
        "by_hand": by_hand(),
        "cross": cross(91),
        "square": square(93),
        "fewer_keys": attention_case(Case(94), MultiHeadAttention(6, 3), *three_inputs(2, 5, 4, 6)),
        "beams": beams(98),
        "notes_self": notes(95, 5, None).without("memory"),
        "notes_cross": notes(96, 4, 8),
        "far_from_zero": far_from_zero.without("weights"),
    }
