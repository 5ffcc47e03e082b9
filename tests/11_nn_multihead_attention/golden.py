"""Lesson 11: PyTorch's own layer, torch.nn.MultiheadAttention, with its parameters and its masks.

Masks are PyTorch's here: True blocks.
"""

import torch
from golden_helpers import INF, Case, Embedding, chance, doubles, randn, rounded
from torch import nn

B, H, D, L, S = 2, 3, 4, 5, 7
E = H * D


def new_layer(embed_dim=E, num_heads=H, **options):
    """PyTorch's layer. Its biases begin as zeros, which would test nothing: they are drawn anew."""
    layer = rounded(nn.MultiheadAttention(embed_dim, num_heads, batch_first=True, **options))
    if layer.in_proj_bias is not None:
        layer.in_proj_bias.data = randn(3 * embed_dim)
        layer.out_proj.bias.data = randn(embed_dim)
    return layer


# What most cases share.
torch.manual_seed(111)
LAYER = new_layer()
INPUTS = [randn(B, length, E) for length in (L, S, S)]


def flags(rows):
    return torch.tensor(rows, dtype=torch.bool)


def add_inputs(case, query, key, value):
    return case.add("query", query, "B L E").add("key", key, "B S kdim").add("value", value, "B S vdim")


def add_state(case, layer):
    axes = {"q_proj_weight": "E E", "k_proj_weight": "E kdim", "v_proj_weight": "E vdim", "out_proj.weight": "E E"}
    axes.update({"in_proj_weight": "3E E", "in_proj_bias": "3E", "out_proj.bias": "E"})
    for name, tensor in layer.state_dict().items():
        case.add(name.replace(".", "_"), tensor, axes[name])
    return case


def add_result(case, layer=LAYER, inputs=INPUTS, **masks):
    output, weights = layer(*inputs, **masks)
    return case.add("output", output, "B L E").add("weights", weights, "B L S")


def layer_case(case, layer, inputs=INPUTS):
    return add_result(add_state(case, layer), layer, inputs)


def add_head_weights(case, layer, inputs):
    head_weights = layer(*inputs, average_attn_weights=False)[1]
    return case.add("head_weights", head_weights.flatten(0, 1), "H·B L S")


def by_hand():
    layer, X = new_layer(2, 2), doubles([[[1, 0], [0, 2]]])
    layer.in_proj_weight.data = doubles([[1, 0], [1, 1], [1, 1], [2, 0], [2, 0], [0, 1]])
    layer.in_proj_bias.data = doubles([0, 1, -1, 0, 0, 1])
    layer.out_proj.weight.data = doubles([[1, 0], [1, 2]])
    layer.out_proj.bias.data = doubles([1, -1])
    case = add_head_weights(layer_case(Case(), layer, (X, X, X)), layer, (X, X, X))
    return case.add("padded_output", layer(X, X, X, key_padding_mask=flags([[0, 1]]))[0], "B L E")


def state(seed):
    """What load_state must make of a state: weights (in x out), biases in three parts."""
    case, layer = Case(seed), new_layer(4, 2)
    weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    for name, weight, bias in zip(("query", "key", "value"), weights, biases):
        case.add(name + "_weight", weight.T, "in out").add(name + "_bias", bias, "out")
    case.add("output_weight", layer.out_proj.weight.T, "in out").add("output_bias", layer.out_proj.bias, "out")
    return add_state(case, layer)


def average(seed):
    """average_heads alone, on numbers that are no weights of a layer."""
    case, weights = Case(seed), torch.rand(B, H, L, S).round(decimals=3)
    return case.add("weights", weights, "B H L S").add("mean", weights.mean(dim=1), "B L S")


def add_masks(case, attn_mask=None, padding=None):
    """Returns them under PyTorch's names."""
    if attn_mask is not None:
        kind = "bool" if attn_mask.dtype == torch.bool else "float"
        case.add(kind + "_attn_mask", attn_mask, "H·B L S" if attn_mask.dim() == 3 else "L S")
    if padding is not None:
        case.add("key_padding_mask", padding, "B S")
    return {"attn_mask": attn_mask, "key_padding_mask": padding}


def mask_case(case, attn_mask=None, padding=None, inputs=INPUTS):
    """PyTorch's answer, and for boolean masks what allowed_mask gives, (1, L, S) or (B·H, L, S)."""
    add_result(case, LAYER, inputs, **add_masks(case, attn_mask, padding))
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        return case
    blocked = flags([[False]]) if attn_mask is None else attn_mask
    if padding is not None:
        blocked = blocked | padding[:, None, None, :].expand(-1, H, L, -1).flatten(0, 1)
    return case.add("allowed", ~blocked.reshape(-1, *blocked.shape[-2:]), "H·B L S")


def bool_mask(*shape, inverted_too=False):
    """No query is left without a key, on request not even when the mask is inverted."""
    mask = chance(0.4, *shape)
    mask[..., 3] = False
    if inverted_too:
        mask[..., 5] = True
    return mask


def float_mask(*shape):
    """Finite numbers, zeros and -inf; every row has all three."""
    mask = 2 * randn(*shape)
    mask[chance(0.2, *shape)] = -INF
    mask[..., 2] = 0
    mask[..., 4] = 1.5
    mask[..., 6] = -INF
    return mask


