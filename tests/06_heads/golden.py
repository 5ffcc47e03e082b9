"""Lesson 06: cutting the features into heads, and the way back."""

import torch
from golden import Case

DOUBLE = torch.float64


def split(X, H):
    B, L, E = X.shape
    return X.view(B, L, H, E // H).permute(0, 2, 1, 3)


def merge(heads):
    B, H, L, D = heads.shape
    return heads.transpose(1, 2).reshape(B, L, H * D)


def resized(x, shape):
    """What Armadillo's resize does: every number stays at its place, new places are zeros."""
    result = torch.zeros(shape, dtype=DOUBLE)
    n, rows, cols = (min(a, b) for a, b in zip(x.shape, shape))
    result[:n, :rows, :cols] = x[:n, :rows, :cols]
    return result


def heads_case(X, H, seed=None):
    """Both ways. The mistakes of `heads` are those of split_heads, the mistakes of `X` those of merge_heads."""
    B, L, E = X.shape
    D = E // H
    heads = split(X, H)
    assert torch.equal(merge(heads), X)
    case = Case(seed).add("X", X, "B L E").add("heads", heads, "B H L D")

    def split_mistake(name, wrong):
        case.add_mistake(name, heads=wrong)

    split_mistake("rows_split", X.view(B, H, L // H, E))  # each head a share of the tokens, with all features
    split_mistake("view_without_transpose", X.view(B, H, L, D))
    split_mistake("split_interleaved", X.view(B, L, D, H).permute(0, 3, 1, 2))
    split_mistake("split_width_for_heads", X.view(B, L, D, H).transpose(1, 2))
    split_mistake("split_batch_head_swapped", heads.transpose(0, 1).reshape(B, H, L, D))
    split_mistake("split_transposed", heads.transpose(2, 3))
    split_mistake("split_reversed", heads.flip(1))
    split_mistake("split_first_sequence", heads[:1])
    split_mistake("split_returns_input", X.view(B, 1, L, E))
    split_mistake("split_resized", resized(X, (B * H, L, D)).view(B, H, L, D))

    def merge_mistake(name, wrong):
        case.add_mistake(name, X=wrong)

    merge_mistake("merge_without_regrouping", heads.reshape(B, L, E))
    merge_mistake("merge_interleaved", heads.permute(0, 2, 3, 1).reshape(B, L, E))
    merge_mistake("merge_batch_head_swapped", merge(heads.reshape(H, B, L, D).transpose(0, 1)))
    merge_mistake("merge_reversed", merge(heads.flip(1)))
    merge_mistake("merge_stacks_tokens", heads.reshape(B, H * L, D))
    merge_mistake("merge_first_sequence", X[:1])
    merge_mistake("merge_returns_input", heads.reshape(B * H, L, D))
    merge_mistake("merge_resized", resized(heads.reshape(B * H, L, D), (B, L, E)))
    return case


def cases():
    made = {}
    # 112 is sequence 1, token 1, feature 2.
    b, i, e = torch.meshgrid(torch.arange(2), torch.arange(2), torch.arange(4), indexing="ij")
    made["by_hand"] = heads_case((100 * b + 10 * i + e).to(DOUBLE), 2)
    torch.manual_seed(61)
    made["batch"] = heads_case(torch.randn(3, 4, 10, dtype=DOUBLE), 2, 61)
    return made
