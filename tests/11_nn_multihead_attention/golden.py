"""Lesson 11: PyTorch's own layer, torch.nn.MultiheadAttention, with its parameters and its masks."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
B, H, D, L, S = 2, 3, 4, 5, 7
E = H * D
INF = math.inf


def new_layer(embed_dim=E, num_heads=H, **options):
    """PyTorch's layer. Its biases begin as zeros, which would test nothing: they are drawn anew."""
    layer = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True, dtype=DOUBLE, **options)
    if layer.in_proj_bias is not None:
        layer.in_proj_bias.data = torch.randn(3 * embed_dim, dtype=DOUBLE)
        layer.out_proj.bias.data = torch.randn(embed_dim, dtype=DOUBLE)
    return layer


def add_state(case, layer):
    for name, letters in (("in_proj_weight", "3E E"), ("q_proj_weight", "E E"), ("k_proj_weight", "E kdim"),
                          ("v_proj_weight", "E vdim"), ("in_proj_bias", "3E")):
        if getattr(layer, name) is not None:
            case.add(name, getattr(layer, name), letters)
    case.add("out_proj_weight", layer.out_proj.weight, "E E")
    if layer.out_proj.bias is not None:
        case.add("out_proj_bias", layer.out_proj.bias, "E")
    return case


def add_inputs(case, query, key, value):
    return case.add("query", query, "B L E").add("key", key, "B S kdim").add("value", value, "B S vdim")


def projected(layer, query, key, value):
    weights = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    if layer.in_proj_weight is not None:
        weights = layer.in_proj_weight.chunk(3)
    biases = (None, None, None) if layer.in_proj_bias is None else layer.in_proj_bias.chunk(3)
    made = [nn.functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]
    return [x.reshape(x.shape[0], x.shape[1], layer.num_heads, -1).transpose(1, 2) for x in made]  # (B, H, L, D)


def all_scores(layer, query, key, value, scale=None):
    Q, K, _ = projected(layer, query, key, value)
    return Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)


def mixed(layer, inputs, weights, project=True):
    """The output for these weights (B, H, L, S)."""
    V = projected(layer, *inputs)[2]
    context = (weights @ V).transpose(1, 2)  # (B, L, H, D)
    context = context.reshape(context.shape[0], context.shape[1], -1)
    return layer.out_proj(context) if project else context


def results(layer, inputs, scores):
    """What comes of these scores (B, H, L, S): output, averaged weights, each head's weights."""
    weights = torch.softmax(scores, dim=-1)
    return {"output": mixed(layer, inputs, weights), "weights": weights.mean(dim=1), "head_weights": flat(weights)}


def flat(weights):
    return weights.reshape(-1, *weights.shape[2:])  # (B, H, L, S) -> (B·H, L, S)


def heads_of(mask):
    """(B·H, L, S) -> (B, H, L, S); (L, S) serves all."""
    return mask.reshape(B, H, *mask.shape[1:]) if mask.dim() == 3 else mask


def in_wrong_order(mask):
    """Slice b·H + h holds what slice h·B + b held."""
    return mask.reshape(H, B, *mask.shape[1:]).transpose(0, 1)


def blocked(scores, mask):
    return scores.masked_fill(mask, -INF)


def right(case, layer, inputs, **masks):
    """PyTorch's own answer goes into the case."""
    output, weights = layer(*inputs, **masks)
    return case.add("output", output, "B L E").add("weights", weights, "B L S")


def add_head_weights(case, layer, inputs):
    return case.add("head_weights", flat(layer(*inputs, average_attn_weights=False)[1]), "H·B L S")


def add_allowed(case, blocked_mask):
    return case.add("allowed", (~blocked_mask).to(DOUBLE), "H·B L S")


def allowed_mistake(case, layer, inputs, name, blocked_mask):
    """The mistake in allowed_mask (B·H, L, S) or (1, L, S), and what forward makes of it."""
    wrong = blocked(all_scores(layer, *inputs), heads_of(blocked_mask) if len(blocked_mask) > 1 else blocked_mask[0])
    case.add_mistake(name, allowed=(~blocked_mask).to(DOUBLE), output=results(layer, inputs, wrong)["output"])


def for_heads(padding, length):
    """(B, S) -> (B·H, L, S)"""
    return padding[:, None, None, :].expand(-1, H, length, -1).reshape(-1, length, padding.shape[1])


