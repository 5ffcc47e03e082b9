"""Lesson 11: PyTorch's own layer, torch.nn.MultiheadAttention, with its parameters and its masks.

Masks are PyTorch's here: True blocks.
"""

import torch
from golden_helpers import INF, Case, chance, doubles
from torch import nn

B, H, D, L, S = 2, 3, 4, 5, 7
E = H * D


def new_layer(embed_dim=E, num_heads=H, **options):
    """PyTorch's layer. Its biases begin as zeros, which would test nothing: they are drawn anew."""
    layer = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True, **options)
    if layer.in_proj_bias is not None:
        layer.in_proj_bias.data = torch.randn(3 * embed_dim)
        layer.out_proj.bias.data = torch.randn(embed_dim)
    return layer


def add_state(case, layer):
    axes = {
        "in_proj_weight": "3E E",
        "q_proj_weight": "E E",
        "k_proj_weight": "E kdim",
        "v_proj_weight": "E vdim",
        "in_proj_bias": "3E",
        "out_proj.weight": "E E",
        "out_proj.bias": "E",
    }
    for name, tensor in layer.state_dict().items():
        case.add(name.replace(".", "_"), tensor, axes[name])
    return case


def add_inputs(case, query, key, value):
    return case.add("query", query, "B L E").add("key", key, "B S kdim").add("value", value, "B S vdim")


def add_result(case, layer, inputs, **masks):
    output, weights = layer(*inputs, **masks)
    return case.add("output", output, "B L E").add("weights", weights, "B L S")


def add_head_weights(case, layer, inputs):
    head_weights = layer(*inputs, average_attn_weights=False)[1]
    return case.add("head_weights", head_weights.flatten(0, 1), "H·B L S")


def slice_axes(mask):
    return "H·B L S" if mask.dim() == 3 else "L S"


def add_allowed(case, blocked):
    """What allowed_mask gives, for all slices or (1, L, S) for one that serves all."""
    return case.add("allowed", ~(blocked if blocked.dim() == 3 else blocked[None]), "H·B L S")


def for_heads(padding):
    """(B, S) -> (B·H, L, S)"""
    return padding[:, None, None, :].expand(-1, H, L, -1).flatten(0, 1)


def by_hand():
    layer = new_layer(2, 2)
    layer.in_proj_weight.data = doubles([[1, 0], [1, 1], [1, 1], [2, 0], [2, 0], [0, 1]])
    layer.in_proj_bias.data = doubles([0, 1, -1, 0, 0, 1])
    layer.out_proj.weight.data = doubles([[1, 0], [1, 2]])
    layer.out_proj.bias.data = doubles([1, -1])
    X = doubles([[[1, 0], [0, 2]]])
    case = add_result(add_state(Case(), layer), layer, (X, X, X))
    padded = layer(X, X, X, key_padding_mask=torch.tensor([[False, True]]))[0]
    return add_head_weights(case, layer, (X, X, X)).add("padded_output", padded, "B L E")


def state(seed):
    """What load_state must make of a state: weights (in x out), biases in three parts."""
    case, layer = Case(seed), new_layer(4, 2)
    add_state(case, layer)
    for name, weight, bias in zip(
        ("query", "key", "value"), layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    ):
        case.add(name + "_weight", weight.T, "in out").add(name + "_bias", bias, "out")
    return case.add("output_weight", layer.out_proj.weight.T, "in out").add("output_bias", layer.out_proj.bias, "out")


def average(seed):
    """average_heads alone, on numbers that are no weights of a layer."""
    case, weights = Case(seed), torch.rand(B, H, L, S)
    return case.add("weights", weights, "B H L S").add("mean", weights.mean(dim=1), "B L S")


def plain():
    """The layer and the inputs that most cases share."""
    return Case(111), new_layer(), [torch.randn(B, length, E) for length in (L, S, S)]


