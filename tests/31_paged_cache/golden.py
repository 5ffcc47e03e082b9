"""Lesson 31: attention over a cache whose tokens lie in pages; where they lie changes no number."""

import math

from golden_helpers import Case, attention, causal_mask, doubles, randn


def paged(seed, H, G, L, S, D):
    """The last L of S tokens of one sequence; query head h reads key/value head h / (H / G)."""
    case = Case(seed)
    Q, K, V = 2 * randn(1, H, L, D), 2 * randn(1, G, S, D), randn(1, G, S, D)
    case.add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S D")
    K, V = (x.repeat_interleave(H // G, dim=1) for x in (K, V))
    return case.add("context", attention(Q, K, V, causal_mask(L, S))[1], "B H L D")


def by_hand():
    Q, K, V = doubles([[[[1]]]]), doubles([[[[1], [2], [0]]]]), doubles([[[[10], [20], [30]]]])
    return Case().add("context", attention(Q, K, V)[1], "B H L D")


def fnv1a(numbers):
    """FNV-1a, 64 bits, over numbers of eight bytes each."""
    value = 0xCBF29CE484222325
    for byte in b"".join(number.to_bytes(8, "little") for number in numbers):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def hashes(tokens, page_size):
    """(pages, 2): the upper and the lower 32 bits of each."""
    found = [0]
    for begin in range(0, len(tokens) - page_size + 1, page_size):
        found.append(fnv1a([found[-1], *tokens[begin : begin + page_size]]))
    return doubles([[value >> 32, value % 2**32] for value in found[1:]])


def waste():
    """Lengths, a reservation of 2048 rows for each, and pages of 16."""
    lengths = [37, 512, 16, 1, 900]
    pages = 16 * sum(math.ceil(length / 16) for length in lengths)
    shares = [1 - sum(lengths) / (len(lengths) * 2048), 1 - sum(lengths) / pages]
    return Case().add("shares", doubles([shares]), "1 ways")


def cases():
    return {
        "by_hand": by_hand(),
        "grouped": paged(311, H=6, G=2, L=5, S=11, D=3),
        "decode": paged(312, H=4, G=4, L=1, S=8, D=3),
        "hashes": Case().add("hashes", hashes([5, 3, 8, 1, 9, 9, 2, 6, 4, 7], 3), "pages halves"),
        "waste": waste(),
    }