def by_hand_case():
    layer = new_layer(2, 2)
    layer.in_proj_weight.data = torch.tensor([[1, 0], [1, 1], [1, 1], [2, 0], [2, 0], [0, 1]], dtype=DOUBLE)
    layer.in_proj_bias.data = torch.tensor([0, 1, -1, 0, 0, 1], dtype=DOUBLE)
    layer.out_proj.weight.data = torch.tensor([[1, 0], [1, 2]], dtype=DOUBLE)
    layer.out_proj.bias.data = torch.tensor([1, -1], dtype=DOUBLE)
    X = torch.tensor([[[1, 0], [0, 2]]], dtype=DOUBLE)
    case = add_state(Case(), layer).add("query", X, "B L E")
    add_head_weights(right(case, layer, (X, X, X)), layer, (X, X, X))
    padding = torch.tensor([[False, True]])
    case.add("padded_output", layer(X, X, X, key_padding_mask=padding)[0], "B L E")
    case.add_mistake("polarity", padded_output=layer(X, X, X, key_padding_mask=~padding)[0])
    return case


def state_case(seed):
    """What load_state must make of a state: weights (in x out), biases in three parts."""
    torch.manual_seed(seed)
    size = 4
    layer = new_layer(size, 2)
    case = add_state(Case(seed), layer)
    names = ("query", "key", "value")
    W, b = layer.in_proj_weight, layer.in_proj_bias

    def fields(weights, biases):
        made = {name + "_weight": weight.T for name, weight in zip(names, weights)}
        made.update({name + "_bias": bias for name, bias in zip(names, biases)})
        return made

    for name, tensor in fields(W.chunk(3), b.chunk(3)).items():
        case.add(name, tensor, "in out" if tensor.dim() == 2 else "out")
    case.add("output_weight", layer.out_proj.weight.T, "in out").add("output_bias", layer.out_proj.bias, "out")

    def thirds(name, order):
        case.add_mistake(name, **fields([W.chunk(3)[i] for i in order], [b.chunk(3)[i] for i in order]))

    thirds("thirds_kqv", (1, 0, 2))
    thirds("thirds_qvk", (0, 2, 1))
    del case.mistakes["thirds_kqv"]["key_bias"]  # that alone may be another mistake; query_bias tells
    del case.mistakes["thirds_qvk"]["value_bias"]  # likewise; key_bias tells
    case.add_mistake("thirds_interleaved", **fields([W[i::3] for i in range(3)], [b[i::3] for i in range(3)]))
    case.add_mistake("first_third_of_bias", key_bias=b[:size], value_bias=b[:size])
    untransposed = {name + "_weight": weight for name, weight in zip(names, W.chunk(3))}
    case.add_mistake("weight_not_transposed", output_weight=layer.out_proj.weight, **untransposed)
    return case


def plain_case(layer, inputs, seed):
    case = add_inputs(add_state(Case(seed), layer), *inputs)
    add_head_weights(right(case, layer, inputs), layer, inputs)
    scores = all_scores(layer, *inputs)
    made = results(layer, inputs, scores)
    assert torch.allclose(made["output"], layer(*inputs)[0], atol=1e-13), "our own formula is PyTorch's"
    case.add_mistake("divided_by_root_embed", **results(layer, inputs, all_scores(layer, *inputs, scale=math.sqrt(E))))
    case.add_mistake("unscaled", **results(layer, inputs, all_scores(layer, *inputs, scale=1)))
    weights = torch.softmax(scores, dim=-1)  # (B, H, L, S)
    case.add_mistake("values_from_key", output=mixed(layer, (inputs[0], inputs[1], inputs[1]), weights))
    case.add_mistake("output_projection_forgotten", output=mixed(layer, inputs, weights, project=False))
    case.add_mistake("averaged_before_softmax", weights=torch.softmax(scores.mean(dim=1), dim=-1))
    case.add_mistake("sum_for_mean", weights=weights.sum(dim=1))
    case.add_mistake("average_over_batch", weights=weights.mean(dim=0))
    case.add_mistake("average_of_wrong_slices", weights=weights.reshape(H, B, L, S).mean(dim=0))
    case.add_mistake("average_flag_ignored", weights=made["head_weights"], head_weights=made["weights"])
    return case


