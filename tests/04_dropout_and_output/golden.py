"""Lesson 04: dropout on the attention weights, and an output projection."""

import torch
from golden_helpers import Case, Linear, attention, causal_mask, doubles, dropout_mask, padding_mask, randn, set_linear
from torch.nn import functional as F


def dropped(case, x, p):
    """What PyTorch's dropout makes of x with the seed of this case, and the mask that it drew."""
    torch.manual_seed(case.seed)
    output = F.dropout(x, p)
    torch.manual_seed(case.seed)  # same seed, same shape: the same mask
    return output, dropout_mask(p, *x.shape)


def dropout_case(case, x, p, keep=None):
    output, keep = dropped(case, x, p) if keep is None else (x * keep / (1 - p), keep)
    case.add("x", x, "B L E").add("p", [p], "one").add("keep", keep, "B L E")
    return case.add("output", output, "B L E").add("eval", F.dropout(x, p, training=False), "B L E")


def add_training(case, X, proj, output_proj, p, mask=None, keep=None):
    """Adds the layer, and what it gives while training. Returns weights and output of evaluation."""
    Q, K, V = proj(X).chunk(3, dim=-1)
    plain, context = attention(Q, K, V, mask)
    weights, keep = dropped(case, plain, p) if keep is None else (plain * keep / (1 - p), keep)
    case.add("X", X, "B L E").add_linear("proj", proj).add_linear("output_proj", output_proj)
    case.add("p", [p], "one").add("keep", keep, "B L L")
    case.add("weights", weights, "B L L").add("output", output_proj(weights @ V), "B L E")
    return plain, output_proj(context)


def layer_case(case, X, proj, output_proj, p=0.3, mask=None, keep=None):
    weights, output = add_training(case, X, proj, output_proj, p, mask, keep)
    if mask is not None:
        case.add("mask", mask, "B L L")
    return case.add("eval_weights", weights, "B L L").add("eval_output", output, "B L E")


def random_case(seed, spread, L, mask=None):
    return layer_case(Case(seed), spread * randn(2, L, 4), Linear(4, 12), Linear(4, 4), mask=mask)


def notebook_case(seed, lengths, p):
    """A layer of the documents that the course grew from. Document A fills with -1e20 where B does with -inf, which
    is the same where each query has a key."""
    case, proj, output_proj = Case(seed), Linear(2, 6), Linear(2, 2)
    X = 2 * randn(3, 4, 2)
    mask = padding_mask(lengths, 4, 4)
    add_training(case, X, proj, output_proj, p, mask)
    return case.add("key_mask", mask[:, 0], "B S")


def cases():
    # The layer of lesson 02, and an output projection.
    proj = set_linear(Linear(2, 6), [[1, 1, 1, 2, 2, 0], [0, 1, 1, 0, 0, 1]], [0, 1, -1, 0, 0, 1])
    output_proj = set_linear(Linear(2, 2), [[1, 0], [2, 1]], [0, -1])
    keep = doubles([[[1, 0], [1, 1]]])
    by_hand = layer_case(Case(), doubles([[[1, 0], [0, 2]]]), proj, output_proj, 0.2, keep=keep)
    mask = padding_mask([3, 5], 5, 5).clone()
    mask[1, 2, :] = mask[1, 0, 1:4] = mask[1, 4, 0] = False  # query 2 of sequence 1 may attend to no key
    return {
        "dropout_by_hand": dropout_case(Case(), doubles([[[2, -1], [0.5, 4]]]), 0.2, keep).only("output"),
        "dropout": dropout_case(Case(50), randn(2, 5, 3), 0.3),
        "by_hand": by_hand.only("weights", "output", "eval_weights", "eval_output"),
        "batch": random_case(42, 3, 5),
        "as_long_as_wide": random_case(43, 2, 4).without("eval_weights", "eval_output"),
        "masked": random_case(44, 2, 5, mask),
        "causal": random_case(45, 2, 5, causal_mask(5)[None]).without("eval_weights"),
        "far_from_zero": random_case(46, 200, 5).without("weights", "eval_weights", "eval_output"),
        "self_attention_v3_of_a": notebook_case(56, [3, 2, 1], 0.1),
        "self_att_v2_of_b": notebook_case(48, [4, 3, 1], 0.0),
        "self_att_v3_of_b": notebook_case(49, [4, 3, 1], 0.1),
    }
