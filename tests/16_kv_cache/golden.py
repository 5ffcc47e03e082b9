"""Lesson 16: keys and values that are kept, and decoding token by token.

Decoding gives what the causal forward of each whole sequence gives, without any cache.
"""

import torch
from golden_helpers import Case, MultiHeadAttention, causal_mask, doubles, randn, set_linear
from torch.nn.utils.rnn import pad_sequence


def causal(layer, X):
    return layer(X, mask=causal_mask(X.shape[1]))[1]


def cache(seed):
    """Three appends: a padded prompt, one token each, and two rows of which one sequence takes only the first."""
    B, H, D = 2, 3, 4
    case, keys, values = Case(seed), [[], []], [[], []]
    for number, lengths in enumerate(((5, 2), (1, 1), (1, 2)), start=1):
        K, V = (randn(B, H, max(lengths), D) for _ in range(2))
        case.add(f"K_{number}", K, f"B H L_{number} D").add(f"V_{number}", V, f"B H L_{number} D")
        for b, length in enumerate(lengths):
            keys[b].append(K[b, :, :length])
            values[b].append(V[b, :, :length])
    for name, parts in (("keys", keys), ("values", values)):
        rows = [torch.cat(sequence, dim=1).transpose(0, 1) for sequence in parts]  # (S, H, D) each
        case.add(name, pad_sequence(rows, batch_first=True).transpose(1, 2), "B H S D")
    return case


def decode_case(case, layer, prompt, new, lengths=None):
    """The prompt's tokens first, of which a sequence may have fewer than there are rows, then the new ones."""
    B, L = prompt.shape[:2]
    case.add_layers(layer).add("prompt", prompt, "B L E").add("new", new, "B tokens E")
    decoded = []
    for b, length in enumerate(lengths or [L] * B):
        whole = torch.cat((prompt[b, :length], new[b]))
        decoded.append(causal(layer, whole[None])[0, length:])
    case.add("decoded", torch.stack(decoded), "B tokens E")
    return case.add("prefilled", causal(layer, prompt), "B L E")


def random_case(seed, B, L, tokens, E, H, lengths=None, spread=2):
    case, layer = Case(seed), MultiHeadAttention(E, H)
    prompt, new = spread * randn(B, L, E), spread * randn(B, tokens, E)
    return decode_case(case, layer, prompt, new, lengths)


def by_hand():
    layer = MultiHeadAttention(2)
    set_linear(layer.query_proj, [[1, 1], [0, 1]])
    set_linear(layer.key_proj, [[1, 0], [1, 1]])
    set_linear(layer.value_proj, [[2, 0], [0, 1]])
    set_linear(layer.output_proj, [[1, 1], [0, 1]])
    prompt, new, chunk = doubles([[[1, 0], [0, 1], [1, -1]]]), doubles([[[0, 2]]]), doubles([[[1, 1], [0, 1]]])
    case = decode_case(Case(), layer, prompt, new)
    case.add("extended", causal(layer, torch.cat((prompt, new, chunk), dim=1))[:, 4:], "B L E")
    return case.only("decoded", "prefilled", "extended")


def equal_lengths(seed):
    case, layer = Case(seed), MultiHeadAttention(12, 3)
    before, prompt, new = (2 * randn(2, length, 12) for length in (4, 5, 3))
    return decode_case(case.add("before", before, "B K E"), layer, prompt, new)


def all_padded(seed):
    """Prompts that are all shorter than the padded rows: of what prefill gives, the rows that are tokens."""
    case, layer, prompt = Case(seed), MultiHeadAttention(12, 3), 2 * randn(2, 7, 12)
    case.add_layers(layer).add("prompt", prompt, "B L E")
    return case.add("tokens", causal(layer, prompt[:, :4]), "B tokens E")


def from_nothing(seed):
    case, layer, new = Case(seed), MultiHeadAttention(6, 3), 2 * randn(2, 5, 6)
    return case.add_layers(layer).add("new", new, "B tokens E").add("decoded", causal(layer, new), "B tokens E")


def chunks(seed, B, E, H, lengths):
    """Whole sequences, cut into chunks of which a sequence may have fewer tokens than there are rows; what is computed is
    cut in the same way. Padding has numbers in the chunks, and zeros in the result."""
    case, layer = Case(seed), MultiHeadAttention(E, H)
    case.add_layers(layer)
    wholes = [2 * randn(sum(of_chunk[b] for of_chunk in lengths), E) for b in range(B)]
    computed = [causal(layer, whole[None])[0] for whole in wholes]
    ends = [0] * B
    for number, of_chunk in enumerate(lengths, start=1):
        chunk, extended = 2 * randn(B, max(of_chunk) + 1, E), torch.zeros(B, max(of_chunk) + 1, E)
        for b, length in enumerate(of_chunk):
            chunk[b, :length] = wholes[b][ends[b] : ends[b] + length]
            extended[b, :length] = computed[b][ends[b] : ends[b] + length]
            ends[b] += length
        case.add(f"chunk_{number}", chunk, "B L E").add(f"extended_{number}", extended, "B L E")
    return case


def cases():
    return {
        "cache": cache(161),
        "by_hand": by_hand(),
        "equal_lengths": equal_lengths(162),
        # prompts of three lengths, with something in the rows that are padding
        "ragged": random_case(163, 3, 6, 4, 10, 2, [4, 6, 1]).without("prefilled"),
        "all_padded": all_padded(166),
        "from_nothing": from_nothing(164),
        # three chunks: nothing is cached, then each sequence goes on at its own length, then one has no new token
        "chunks": chunks(167, 3, 8, 2, [(2, 4, 1), (5, 1, 3), (4, 0, 6)]),
        "far_from_zero": random_case(165, 2, 5, 4, 6, 3, spread=200),
    }