def average_case(seed):
    """average_heads alone, on numbers that are no weights of a layer."""
    torch.manual_seed(seed)
    weights = torch.rand(B, H, L, S, dtype=DOUBLE)
    case = Case(seed).add("weights", weights, "B H L S").add("mean", weights.mean(dim=1), "B L S")
    case.add_mistake("sum_for_mean", mean=weights.sum(dim=1))
    case.add_mistake("average_over_batch", mean=weights.mean(dim=0))
    return case.add_mistake("average_of_wrong_slices", mean=weights.reshape(H, B, L, S).mean(dim=0))


def key_padding_case(layer, inputs):
    padding = torch.tensor([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 1, 1]]).bool()
    case = Case().add("key_padding_mask", padding.to(DOUBLE), "B S")
    right(add_allowed(case, for_heads(padding, L)), layer, inputs, key_padding_mask=padding)
    allowed_mistake(case, layer, inputs, "polarity", for_heads(~padding, L))
    other = padding[torch.arange(B * H) % B]  # (B·H, S)
    allowed_mistake(case, layer, inputs, "padding_of_another_sequence", other[:, None, :].expand(-1, L, -1))
    first_slices = for_heads(padding, L).clone()
    first_slices[:B] = padding[:, None, :].expand(-1, L, -1)
    first_slices[B:] = False
    allowed_mistake(case, layer, inputs, "padding_for_few_slices", first_slices)
    return case


def self_attention_case(layer, seed):
    """Query, key and value are one, so that rows and columns can be taken for each other."""
    torch.manual_seed(seed)
    X = torch.randn(B, L, E, dtype=DOUBLE)
    padding = torch.tensor([[0, 0, 1, 0, 1], [0, 1, 1, 0, 0]]).bool()
    case = Case(seed).add("query", X, "B L E").add("key_padding_mask", padding.to(DOUBLE), "B S")
    right(add_allowed(case, for_heads(padding, L)), layer, (X, X, X), key_padding_mask=padding)
    rows = for_heads(padding, L).transpose(1, 2)
    case.add_mistake("padding_blocks_queries", allowed=(~rows).to(DOUBLE))
    return case


def bool_mask_case(layer, inputs, shape, seed):
    torch.manual_seed(seed)
    mask = torch.rand(shape) < 0.4
    mask[..., 3] = False  # nobody is left without a key,
    mask[..., 5] = True  # and turned neither
    case = Case(seed).add("bool_attn_mask", mask.to(DOUBLE), "H·B L S" if len(shape) == 3 else "L S")
    slices = mask if len(shape) == 3 else mask[None]
    right(add_allowed(case, slices), layer, inputs, attn_mask=mask)
    allowed_mistake(case, layer, inputs, "polarity", ~slices)
    if len(shape) == 3:
        allowed_mistake(case, layer, inputs, "bool_mask_slice_order", flat(in_wrong_order(mask)))
    return case


def both_masks_case(layer, inputs, seed):
    torch.manual_seed(seed)
    mask = torch.rand(B * H, L, S) < 0.4
    mask[..., 3] = False
    padding = torch.tensor([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 1, 1]]).bool()
    case = Case(seed).add("bool_attn_mask", mask.to(DOUBLE), "H·B L S")
    case.add("key_padding_mask", padding.to(DOUBLE), "B S")
    keys = for_heads(padding, L)
    right(add_allowed(case, mask | keys), layer, inputs, attn_mask=mask, key_padding_mask=padding)
    allowed_mistake(case, layer, inputs, "either_mask_is_enough", mask & keys)
    allowed_mistake(case, layer, inputs, "padding_forgotten", mask)
    allowed_mistake(case, layer, inputs, "attn_mask_forgotten", keys)
    return case


def float_mask(shape):
    """Finite numbers, zeros and -inf; every row has all three."""
    mask = 2 * torch.randn(shape, dtype=DOUBLE)
    mask[torch.rand(shape) < 0.2] = -INF
    mask[..., 2] = 0
    mask[..., 4] = 1.5
    mask[..., 6] = -INF
    return mask


