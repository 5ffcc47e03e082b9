"""Lesson 08: many heads from one projection, and small Linears that become one."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64


def linear(fan_in, fan_out, bias=True):
    return nn.Linear(fan_in, fan_out, bias=bias, dtype=DOUBLE)


def heads(X, H):
    """(B, L, E) -> (B, H, L, D)"""
    B, L, E = X.shape
    return torch.einsum("blhd->bhld", X.reshape(B, L, H, E // H))


def merged(context):
    """(B, H, L, D) -> (B, L, E)"""
    return context.transpose(1, 2).flatten(2)


def attention(Q, K, V, mask=None, scale=None, softmax_dim=-1, blocked=-math.inf, keep_nan=False, keep=None, p=0.0):
    """Heads (B, H, L, D) -> the weights that mixed the values, and the heads' contexts."""
    scores = Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, blocked)
    weights = torch.softmax(scores, dim=softmax_dim)
    if not keep_nan:
        weights = torch.nan_to_num(weights, nan=0.0)  # a query that may attend to nobody takes nothing
    if keep is not None:
        weights = weights * keep / (1 - p)
    return weights, weights @ V


def columns_to_heads(QKV, H, order):
    """The 3H pieces of width D in the columns of QKV (B, L, 3E), put together by order(part, h) -> number of the piece."""
    B, L, width = QKV.shape
    pieces = QKV.reshape(B, L, 3 * H, width // (3 * H)).transpose(1, 2)  # (B, 3H, L, D)
    return [pieces[:, [order(part, h) for h in range(H)]] for part in range(3)]


def slices_to_heads(QKV, H, slice_of):
    """Likewise from the slices of our (L x D x 3H·B), by slice_of(part, n) for n = b·H + h."""
    B, L, width = QKV.shape
    D = width // (3 * H)
    slices = QKV.reshape(B, L, 3 * H, D).transpose(1, 2).reshape(B * 3 * H, L, D)
    return [slices[[slice_of(part, n) for n in range(B * H)]].reshape(B, H, L, D) for part in range(3)]


def attention_case(X, H, qkv_proj, output_proj, seed=None, mistakes="", mask=None, keep=None, p=0.0):
    """`mistakes` says which kinds are computed too: "heads", "mask", "dropout" or "masked dropout"; all of them
    would make a large file."""
    case = Case(seed).add("X", X, "B L E").add_linear("qkv_proj", qkv_proj).add_linear("output_proj", output_proj)
    B, L, E = X.shape
    D = E // H
    if mask is not None:
        case.add("mask", mask.to(DOUBLE), "B H L S" if mask.dim() == 4 else "B L S")
        mask = mask if mask.dim() == 4 else mask[:, None]
    if keep is not None:
        case.add("keep", keep.to(DOUBLE), "B H L S")
    QKV = qkv_proj(X)
    Q, K, V = (heads(part, H) for part in torch.split(QKV, E, dim=-1))
    given = {"mask": mask, "keep": keep, "p": p}
    weights, context = attention(Q, K, V, **given)
    output = output_proj(merged(context))
    case.add("weights", weights, "B H L S").add("output", output, "B L E")

    def mistake(name, result):
        case.add_mistake(name, weights=result[0], output=output_proj(merged(result[1])))

    def of(q, k, v, **different):
        return attention(q, k, v, **{**given, **different})

    if mistakes == "heads":
        mistake("split_inside_each_head", of(*columns_to_heads(QKV, H, lambda part, h: 3 * h + part)))
        mistake("three_forgotten", of(*slices_to_heads(QKV, H, lambda part, n: n + part * H)))
        mistake("parts_of_the_whole_batch", of(*slices_to_heads(QKV, H, lambda part, n: part * H * B + n)))
        mistake("queries_keys_swapped", of(K, Q, V))
        mistake("keys_values_swapped", of(Q, V, K))
        plain = X @ qkv_proj.weight.T
        mistake("bias_forgotten", of(*(heads(part, H) for part in torch.split(plain, E, dim=-1))))
        mistake("unscaled", of(Q, K, V, scale=1))
        if D * D != E:  # else these two are the same
            mistake("divided_by_root_embed_dim", of(Q, K, V, scale=math.sqrt(E)))
            mistake("divided_by_dim", of(Q, K, V, scale=D))
        mistake("divided_by_root_three_dim", of(Q, K, V, scale=math.sqrt(3 * D)))
        mistake("softmax_across_heads", of(Q, K, V, softmax_dim=1))
        # These leave the weights right.
        case.add_mistake("values_are_keys", output=output_proj(merged(of(Q, K, K)[1])))
        case.add_mistake("merged_without_regrouping", output=output_proj(context.reshape(B, L, E)))
        case.add_mistake("heads_interleaved", output=output_proj(torch.einsum("bhld->bldh", context).reshape(B, L, E)))
        case.add_mistake("output_proj_forgotten", output=merged(context))
    if mistakes == "mask":
        mistake("blocked_row_nan", of(Q, K, V, keep_nan=True))
        mistake("blocked_row_uniform", of(Q, K, V, blocked=-1e9))
        if mask.shape[1] == 1:  # one mask a sequence: wrongly mask n % B for slice n
            per_slice = mask[:, 0][[n % B for n in range(H * B)]].reshape(B, H, L, L)
            mistake("mask_shared_wrongly", of(Q, K, V, mask=per_slice))
    if mistakes == "dropout":
        plain_weights, plain_context = attention(Q, K, V)
        # The kept weights are the same in both; the output tells them apart.
        case.add_mistake("dropout_forgotten", output=output_proj(merged(plain_context)))
        case.add_mistake("weights_kept_before_dropout", weights=plain_weights)
    if mistakes == "masked dropout":
        for name, change in (("undropped_under_mask", {"keep": None}), ("unmasked_in_training", {"mask": None})):
            case.add_mistake(name, output=output_proj(merged(of(Q, K, V, **change)[1])))
    return case


def hand_case():
    def layer(weight, bias):
        weight = torch.tensor(weight, dtype=DOUBLE)
        made = linear(*weight.shape)
        made.weight.data = weight.T.contiguous()
        made.bias.data = torch.tensor(bias, dtype=DOUBLE)
        return made

    X = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]]], dtype=DOUBLE)
    qkv_proj = layer(
        [
            [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 2.0],
            [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0],
        ],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0],
    )
    output_proj = layer(
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
        [0.0, 0.0, 1.0, 0.0],
    )
    return attention_case(X, 2, qkv_proj, output_proj, mistakes="heads")


