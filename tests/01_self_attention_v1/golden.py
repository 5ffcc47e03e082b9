"""Lesson 01: one head, three projections without bias."""

import torch
from golden_helpers import Case, randn, self_attention_by_hand, self_attention_case, three_projections


def scores_case(case, Q, K):
    case.add("Q", Q, "B L D").add("K", K, "B S D")
    return case.add("scores", torch.einsum("bid,bjd->bij", Q, K), "B L S")


def random_case(seed, spread, length):
    return self_attention_case(Case(seed), spread * randn(2, length, 3), three_projections(3))


def cases():
    return {
        "by_hand": self_attention_by_hand().only("weights", "output"),
        "batch": random_case(11, 3, 4),
        "one_token": random_case(12, 1, 1).without("weights"),
        "einsum": scores_case(Case(13), randn(2, 4, 3), randn(2, 5, 3)),
        "far_from_zero": random_case(14, 200, 4).without("weights"),
    }
