"""Lesson 00: softmax over rows, and a linear layer."""

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64


def softmax_case(scores, axes, seed=None):
    case = Case(seed).add("scores", scores, axes)
    case.add("weights", torch.softmax(scores, dim=-1), axes)
    exp = torch.exp(scores)
    case.add_mistake("no_max_subtracted", weights=exp / exp.sum(dim=-1, keepdim=True))
    for name, shift in (("min_subtracted", scores.min(dim=-1, keepdim=True).values),
                        ("mean_subtracted", scores.mean(dim=-1, keepdim=True))):
        shifted = torch.exp(scores - shift)
        case.add_mistake(name, weights=shifted / shifted.sum(dim=-1, keepdim=True))
    matrices = scores.reshape(-1, scores.shape[-2] * scores.shape[-1])
    shifted = torch.exp(scores - matrices.max(dim=-1).values.reshape(scores.shape[:-2] + (1, 1)))
    case.add_mistake("max_of_all", weights=shifted / shifted.sum(dim=-1, keepdim=True))
    case.add_mistake("softmax_columns", weights=torch.softmax(scores, dim=-2))
    case.add_mistake("softmax_whole", weights=torch.softmax(matrices, dim=-1).reshape(scores.shape))
    if scores.dim() == 3:
        case.add_mistake("softmax_slices", weights=torch.softmax(scores, dim=0))
    return case


def linear_case(x, layer, x_axes, y_axes, seed=None):
    case = Case(seed).add("x", x, x_axes).add_linear("layer", layer)
    case.add("y", layer(x), y_axes)
    if layer.bias is not None:
        case.add_mistake("bias_forgotten", y=x @ layer.weight.T)
    if layer.weight.shape[0] == layer.weight.shape[1]:
        case.add_mistake("weight_transposed", y=x @ layer.weight + (0 if layer.bias is None else layer.bias))
    return case


def hand_layer():
    layer = nn.Linear(2, 2, dtype=DOUBLE)
    # PyTorch stores (out x in); as (in x out) this is [[1, -1], [2, 0.5]].
    layer.weight.data = torch.tensor([[1.0, 2.0], [-1.0, 0.5]], dtype=DOUBLE)
    layer.bias.data = torch.tensor([0.5, -1.0], dtype=DOUBLE)
    return layer


def cases():
    made = {}
    made["softmax_by_hand"] = softmax_case(torch.tensor([[1.0, 0.0], [2.0, 4.0]], dtype=DOUBLE), "L S")
    torch.manual_seed(1)
    made["softmax_matrix"] = softmax_case(2 * torch.randn(4, 5, dtype=DOUBLE), "L S", 1)
    torch.manual_seed(2)
    made["softmax_cube"] = softmax_case(2 * torch.randn(2, 4, 3, dtype=DOUBLE), "B L S", 2)
    # Each row overflows, or becomes all zeros, for a mistake of its own.
    far = torch.tensor(
        [
            [1000.0, 1001.0, 999.0, 998.5],
            [-1000.0, -1001.5, -1002.0, -999.0],
            [1.0, 2.0, 3.0, 2.5],
            [0.0, 1.0, 0.0, 3000.0],
            [0.0, 2.0, 1.0, 900.0],
        ],
        dtype=DOUBLE,
    )
    made["softmax_far_from_zero"] = softmax_case(far, "L S")
    # slice 0: far from zero; slice 1: near it, with one row far below
    far_cube = torch.tensor(
        [[[1000.0, 1001.0, 1000.5], [-1000.0, -1001.0, -1002.0]], [[0.0, 1.0, 0.5], [-5000.0, -5000.0, -5001.0]]],
        dtype=DOUBLE,
    )
    made["softmax_cube_far_from_zero"] = softmax_case(far_cube, "B L S")

    hand = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=DOUBLE)
    made["linear_by_hand"] = linear_case(hand, hand_layer(), "L in", "L out")
    torch.manual_seed(3)
    made["linear_matrix"] = linear_case(torch.randn(4, 3, dtype=DOUBLE), nn.Linear(3, 5, dtype=DOUBLE), "L in", "L out", 3)
    torch.manual_seed(4)
    made["linear_cube"] = linear_case(
        torch.randn(2, 4, 3, dtype=DOUBLE), nn.Linear(3, 5, dtype=DOUBLE), "B L in", "B L out", 4
    )
    torch.manual_seed(5)
    made["linear_without_bias"] = linear_case(
        torch.randn(4, 3, dtype=DOUBLE), nn.Linear(3, 5, bias=False, dtype=DOUBLE), "L in", "L out", 5
    )
    return made