def notebook_case(seed):
    """The mask of document B: a row of ones and zeros for each sequence, the same for all heads and queries. The second
    sequence may attend to nobody."""
    rows = torch.tensor([[0, 1], [0, 0], [1, 0]])
    mask = rows.unsqueeze(1).unsqueeze(2).expand(3, 4, 2, 2)
    return attention_case(torch.rand(3, 2, 8, dtype=DOUBLE), 4, linear(8, 24), linear(8, 8), seed, "mask", mask=mask)


def dropout_case(seed):
    B, H, L, p = 3, 2, 5, 0.4
    X, qkv_proj, output_proj = 2 * torch.randn(B, L, 8, dtype=DOUBLE), linear(8, 24), linear(8, 8)
    keep = (nn.functional.dropout(torch.ones(B, H, L, L, dtype=DOUBLE), p) != 0).to(DOUBLE)
    return attention_case(X, H, qkv_proj, output_proj, seed, "dropout", keep=keep, p=p)


def masked_dropout_case(seed):
    B, H, L, p = 3, 2, 5, 0.4
    X, qkv_proj, output_proj = 2 * torch.randn(B, L, 8, dtype=DOUBLE), linear(8, 24), linear(8, 8)
    keep = (nn.functional.dropout(torch.ones(B, H, L, L, dtype=DOUBLE), p) != 0).to(DOUBLE)
    mask = (torch.rand(B, L, L) < 0.6).to(DOUBLE)
    mask[1, 3] = 0  # a query that may attend to no key
    return attention_case(X, H, qkv_proj, output_proj, seed, "masked dropout", mask=mask, keep=keep, p=p)


