"""Lesson 02: one projection for Q, K and V."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64


def attention(Q, K, V, scale=None):
    scale = math.sqrt(Q.shape[-1]) if scale is None else scale
    weights = torch.softmax(Q @ K.transpose(-1, -2) / scale, dim=-1)
    return weights, weights @ V


def attention_case(X, proj, seed=None, with_mistakes=True):
    case = Case(seed).add("X", X, "B L E").add_linear("proj", proj)
    dim, length = X.shape[-1], X.shape[1]
    QKV = proj(X)
    Q, K, V = torch.split(QKV, dim, dim=-1)
    weights, output = attention(Q, K, V)
    case.add("weights", weights, "B L L").add("output", output, "B L E")
    if not with_mistakes:  # several would give the same values here, so none can be named
        return case

    def mistake(name, result):
        case.add_mistake(name, weights=result[0], output=result[1])

    mistake("order_kqv", attention(K, Q, V))
    mistake("order_qvk", attention(Q, V, K))
    # (L x 3E) reshaped to (3L x E) column by column, as Armadillo does, and then cut by rows. The same as taking every
    # third column.
    stacked = QKV.transpose(1, 2).reshape(-1, dim, 3 * length).transpose(1, 2)
    mistake("thirds_from_rows", attention(*torch.split(stacked, length, dim=1)))
    mistake("bias_forgotten", attention(*torch.split(X @ proj.weight.T, dim, dim=-1)))
    mistake("divided_by_three_dim", attention(Q, K, V, scale=math.sqrt(3 * dim)))
    mistake("unscaled", attention(Q, K, V, scale=1))
    mistake("divided_by_dim", attention(Q, K, V, scale=dim))
    mistake("divided_by_root_length", attention(Q, K, V, scale=math.sqrt(length)))
    scores = Q @ K.transpose(-1, -2) / math.sqrt(dim)
    columns = torch.softmax(scores, dim=-2)
    mistake("softmax_columns", (columns, columns @ V))
    # The kept weights are the scores in both of these; the output tells them apart.
    case.add_mistake("softmax_forgotten", output=scores @ V)
    case.add_mistake("scores_kept", weights=scores)
    case.add_mistake("values_not_projected", output=attention(Q, K, X)[1])
    case.add_mistake("values_are_keys", output=attention(Q, K, K)[1])
    return case


def fuse_case(dim, seed):
    """Three layers without bias and the one weight (in x out) that does what they do."""
    case = Case(seed)
    layers = [nn.Linear(dim, dim, bias=False, dtype=DOUBLE) for _ in range(3)]
    for name, layer in zip(("query_proj", "key_proj", "value_proj"), layers):
        case.add_linear(name, layer)
    W_q, W_k, W_v = (layer.weight.T for layer in layers)
    X = 2 * torch.randn(2, 5, dim, dtype=DOUBLE)
    case.add("X", X, "B L E")
    case.add("fused_weight", torch.cat((W_q, W_k, W_v), dim=1), "E 3E")
    case.add("output", attention(X @ W_q, X @ W_k, X @ W_v)[1], "B L E")
    case.add_mistake("fuse_order", fused_weight=torch.cat((W_k, W_q, W_v), dim=1))
    case.add_mistake(
        "fuse_transposed", fused_weight=torch.cat([layer.weight for layer in layers], dim=1)
    )
    return case


def hand_layer():
    """[W_q | W_k | W_v] as (in x out), with the weights of lesson 01 and a bias."""
    weight = torch.tensor([[1.0, 1.0, 1.0, 2.0, 2.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]], dtype=DOUBLE)
    layer = nn.Linear(2, 6, dtype=DOUBLE)
    layer.weight.data = weight.T.contiguous()
    layer.bias.data = torch.tensor([0.0, 1.0, -1.0, 0.0, 0.0, 1.0], dtype=DOUBLE)
    return layer


def cases():
    made = {}
    made["by_hand"] = attention_case(torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=DOUBLE), hand_layer())
    torch.manual_seed(21)
    made["batch"] = attention_case(3 * torch.randn(2, 5, 4, dtype=DOUBLE), nn.Linear(4, 12, dtype=DOUBLE), 21)
    torch.manual_seed(23)
    made["far_from_zero"] = attention_case(200 * torch.randn(2, 5, 4, dtype=DOUBLE), nn.Linear(4, 12, dtype=DOUBLE), 23, False)
    torch.manual_seed(22)
    made["fuse"] = fuse_case(4, 22)
    return made
