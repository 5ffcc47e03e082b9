"""Lesson 06: cutting the features into heads, and the way back."""

import torch
from golden_helpers import Case, merge_heads, randn, split_heads


def heads_case(case, X, H):
    heads = split_heads(X, H)
    assert torch.equal(merge_heads(heads), X)
    return case.add("X", X, "B L E").add("heads", heads, "B H L D")


def cases():
    # 112 is sequence 1, token 1, feature 2.
    b, i, e = torch.meshgrid(torch.arange(2), torch.arange(2), torch.arange(4), indexing="ij")
    return {
        "by_hand": heads_case(Case(), 100 * b + 10 * i + e, 2),
        "batch": heads_case(Case(61), randn(3, 4, 10), 2),
    }
