"""Lesson 07: multi-head attention with four separate projections."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
INF = float("inf")
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


def split(x, H):
    """(B, L, E) -> (B, H, L, D)"""
    B, L, E = x.shape
    return x.view(B, L, H, E // H).transpose(1, 2)


def merge(context):
    """(B, H, L, D) -> (B, L, E)"""
    B, H, L, D = context.shape
    return context.transpose(1, 2).contiguous().view(B, L, H * D)


def attention_scores(Q, K, scale=None):
    return Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)


def safe_softmax(scores):
    """A row of nothing but -inf becomes zeros."""
    return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)


def four_layers(dim):
    return {name: nn.Linear(dim, dim, dtype=DOUBLE) for name in NAMES}


class Steps:
    """All that one forward computes, kept, so that a mistake can take another way from any of them."""

    def __init__(self, X, layers, H, mask=None, keep=None, p=0.0):
        self.H = H
        self.Q, self.K, self.V = (split(layers[name](X), H) for name in NAMES[:3])
        self.layers = layers
        self.scores = attention_scores(self.Q, self.K)
        blocked = self.scores if mask is None else self.scores.masked_fill(mask == 0, -INF)
        self.undropped = safe_softmax(blocked)
        self.weights = self.undropped if keep is None else self.undropped * keep / (1 - p)
        self.output = self.mixed(self.weights)

    def mixed(self, weights, V=None):
        return self.layers["output_proj"](merge(weights @ (self.V if V is None else V)))


def with_layers(case, X, layers):
    case.add("X", X, "B L E")
    for name in NAMES:
        case.add_linear(name, layers[name])
    return case


def with_results(case, steps):
    return case.add("weights", steps.weights, "B H L L").add("output", steps.output, "B L E")


def batch_layers():
    """X and the layers that most cases share: B 2, L 5, E 12, with H 3 and D 4."""
    torch.manual_seed(71)
    return 3 * torch.randn(2, 5, 12, dtype=DOUBLE), four_layers(12)


def add_merge_mistakes(case, steps):
    context = steps.weights @ steps.V  # (B, H, L, D)
    B, H, L, D = context.shape
    project = steps.layers["output_proj"]
    case.add_mistake("merge_reversed", output=project(merge(context.flip(1))))
    case.add_mistake("merge_without_regrouping", output=project(context.contiguous().view(B, L, H * D)))
    case.add_mistake("output_projection_missing", output=merge(context))


def by_hand():
    """Head 0 looks at the token itself, head 1 at the other one."""
    layers = four_layers(4)
    weights = {  # (in x out), as the chapter prints them
        "query_proj": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        "key_proj": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]],
        "value_proj": [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]],
        "output_proj": [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]],
    }
    for name, weight in weights.items():
        layers[name].weight.data = torch.tensor(weight, dtype=DOUBLE).T.contiguous()
        layers[name].bias.data = torch.zeros(4, dtype=DOUBLE)
    X = torch.tensor([[[1, 0, 0, 2], [0, 1, 2, 0]]], dtype=DOUBLE)
    steps = Steps(X, layers, 2)
    case = with_results(with_layers(Case(), X, layers), steps)
    # √E, D and L are all 2 here, so that of the wrong divisors only "none" can be told.
    for name, wrong in (
        ("unscaled", safe_softmax(attention_scores(steps.Q, steps.K, 1))),
        ("softmax_across_heads", torch.softmax(steps.scores, dim=1)),
        ("keys_with_query_proj", safe_softmax(attention_scores(steps.Q, steps.Q))),
        ("keys_times_queries", safe_softmax(attention_scores(steps.K, steps.Q))),
    ):
        case.add_mistake(name, weights=wrong, output=steps.mixed(wrong))
    case.add_mistake("mixed_by_columns", output=steps.mixed(steps.weights.transpose(-1, -2)))
    add_merge_mistakes(case, steps)
    return case


def batch():
    X, layers = batch_layers()
    steps = Steps(X, layers, 3)
    case = with_results(with_layers(Case(71), X, layers), steps)
    Q, K, V, scores, weights = steps.Q, steps.K, steps.V, steps.scores, steps.weights
    B, H, L, D = Q.shape

    def mistake(name, wrong):
        case.add_mistake(name, weights=wrong, output=steps.mixed(wrong))

    for name, scale in (
        ("root_embed_dim", math.sqrt(H * D)),
        ("unscaled", 1),
        ("divided_by_root_heads", math.sqrt(H)),
        ("divided_by_root_length", math.sqrt(X.shape[1])),
        ("divided_by_head_dim", D),
    ):
        mistake(name, safe_softmax(attention_scores(Q, K, scale)))
    mistake("softmax_across_heads", torch.softmax(scores, dim=1))
    mistake("softmax_columns", torch.softmax(scores, dim=-2))
    mistake("keys_with_query_proj", safe_softmax(attention_scores(Q, Q)))

    # keys (and values) read at slice h·B + b of the B·H slices b·H + h
    def at_wrong_slice(x):
        return x.reshape(B * H, L, D)[[h * B + b for b in range(B) for h in range(H)]].view(B, H, L, D)

    wrong = safe_softmax(attention_scores(Q, at_wrong_slice(K)))
    case.add_mistake("slice_index_swapped", weights=wrong, output=steps.mixed(wrong, at_wrong_slice(V)))

    # every query attends to the keys of all sequences
    all_keys = K.permute(1, 0, 2, 3).reshape(1, H, B * L, D)
    all_values = V.permute(1, 0, 2, 3).reshape(1, H, B * L, D)
    whole = safe_softmax(attention_scores(Q, all_keys))  # (B, H, L, B·L)
    case.add_mistake("whole_batch", weights=whole, output=layers["output_proj"](merge(whole @ all_values)))

    case.add_mistake("weights_averaged", weights=weights.mean(dim=1, keepdim=True))
    case.add_mistake("values_with_key_proj", output=steps.mixed(weights, K))
    add_merge_mistakes(case, steps)
    return case


def random_mask(*shape):
    """About a third blocked, and never the token itself."""
    mask = (torch.rand(*shape) > 0.35).double()
    for i in range(shape[-1]):
        mask[..., i, i] = 1
    return mask


def mask_case(seed, name):
    """For the X and the layers of the case "batch"."""
    X, layers = batch_layers()
    B, H, L = 2, 3, 5
    torch.manual_seed(seed)
    if name == "one":
        mask = random_mask(1, L, L)
        full, axes = mask.view(1, 1, L, L).expand(B, H, L, L), "1 L L"
    elif name == "batch":
        mask = random_mask(B, L, L)
        mask[1, 2] = 0  # nobody to attend to
        full, axes = mask.view(B, 1, L, L).expand(B, H, L, L), "B L L"
    else:
        mask = random_mask(B, H, L, L)
        mask[0, 1, 4] = 0
        full, axes = mask, "B H L L"
    steps = Steps(X, layers, H, mask=full)
    case = with_results(Case(seed).add("mask", mask, axes), steps)

    def mistake(mistake_id, wrong_mask, fill=-INF, softmax=safe_softmax):
        weights = softmax(steps.scores.masked_fill(wrong_mask == 0, fill))
        case.add_mistake(mistake_id, weights=weights)  # the output follows from them

    mistake("mask_ignored", torch.ones(B, H, L, L))
    head_0 = full.clone()
    head_0[:, 1:] = 1
    mistake("mask_head_0_only", head_0)
    sequence_0 = full.clone()
    sequence_0[1:] = 1
    mistake("mask_first_sequence_only", sequence_0)
    mistake("minus_1e20", full, fill=-1e20)
    mistake("nan_row", full, softmax=lambda x: torch.softmax(x, dim=-1))
    if name == "batch":
        modulo = torch.stack([mask[n % B] for n in range(B * H)]).view(B, H, L, L)
        mistake("mask_modulo", modulo)
    return case


def dropout_case(seed, p):
    """For the X and the layers of the case "batch", with the mask that PyTorch's dropout drew."""
    X, layers = batch_layers()
    torch.manual_seed(seed)
    drawn = nn.functional.dropout(torch.ones(2, 3, 5, 5, dtype=DOUBLE), p)
    keep = (drawn != 0).double()
    steps = Steps(X, layers, 3, keep=keep, p=p)
    case = with_results(Case(seed).add("keep", keep, "B H L L"), steps)
    case.add_mistake("weights_before_dropout", weights=steps.undropped)
    case.add_mistake("dropout_forgotten", output=steps.mixed(steps.undropped))
    early = safe_softmax(steps.scores * keep / (1 - p))
    case.add_mistake("dropout_before_softmax", weights=early, output=steps.mixed(early))
    return case