def fuse_case(seed):
    """Four layers E -> E, and the projection (in x out) that does what the first three do."""
    case = Case(seed)
    H, E = 2, 6
    layers = [linear(E, E) for _ in range(4)]
    for name, layer in zip(("query_proj", "key_proj", "value_proj", "output_proj"), layers):
        case.add_linear(name, layer)
    X = 2 * torch.randn(3, 5, E, dtype=DOUBLE)
    case.add("X", X, "B L E")
    query_proj, key_proj, value_proj, output_proj = layers

    def side_by_side(*three):
        return torch.cat([layer.weight.T for layer in three], dim=1), torch.cat([layer.bias for layer in three])

    weight, bias = side_by_side(query_proj, key_proj, value_proj)
    case.add("fused_weight", weight, "E 3E").add("fused_bias", bias, "3E")
    weights, context = attention(*(heads(layer(X), H) for layer in layers[:3]))
    case.add("weights", weights, "B H L S").add("output", output_proj(merged(context)), "B L E")

    weight, bias = side_by_side(key_proj, query_proj, value_proj)
    case.add_mistake("fuse_order", fused_weight=weight, fused_bias=bias)
    # the pieces of head 0 first, then those of head 1: what split_inside_each_head would want
    D = E // H
    pieces = [(layer, slice(h * D, (h + 1) * D)) for h in range(H) for layer in layers[:3]]
    case.add_mistake(
        "fuse_inside_each_head",
        fused_weight=torch.cat([layer.weight.T[:, part] for layer, part in pieces], dim=1),
        fused_bias=torch.cat([layer.bias[part] for layer, part in pieces]),
    )
    case.add_mistake("fuse_bias_zeros", fused_bias=torch.zeros(3 * E, dtype=DOUBLE))
    return case


def join_case(seed, widths, bias=True):
    """Layers that read the same input, and the one layer that gives their results side by side."""
    case = Case(seed)
    layers = [linear(4, width, bias) for width in widths]
    for i, layer in enumerate(layers):
        case.add_linear(f"layer{i}", layer)
    x = torch.randn(2, 3, 4, dtype=DOUBLE)
    case.add("x", x, "B L in").add("output", torch.cat([layer(x) for layer in layers], dim=-1), "B L out")
    case.add("weight", torch.cat([layer.weight for layer in layers]).T, "in out")
    if not bias:
        return case
    case.add("bias", torch.cat([layer.bias for layer in layers]), "out")
    if len(set(widths)) == 1:
        case.add_mistake("join_rows_on_top", weight=torch.cat([layer.weight.T for layer in layers]))
    return case


def compose_case(seed, first, second):
    """Two layers one after the other, and the one layer that does what they do."""
    case = Case(seed).add_linear("first", first).add_linear("second", second)
    x = torch.randn(2, 3, first.in_features, dtype=DOUBLE)
    W_1, W_2 = first.weight.T, second.weight.T
    case.add("x", x, "B L in").add("output", second(first(x)), "B L out")
    case.add("weight", W_1 @ W_2, "in out").add("bias", first.bias @ W_2 + second.bias, "out")
    case.add_mistake("compose_first_only", weight=W_1, bias=first.bias)
    # the bias is also that of compose_bias_not_sent; the weight tells it apart
    case.add_mistake("compose_second_only", weight=W_2)
    case.add_mistake("compose_bias_of_second", bias=second.bias)
    if W_1.shape == W_2.shape:
        case.add_mistake("compose_wrong_order", weight=W_2 @ W_1)
        case.add_mistake("compose_bias_added", bias=first.bias + second.bias)
    return case