def float_mask_case(layer, inputs, shape, seed):
    torch.manual_seed(seed)
    mask = float_mask(shape)
    case = Case(seed).add("float_attn_mask", mask, "H·B L S" if len(shape) == 3 else "L S")
    right(case, layer, inputs, attn_mask=mask)
    scores, added = all_scores(layer, *inputs), heads_of(mask)

    def mistake(name, wrong):
        case.add_mistake(name, output=results(layer, inputs, wrong)["output"])

    mistake("float_mask_multiplied", scores * added)
    mistake("float_mask_before_scaling", scores + added / math.sqrt(D))
    mistake("float_mask_as_boolean", blocked(scores, added != 0))
    mistake("float_mask_finite_ignored", blocked(scores, added == -INF))
    if len(shape) == 3:
        mistake("float_mask_slice_order", scores + in_wrong_order(mask))
    return case


def float_and_padding_case(layer, inputs, seed):
    torch.manual_seed(seed)
    mask = float_mask((L, S))
    padding = torch.tensor([[0, 1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0, 0]]).bool()
    case = Case(seed).add("float_attn_mask", mask, "L S").add("key_padding_mask", padding.to(DOUBLE), "B S")
    return right(case, layer, inputs, attn_mask=mask, key_padding_mask=padding)


def three_masks(seed):
    """A bool and a float mask, which PyTorch takes as one (its own rule: a key that is ignored gets -inf), and padding."""
    torch.manual_seed(seed)
    blocks = torch.rand(B * H, L, S) < 0.3
    blocks[..., 2] = blocks[..., 3] = False
    added = float_mask((L, S))
    padding = torch.tensor([[0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0]]).bool()
    return blocks, added, padding, blocked(added.expand(B * H, L, S), blocks)


def add_three_masks(case, blocks, added, padding):
    case.add("bool_attn_mask", blocks.to(DOUBLE), "H·B L S").add("float_attn_mask", added, "L S")
    return case.add("key_padding_mask", padding.to(DOUBLE), "B S")


def all_masks_case(layer, inputs, seed):
    blocks, added, padding, merged = three_masks(seed)
    case = add_three_masks(Case(seed), blocks, added, padding)
    right(case, layer, inputs, attn_mask=merged, key_padding_mask=padding)

    def mistake(name, **masks):
        case.add_mistake(name, output=layer(*inputs, **masks)[0])

    mistake("float_mask_forgotten", attn_mask=blocks, key_padding_mask=padding)
    mistake("bool_mask_forgotten", attn_mask=added, key_padding_mask=padding)
    mistake("padding_of_three_forgotten", attn_mask=merged)
    return case


def masked_dropout_case(layer, inputs, p, seed):
    """All three masks in training. PyTorch draws the same dropout for the same seed, whatever the weights are."""
    blocks, added, padding, merged = three_masks(seed)
    case = add_three_masks(Case(seed), blocks, added, padding)
    layer.train()

    def trained(dropout_p=p, **masks):
        layer.dropout = dropout_p
        torch.manual_seed(seed)
        output, head_weights = layer(*inputs, average_attn_weights=False, **masks)
        return {"output": output, "head_weights": head_weights}

    masks = {"attn_mask": merged, "key_padding_mask": padding}
    unmasked = trained()
    keep = unmasked["head_weights"] != 0
    made = trained(**masks)
    undropped = trained(dropout_p=0.0, **masks)
    assert torch.allclose(undropped["head_weights"] * keep / (1 - p), made["head_weights"])
    case.add("keep", keep.to(DOUBLE), "B H L S").add("output", made["output"], "B L E")
    case.add("head_weights", made["head_weights"], "B H L S")
    without_float = trained(attn_mask=blocks, key_padding_mask=padding)
    case.add_mistake("undropped_under_mask", output=undropped["output"])
    case.add_mistake("unmasked_in_training", output=unmasked["output"])
    case.add_mistake("float_mask_forgotten", output=without_float["output"])
    layer.dropout = 0.0
    return case


def fully_masked_case(layer, inputs):
    """Sequence 1 is all padding, and head 1 of sequence 0 may not look anywhere from query 2. PyTorch 1.13 gives NaN
    for these rows; here they are what weights of zero give. All other rows are PyTorch's."""
    padding = torch.zeros(B, S, dtype=torch.bool)
    padding[1] = True
    mask = torch.zeros(B * H, L, S, dtype=torch.bool)
    mask[1, 2] = True
    mask[:, :, 5] = True
    output, weights = layer(*inputs, attn_mask=mask, key_padding_mask=padding)
    head_weights = layer(*inputs, attn_mask=mask, key_padding_mask=padding, average_attn_weights=False)[1]
    zeros = torch.nan_to_num(head_weights, nan=0.0)
    ours = mixed(layer, inputs, zeros)
    known = ~torch.isnan(output)
    assert torch.allclose(ours[known], output[known]) and not known[1].any() and known[0].any()
    case = Case().add("bool_attn_mask", mask.to(DOUBLE), "H·B L S")
    case.add("key_padding_mask", padding.to(DOUBLE), "B S")
    case.add("output", ours, "B L E").add("weights", zeros.mean(dim=1), "B L S")
    case.add("head_weights", flat(zeros), "H·B L S")
    return case.add_mistake("nan_row", output=output, weights=weights, head_weights=flat(head_weights))