def plain_case():
    case, layer, inputs = plain()
    add_inputs(add_state(case, layer), *inputs)
    return add_head_weights(add_result(case, layer, inputs), layer, inputs)


def key_padding():
    _, layer, inputs = plain()
    padding = torch.tensor([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 1, 1]]).bool()
    case = add_allowed(Case().add("key_padding_mask", padding, "B S"), for_heads(padding))
    return add_result(case, layer, inputs, key_padding_mask=padding)


def self_attention(seed):
    """Query, key and value are one, so that rows and columns can be taken for each other."""
    _, layer, _ = plain()
    case, X = Case(seed), torch.randn(B, L, E)
    padding = torch.tensor([[0, 0, 1, 0, 1], [0, 1, 1, 0, 0]]).bool()
    case.add("query", X, "B L E").add("key_padding_mask", padding, "B S")
    return add_result(add_allowed(case, for_heads(padding)), layer, (X, X, X), key_padding_mask=padding)


def bool_mask(seed, *shape):
    _, layer, inputs = plain()
    case, mask = Case(seed), chance(0.4, *shape)
    mask[..., 3] = False  # no query is left without a key,
    mask[..., 5] = True  # nor when the mask is inverted
    case.add("bool_attn_mask", mask, slice_axes(mask))
    return add_result(add_allowed(case, mask), layer, inputs, attn_mask=mask)


def both_masks(seed):
    _, layer, inputs = plain()
    case, mask = Case(seed), chance(0.4, B * H, L, S)
    mask[..., 3] = False
    padding = torch.tensor([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 1, 1]]).bool()
    case.add("bool_attn_mask", mask, "H·B L S").add("key_padding_mask", padding, "B S")
    add_allowed(case, mask | for_heads(padding))
    return add_result(case, layer, inputs, attn_mask=mask, key_padding_mask=padding)


def float_mask(*shape):
    """Finite numbers, zeros and -inf; every row has all three."""
    mask = 2 * torch.randn(*shape)
    mask[chance(0.2, *shape)] = -INF
    mask[..., 2] = 0
    mask[..., 4] = 1.5
    mask[..., 6] = -INF
    return mask


def float_mask_case(seed, *shape):
    _, layer, inputs = plain()
    case, mask = Case(seed), float_mask(*shape)
    return add_result(case.add("float_attn_mask", mask, slice_axes(mask)), layer, inputs, attn_mask=mask)


def float_and_padding(seed):
    _, layer, inputs = plain()
    case, mask = Case(seed), float_mask(L, S)
    padding = torch.tensor([[0, 1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0, 0]]).bool()
    case.add("float_attn_mask", mask, "L S").add("key_padding_mask", padding, "B S")
    return add_result(case, layer, inputs, attn_mask=mask, key_padding_mask=padding)


def three_masks(seed):
    """A bool and a float mask, which PyTorch takes as one (its own rule: a key that is ignored gets -inf), and padding."""
    case, blocked = Case(seed), chance(0.3, B * H, L, S)
    blocked[..., 2] = blocked[..., 3] = False
    added = float_mask(L, S)
    padding = torch.tensor([[0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0]]).bool()
    case.add("bool_attn_mask", blocked, "H·B L S").add("float_attn_mask", added, "L S")
    case.add("key_padding_mask", padding, "B S")
    merged = added.expand(B * H, L, S).masked_fill(blocked, -INF)
    return case, {"attn_mask": merged, "key_padding_mask": padding}


def all_masks(seed):
    _, layer, inputs = plain()
    case, masks = three_masks(seed)
    return add_result(case, layer, inputs, **masks)


def trained(seed, p, **masks):
    """The mask that PyTorch's dropout draws with this seed, whatever the weights are, and what the layer returns."""
    _, layer, inputs = plain()
    layer.dropout = p
    torch.manual_seed(seed)
    keep = layer(*inputs, average_attn_weights=False)[1] != 0
    torch.manual_seed(seed)
    output, head_weights = layer(*inputs, average_attn_weights=False, **masks)
    return keep, output, head_weights