def article_case(seed):
    """Document C: queries, keys and values come from three layers E -> E; on each, H small layers E -> D make the
    heads, which are stacked. Four tokens, eight heads."""
    H, E, L = 8, 16, 4
    D = E // H
    X = 2 * torch.randn(L, E, dtype=DOUBLE)
    firsts = nn.ModuleList([linear(E, E) for _ in range(3)])
    smalls = nn.ModuleList([linear(E, D) for _ in range(3 * H)])
    output_proj = linear(E, E)
    case = Case(seed).add("X", X[None], "B L E").add_linear("output_proj", output_proj)
    for i, layer in enumerate(firsts):
        case.add_linear(f"first{i}", layer)
    for i, layer in enumerate(smalls):
        case.add_linear(f"small{i}", layer)

    def stacked(inputs):
        return [torch.stack([smalls[part * H + h](inputs[part]) for h in range(H)]) for part in range(3)]

    def result(Q, K, V):  # (H, L, D) each
        weights = torch.softmax(Q @ K.transpose(-1, -2) / math.sqrt(D), dim=-1)
        return weights, weights @ V

    weights, context = result(*stacked([first(X) for first in firsts]))
    output = output_proj(context.transpose(0, 1).reshape(L, -1))
    case.add("weights", weights[None], "B H L S").add("output", output[None], "B L E")

    def mistake(name, made):
        wrong = output_proj(made[1].transpose(0, 1).reshape(L, -1))
        case.add_mistake(name, weights=made[0][None], output=wrong[None])

    mistake("compose_first_only", result(*(first(X).reshape(L, H, D).transpose(0, 1) for first in firsts)))
    mistake("compose_second_only", result(*stacked([X, X, X])))
    mistake("compose_bias_of_second", result(*stacked([X @ first.weight.T for first in firsts])))
    # the warning of the article: the heads must not be put together in another order
    case.add_mistake("merged_without_regrouping", output=output_proj(context.reshape(L, -1))[None])
    case.add_mistake("heads_interleaved", output=output_proj(context.permute(1, 2, 0).reshape(L, -1))[None])
    return case


def cases():
    made = {"by_hand": hand_case()}
    torch.manual_seed(81)
    made["batch"] = attention_case(2 * torch.randn(3, 5, 8, dtype=DOUBLE), 2, linear(8, 24), linear(8, 8), 81, "heads")
    torch.manual_seed(82)
    made["notebook"] = notebook_case(82)
    torch.manual_seed(83)
    lengths = torch.tensor([3, 5, 2])
    padding = (torch.arange(5) < lengths[:, None])[:, None, :].expand(3, 5, 5)
    X = 2 * torch.randn(3, 5, 8, dtype=DOUBLE)
    made["padding"] = attention_case(X, 2, linear(8, 24), linear(8, 8), 83, "mask", mask=padding)
    torch.manual_seed(84)
    made["dropout"] = dropout_case(84)
    torch.manual_seed(85)
    made["far_from_zero"] = attention_case(200 * torch.randn(3, 5, 4, dtype=DOUBLE), 2, linear(4, 12), linear(4, 4), 85)
    torch.manual_seed(86)
    made["join"] = join_case(86, (2, 5, 1))
    torch.manual_seed(87)
    made["join_two"] = join_case(87, (3, 3))
    torch.manual_seed(88)
    made["fuse"] = fuse_case(88)
    torch.manual_seed(89)
    made["compose"] = compose_case(89, linear(4, 3), linear(3, 5))
    torch.manual_seed(90)
    made["compose_square"] = compose_case(90, linear(4, 4), linear(4, 4))
    torch.manual_seed(91)
    made["article"] = article_case(91)
    torch.manual_seed(92)
    made["masked_dropout"] = masked_dropout_case(92)
    return made