def other_widths_case(bias, seed):
    torch.manual_seed(seed)
    layer = new_layer(bias=bias, kdim=8, vdim=10)
    inputs = [torch.randn(B, length, width, dtype=DOUBLE) for length, width in ((L, E), (S, 8), (S, 10))]
    return right(add_inputs(add_state(Case(seed), layer), *inputs), layer, inputs)


def no_bias_case(inputs, seed):
    torch.manual_seed(seed)
    layer = new_layer(bias=False)
    return right(add_state(Case(seed), layer), layer, inputs)


def dropout_case(layer, inputs, p, seed):
    """PyTorch draws its mask; the weights that it returns tell which."""
    layer.dropout = p
    layer.train()
    torch.manual_seed(seed)
    output, head_weights = layer(*inputs, average_attn_weights=False)
    torch.manual_seed(seed)
    again, weights = layer(*inputs)
    layer.dropout = 0.0
    assert torch.equal(output, again)
    keep = head_weights != 0
    undropped = torch.softmax(all_scores(layer, *inputs), dim=-1)
    assert torch.allclose(undropped * keep / (1 - p), head_weights) and 0.5 < keep.to(DOUBLE).mean() < 0.9
    case = Case(seed).add("keep", keep.to(DOUBLE), "B H L S").add("output", output, "B L E")
    case.add("weights", weights, "B L S").add("head_weights", flat(head_weights), "H·B L S")
    case.add_mistake("dropout_forgotten", output=mixed(layer, inputs, undropped))
    case.add_mistake("weights_before_dropout", weights=undropped.mean(dim=1), head_weights=flat(undropped))
    return case


def article_case(seed):
    """Document D's call of the library: a sentence of 10 tokens, 5 words and padding, 8 heads, batch first."""
    torch.manual_seed(seed)
    words = torch.tensor([[1, 2, 3, 4, 5, 0, 0, 0, 0, 0]])
    layer = new_layer(16, 8)
    X = nn.Embedding(6, 16, dtype=DOUBLE)(words)
    case = add_state(Case(seed), layer).add("query", X, "B L E")
    output, weights = layer(X, X, X)
    assert weights.shape == (1, 10, 10)
    return case.add("output", output, "B L E").add("weights", weights, "B L S")


def cases():
    torch.manual_seed(111)
    layer = new_layer()
    inputs = [torch.randn(B, length, E, dtype=DOUBLE) for length in (L, S, S)]
    return {
        "by_hand": by_hand_case(),
        "state": state_case(110),
        "average": average_case(112),
        "plain": plain_case(layer, inputs, 111),
        # these use the layer and the inputs of "plain"
        "key_padding": key_padding_case(layer, inputs),
        "bool_mask_2d": bool_mask_case(layer, inputs, (L, S), 113),
        "bool_mask_3d": bool_mask_case(layer, inputs, (B * H, L, S), 114),
        "both_masks": both_masks_case(layer, inputs, 115),
        "float_mask_2d": float_mask_case(layer, inputs, (L, S), 116),
        "float_mask_3d": float_mask_case(layer, inputs, (B * H, L, S), 117),
        "float_and_padding": float_and_padding_case(layer, inputs, 118),
        "fully_masked": fully_masked_case(layer, inputs),
        "self_attention": self_attention_case(layer, 119),
        "dropout": dropout_case(layer, inputs, 0.25, 120),
        "no_bias": no_bias_case(inputs, 121),
        "all_masks": all_masks_case(layer, inputs, 125),
        "masked_dropout": masked_dropout_case(layer, inputs, 0.25, 126),
        # these have layers of their own
        "other_widths": other_widths_case(True, 122),
        "other_widths_no_bias": other_widths_case(False, 123),
        "article": article_case(124),
    }