def self_attention(seed):
    """Query, key and value are one, so that rows and columns can be taken for each other."""
    case, X = Case(seed), randn(B, L, E)
    padding = flags([[0, 0, 1, 0, 1], [0, 1, 1, 0, 0]])
    return mask_case(case.add("query", X, "B L E"), padding=padding, inputs=(X, X, X))


def three_masks(seed):
    """A bool and a float mask, and padding. PyTorch takes the first two as one; by its own rule a blocked key gets
    -inf."""
    case, blocked = Case(seed), chance(0.3, B * H, L, S)
    blocked[..., 2:4] = False
    added, padding = float_mask(L, S), flags([[0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0]])
    add_masks(case, blocked)
    add_masks(case, added, padding)
    return case, {"attn_mask": added.expand(B * H, L, S).masked_fill(blocked, -INF), "key_padding_mask": padding}


def all_masks(seed):
    case, masks = three_masks(seed)
    return add_result(case, **masks)


def add_training(case, p, **masks):
    """The mask that PyTorch's dropout draws with this seed, whatever the weights are, and what the layer returns."""
    LAYER.dropout = p
    torch.manual_seed(case.seed)
    keep = LAYER(*INPUTS, average_attn_weights=False)[1] != 0
    torch.manual_seed(case.seed)
    output, head_weights = LAYER(*INPUTS, average_attn_weights=False, **masks)
    LAYER.dropout = 0.0
    case.add("keep", keep, "B H L S").add("output", output, "B L E")
    return head_weights


def dropout(seed, p):
    case = Case(seed)
    head_weights = add_training(case, p)
    case.add("weights", head_weights.mean(dim=1), "B L S")
    return case.add("head_weights", head_weights.flatten(0, 1), "H·B L S")


def masked_dropout(seed, p):
    case, masks = three_masks(seed)
    return case.add("head_weights", add_training(case, p, **masks), "B H L S")


def fully_masked():
    """Sequence 1 is all padding, and head 1 of sequence 0 may not look anywhere from query 2. For these rows PyTorch
    gives NaN, or did; here they are what weights of zero give. All other rows are PyTorch's."""
    padding, mask = flags([[0] * S, [1] * S]), torch.zeros(B * H, L, S, dtype=torch.bool)
    mask[1, 2] = mask[:, :, 5] = True
    case = Case()
    output, head_weights = LAYER(*INPUTS, **add_masks(case, mask, padding), average_attn_weights=False)
    weights = torch.nan_to_num(head_weights)
    V = nn.functional.linear(INPUTS[2], LAYER.in_proj_weight.chunk(3)[2], LAYER.in_proj_bias.chunk(3)[2])
    context = weights @ V.unflatten(-1, (H, D)).transpose(1, 2)
    ours, known = LAYER.out_proj(context.transpose(1, 2).flatten(2)), ~torch.isnan(output)
    assert torch.allclose(ours[known], output[known]) and known[0].any()
    case.add("output", ours, "B L E").add("weights", weights.mean(dim=1), "B L S")
    return case.add("head_weights", weights.flatten(0, 1), "H·B L S")


def other_widths(seed, bias):
    case, layer = Case(seed), new_layer(bias=bias, kdim=8, vdim=10)
    inputs = [randn(B, length, width) for length, width in ((L, E), (S, 8), (S, 10))]
    return layer_case(add_inputs(case, *inputs), layer, inputs)


def article(seed):
    """Document D's call of the library: a sentence of 10 tokens, 5 words and padding, 8 heads, batch first."""
    case, layer = Case(seed), new_layer(16, 8)
    X = Embedding(6, 16)(torch.tensor([[1, 2, 3, 4, 5, 0, 0, 0, 0, 0]]))
    return layer_case(case.add("query", X, "B L E"), layer, (X, X, X))


def cases():
    padding = flags([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 1, 1]])
    less_padding = flags([[0, 1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 1, 1]])
    little_padding = flags([[0, 1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0, 0]])
    return {
        "by_hand": by_hand(),
        "state": state(110),
        "average": average(112),
        "plain": add_head_weights(layer_case(add_inputs(Case(111), *INPUTS), LAYER), LAYER, INPUTS),
        # these use the layer and the inputs of "plain"
        "key_padding": mask_case(Case(), padding=padding),
        "bool_mask_2d": mask_case(Case(113), bool_mask(L, S, inverted_too=True)),
        "bool_mask_3d": mask_case(Case(114), bool_mask(B * H, L, S, inverted_too=True)),
        "both_masks": mask_case(Case(115), bool_mask(B * H, L, S), less_padding),
        "float_mask_2d": mask_case(Case(116), float_mask(L, S)),
        "float_mask_3d": mask_case(Case(117), float_mask(B * H, L, S)),
        "float_and_padding": mask_case(Case(118), float_mask(L, S), little_padding),
        "fully_masked": fully_masked(),
        "self_attention": self_attention(119),
        "dropout": dropout(120, 0.25),
        "no_bias": layer_case(Case(121), new_layer(bias=False)),
        "all_masks": all_masks(125),
        "masked_dropout": masked_dropout(126, 0.25),
        # these have layers and inputs of their own
        "other_widths": other_widths(122, True),
        "other_widths_no_bias": other_widths(123, False),
        "article": article(124),
    }