def wave(rows, columns, start):
    """Numbers without a pattern that the checks can compute too, so that a file need not hold them: sin(k²) for k =
    start + 1, start + 2, ..., row by row."""
    numbers = [math.sin(float(k * k)) for k in range(start + 1, start + 1 + rows * columns)]
    return torch.tensor(numbers, dtype=DOUBLE).view(rows, columns)


def notebook():
    """A notebook's layer at its own sizes: B 3, L 2, E 128, H 8, the same mask for all, blocked scores -1e20."""
    B, L, E, H = 3, 2, 128, 8
    X = wave(B * L, E, 0).view(B, L, E)
    projected = []
    for number in range(4):
        layer = nn.Linear(E, E, dtype=DOUBLE)
        layer.weight.data = wave(E, E, 20000 * (number + 1)) / 8
        layer.bias.data = wave(1, E, 1000 * (number + 1))[0]
        projected.append(layer)
    query, key, value, out = projected
    Q, K, V = (layer(X).view(B, L, H, E // H).transpose(1, 2) for layer in (query, key, value))
    mask = torch.tensor([[1, 1], [1, 0]], dtype=DOUBLE).expand(B, H, L, L)
    scores = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(E // H)
    weights = torch.softmax(scores.masked_fill(mask == 0, -1e20), dim=-1)
    output = out(torch.matmul(weights, V).transpose(1, 2).contiguous().view(B, L, E))
    return Case().add("mask", mask, "B H L L").add("weights", weights, "B H L L").add("output", output, "B L E")


def article(seed):
    """An article's layer over one sentence: five known words, an unknown one, padding up to ten tokens; no mask. The
    unknown word and the padding are both token 0, so that they get the same row of the embedding."""
    L, E, H = 10, 16, 8
    torch.manual_seed(seed)
    tokens = torch.tensor([[1, 2, 3, 0, 4, 5, 0, 0, 0, 0]])
    X = nn.Embedding(6, E, dtype=DOUBLE)(tokens).detach()
    layers = four_layers(E)
    Q, K, V = (layers[name](X).view(1, L, H, E // H).transpose(1, 2) for name in NAMES[:3])
    weights = torch.softmax(torch.matmul(Q, K.transpose(-2, -1)) / (E // H) ** 0.5, dim=-1)
    output = layers["output_proj"](torch.matmul(weights, V).transpose(1, 2).contiguous().view(1, L, E))
    case = with_layers(Case(seed), X, layers)
    return case.add("weights", weights, "B H L L").add("output", output, "B L E")


def far_from_zero():
    """The X of the case "batch" times 100."""
    X, layers = batch_layers()
    return with_results(Case(71), Steps(100 * X, layers, 3))


def cases():
    return {
        "by_hand": by_hand(),
        "batch": batch(),
        "mask_one": mask_case(72, "one"),
        "mask_batch": mask_case(73, "batch"),
        "mask_heads": mask_case(74, "heads"),
        "dropout": dropout_case(75, 0.3),
        "far_from_zero": far_from_zero(),
        "notebook": notebook(),
        "article": article(77),
    }