def dropout(seed, p):
    keep, output, head_weights = trained(seed, p)
    case = Case(seed).add("keep", keep, "B H L S").add("output", output, "B L E")
    case.add("weights", head_weights.mean(dim=1), "B L S")
    return case.add("head_weights", head_weights.flatten(0, 1), "H·B L S")


def masked_dropout(seed, p):
    """All three masks in training."""
    case, masks = three_masks(seed)
    keep, output, head_weights = trained(seed, p, **masks)
    case.add("keep", keep, "B H L S").add("output", output, "B L E")
    return case.add("head_weights", head_weights, "B H L S")


def fully_masked():
    """Sequence 1 is all padding, and head 1 of sequence 0 may not look anywhere from query 2. For these rows PyTorch
    gives NaN, or did; here they are what weights of zero give. All other rows are PyTorch's."""
    _, layer, (query, key, value) = plain()
    padding = torch.zeros(B, S, dtype=torch.bool)
    padding[1] = True
    mask = torch.zeros(B * H, L, S, dtype=torch.bool)
    mask[1, 2] = mask[:, :, 5] = True
    masks = {"attn_mask": mask, "key_padding_mask": padding, "average_attn_weights": False}
    output, head_weights = layer(query, key, value, **masks)
    weights = torch.nan_to_num(head_weights)
    V = nn.functional.linear(value, layer.in_proj_weight.chunk(3)[2], layer.in_proj_bias.chunk(3)[2])
    context = weights @ V.unflatten(-1, (H, D)).transpose(1, 2)
    ours = layer.out_proj(context.transpose(1, 2).flatten(2))
    known = ~torch.isnan(output)
    assert torch.allclose(ours[known], output[known]) and known[0].any()
    case = Case().add("bool_attn_mask", mask, "H·B L S").add("key_padding_mask", padding, "B S")
    case.add("output", ours, "B L E").add("weights", weights.mean(dim=1), "B L S")
    return case.add("head_weights", weights.flatten(0, 1), "H·B L S")


def other_widths(seed, bias):
    case, layer = Case(seed), new_layer(bias=bias, kdim=8, vdim=10)
    inputs = [torch.randn(B, length, width) for length, width in ((L, E), (S, 8), (S, 10))]
    return add_result(add_inputs(add_state(case, layer), *inputs), layer, inputs)


def no_bias(seed):
    _, _, inputs = plain()
    case, layer = Case(seed), new_layer(bias=False)
    return add_result(add_state(case, layer), layer, inputs)


def article(seed):
    """Document D's call of the library: a sentence of 10 tokens, 5 words and padding, 8 heads, batch first."""
    case, layer = Case(seed), new_layer(16, 8)
    X = nn.Embedding(6, 16)(torch.tensor([[1, 2, 3, 4, 5, 0, 0, 0, 0, 0]]))
    return add_result(add_state(case, layer).add("query", X, "B L E"), layer, (X, X, X))


def cases():
    return {
        "by_hand": by_hand(),
        "state": state(110),
        "average": average(112),
        "plain": plain_case(),
        # these use the layer and the inputs of "plain"
        "key_padding": key_padding(),
        "bool_mask_2d": bool_mask(113, L, S),
        "bool_mask_3d": bool_mask(114, B * H, L, S),
        "both_masks": both_masks(115),
        "float_mask_2d": float_mask_case(116, L, S),
        "float_mask_3d": float_mask_case(117, B * H, L, S),
        "float_and_padding": float_and_padding(118),
        "fully_masked": fully_masked(),
        "self_attention": self_attention(119),
        "dropout": dropout(120, 0.25),
        "no_bias": no_bias(121),
        "all_masks": all_masks(125),
        "masked_dropout": masked_dropout(126, 0.25),
        # these have layers of their own
        "other_widths": other_widths(122, True),
        "other_widths_no_bias": other_widths(123, False),
        "article": article(124),
    }
