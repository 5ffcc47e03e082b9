"""Lesson 24: gradients of matrix products, softmax, attention and cross-entropy, by PyTorch's autograd in float64."""

import torch
from golden_helpers import Case, attention, chance, doubles, dropout_mask, randn, random_attention
from torch.nn import functional as F


def with_gradients(case, function, inputs, d_output):
    """Adds d_<name> for each input: the gradient of the sum of d_output times the output. inputs: name, tensor, axes"""
    leaves = [tensor.clone().requires_grad_() for _, tensor, _ in inputs]
    gradients = torch.autograd.grad(function(*leaves), leaves, d_output)
    for (name, _, axes), gradient in zip(inputs, gradients):
        case.add("d_" + name, gradient, axes)
    return case


def matmul_case(case, A, B, d_C):
    case.add("A", A, "R I").add("B", B, "I C").add("d_C", d_C, "R C")
    return with_gradients(case, torch.matmul, [("A", A, "R I"), ("B", B, "I C")], d_C)


def softmax_case(case, scores, d_weights):
    axes = "N L S"
    case.add("weights", scores.softmax(-1), axes).add("d_weights", d_weights, axes)
    return with_gradients(case, lambda x: x.softmax(-1), [("scores", scores, axes)], d_weights)


def attention_case(case, Q, K, V, d_context, mask=None, keep=None, p=0.0):
    """mask (M, L, S), each slice for N / M neighbours; keep (N, L, S)"""
    inputs = [("Q", Q, "N L D"), ("K", K, "N S D"), ("V", V, "N S Dv")]
    for name, tensor, axes in inputs:
        case.add(name, tensor, axes)
    whole = None if mask is None else mask.repeat_interleave(len(Q) // len(mask), dim=0)
    case.add("weights", attention(Q, K, V, whole)[0], "N L S").add("d_context", d_context, "N L Dv")
    case.add("context", attention(Q, K, V, whole, keep, p)[1], "N L Dv")
    if mask is not None:
        case.add("mask", mask, "M L S")
    if keep is not None:
        case.add("keep", keep, "N L S")
    return with_gradients(case, lambda *x: attention(*x, whole, keep, p)[1], inputs, d_context)


def drawn_attention(seed, N, L, S, D, Dv, mask=None, p=None):
    """mask: how many slices. A query of the mask may attend to no key, and a key is for no query."""
    case = Case(seed)
    Q, K, V = random_attention(N, L, S, D, Dv)
    d_context = randn(N, L, Dv)
    if mask is not None:
        mask = chance(0.6, mask, L, S)
        mask[1, 2] = False
        mask[0, :, 3] = False
    keep = None if p is None else dropout_mask(p, N, L, S)
    return attention_case(case, Q, K, V, d_context, mask, keep, p or 0.0)


# Two queries, three keys, D = 2, Dv = 2.
BY_HAND = (
    doubles([[[1, 0], [1, 1]]]),
    doubles([[[1, 0], [0, 1], [1, 2]]]),
    doubles([[[1, 0], [0, 2], [3, 1]]]),
    doubles([[[1, -1], [2, 0]]]),
)
MASK_BY_HAND = torch.tensor([[[True, True, False], [True, True, True]]])


def cross_entropy_case(case, logits, targets):
    """logits (B, L, V), targets (B, L), -100 is ignored; kept as -1"""
    case.add("logits", logits, "B L V").add("targets", targets.T.clamp(min=-1), "L B")

    def mean(x):
        return F.cross_entropy(x.flatten(0, 1), targets.flatten())

    case.add("loss", mean(logits).reshape(1, 1), "1 1")
    return with_gradients(case, mean, [("logits", logits, "B L V")], torch.ones(()))


def drawn_cross_entropy(seed, ignored):
    case = Case(seed)
    logits, targets = 2 * randn(3, 5, 7), torch.randint(7, (3, 5))
    for b, i in ignored:
        targets[b, i] = -100
    return cross_entropy_case(case, logits, targets)


def drawn_matmul(seed):
    case = Case(seed)
    return matmul_case(case, randn(4, 3), randn(3, 5), randn(4, 5))


def drawn_softmax(seed):
    case = Case(seed)
    return softmax_case(case, 2 * randn(3, 4, 6), randn(3, 4, 6))


def scalar_graph():
    """z = x·y + x and L = z²: x is reached on two paths."""
    case = Case()
    x, y = doubles([[4]]), doubles([[0.5]])
    case.add("x", x, "1 1").add("y", y, "1 1")
    inputs = [("x", x, "1 1"), ("y", y, "1 1")]
    return with_gradients(case, lambda x, y: (x * y + x) ** 2, inputs, torch.ones(1, 1))


def rates():
    """Five rates of the chapter's table, each at a number of its own; scalar_graph has u·v."""
    case = Case()
    functions = {
        "square": (torch.square, 1.0),
        "root": (torch.sqrt, 4.0),
        "inverse": (torch.reciprocal, 2.0),
        "exp": (torch.exp, 1.5),
        "log": (torch.log, 2.5),
    }
    for name, (function, x) in functions.items():
        case.add(name, doubles([[x]]), "1 1")
        with_gradients(case, function, [(name, doubles([[x]]), "1 1")], torch.ones(1, 1))
    return case


def cases():
    return {
        "scalar_graph": scalar_graph(),
        "rates": rates(),
        "product_by_hand": matmul_case(
            Case(), doubles([[1, 2], [3, 4]]), doubles([[5, 6], [7, 8]]), doubles([[1, 0], [2, -1]])
        ),
        "softmax_by_hand": softmax_case(Case(), doubles([[[2, 1, 1]]]).log(), doubles([[[1, 2, 4]]])),
        "by_hand": attention_case(Case(), *BY_HAND),
        "masked_by_hand": attention_case(Case(), *BY_HAND, MASK_BY_HAND),
        "loss_by_hand": cross_entropy_case(
            Case(), doubles([[[2, 1, 1], [1, 1, 8], [1, 3, 1]]]).log(), torch.tensor([[0, 1, -100]])
        ),
        "product": drawn_matmul(241),
        "softmax": drawn_softmax(242),
        "plain": drawn_attention(243, N=2, L=4, S=5, D=3, Dv=6),
        "masked": drawn_attention(244, N=6, L=4, S=5, D=3, Dv=2, mask=3),
        "dropout": drawn_attention(245, N=2, L=5, S=7, D=3, Dv=4, p=0.4),
        "everything": drawn_attention(246, N=4, L=5, S=6, D=2, Dv=3, mask=2, p=0.3),
        "tokens": drawn_cross_entropy(247, []),
        "ignored": drawn_cross_entropy(248, [(0, 4), (2, 1), (2, 2), (2, 4)]),
    }
