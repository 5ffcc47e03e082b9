"""Lesson 00: softmax over rows, and a linear layer."""

import torch
from golden_helpers import Case, Linear, doubles, randn, set_linear


def softmax_case(case, scores, axes):
    return case.add("scores", scores, axes).add("weights", torch.softmax(scores, dim=-1), axes)


def linear_case(case, x, layer, batch=""):
    return case.add("x", x, batch + "L in").add_linear("layer", layer).add("y", layer(x), batch + "L out")


def cases():
    # Each row overflows, or becomes all zeros, when another number than its maximum is subtracted.
    far = [
        [1000.0, 1001.0, 999.0, 998.5],
        [-1000.0, -1001.5, -1002.0, -999.0],
        [1.0, 2.0, 3.0, 2.5],
        [0.0, 1.0, 0.0, 3000.0],
        [0.0, 2.0, 1.0, 900.0],
    ]
    # Slice 0 is far from zero. Slice 1 is near it, with one row far below.
    far_cube = [
        [[1000.0, 1001.0, 1000.5], [-1000.0, -1001.0, -1002.0]],
        [[0.0, 1.0, 0.5], [-5000.0, -5000.0, -5001.0]],
    ]
    hand = set_linear(Linear(2, 2), [[1, -1], [2, 0.5]], [0.5, -1])
    return {
        "softmax_by_hand": softmax_case(Case(), doubles([[1, 0], [2, 4]]), "L S").only("weights"),
        "softmax_matrix": softmax_case(Case(1), 2 * randn(4, 5), "L S"),
        "softmax_cube": softmax_case(Case(2), 2 * randn(2, 4, 3), "B L S"),
        "softmax_far_from_zero": softmax_case(Case(), doubles(far), "L S"),
        "softmax_cube_far_from_zero": softmax_case(Case(), doubles(far_cube), "B L S"),
        "linear_by_hand": linear_case(Case(), doubles([[1, 2], [3, 4]]), hand).only("y"),
        "linear_matrix": linear_case(Case(3), randn(4, 3), Linear(3, 5)),
        "linear_cube": linear_case(Case(4), randn(2, 4, 3), Linear(3, 5), "B "),
        "linear_without_bias": linear_case(Case(5), randn(4, 3), Linear(3, 5, bias=False)),
    }
