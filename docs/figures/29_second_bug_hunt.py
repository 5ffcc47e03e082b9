"""Lesson 29: six strips, each right where one tests first, and wrong elsewhere."""

import numpy as np
from course import softmax
from svg import Figure

WIDTH = 16  # of a head


def causal(L, S):
    return np.arange(S) <= np.arange(L)[:, None] + S - L


def attend(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V


def turned(X, positions):
    angles = np.outer(positions, 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH))
    a, b = np.split(X, 2, axis=-1)
    return np.hstack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)])


def turns(draw, count=8, tokens=3):
    """The error of each turn, when all keys in the cache are rotated in each of them."""
    Q, K, V = draw.standard_normal((3, count * tokens, WIDTH))
    every = np.arange(count * tokens)
    right = attend(turned(Q, every), turned(K, every), V, causal(len(Q), len(Q)))
    errors, cache = [], np.zeros((0, WIDTH))
    for first in range(0, len(Q), tokens):
        end = first + tokens
        cache = turned(np.vstack([cache, K[first:end]]), np.arange(end))
        found = attend(turned(Q[first:end], every[first:end]), cache, V[:end], causal(tokens, end))
        errors.append(np.abs(found - right[first:end]).max())
    return errors


def groups(draw, heads=8, sizes=(1, 2, 4, 8)):
    """The error for each number of key/value heads, when they are dealt out in turn."""
    errors = []
    for count in sizes:
        Q, K, V = (draw.standard_normal((n, 5, WIDTH)) for n in (heads, count, count))
        h = np.arange(heads)
        right, found = (attend(Q, K[use], V[use]) for use in (h // (heads // count), h % count))
        errors.append(np.abs(found - right).max())
    return errors


def lengths(draw, longest=8):
    """The error of a sentence with 1, 2, ... tokens, beside one with `longest`."""
    errors = []
    for length in range(1, longest + 1):
        q, K, V = draw.standard_normal((1, WIDTH)), *draw.standard_normal((2, longest, WIDTH))
        K[length:], V[length:] = 0, 0
        errors.append(np.abs(attend(q, K, V) - attend(q, K[:length], V[:length])).max())
    return errors


def places(draw, count=8, window=4, chunk=2):
    """The error of each token, when the window is counted from the beginning of its chunk."""
    Q, K, V = draw.standard_normal((3, count, WIDTH))
    errors = []
    for place in range(count):
        i = place % chunk
        right, found = (slice(max(0, end - window), place + 1) for end in (place + 1, i + 1))
        query = Q[place : place + 1]
        errors.append(np.abs(attend(query, K[found], V[found]) - attend(query, K[right], V[right])).max())
    return errors


def blocks(draw, count=8, size=4):
    """The error for a query whose best key is in block 1, 2, ..., when nothing is rescaled."""
    errors = []
    for best in range(count):
        q, K, V = draw.standard_normal((1, WIDTH)), *draw.standard_normal((2, count * size, WIDTH))
        K *= 0.2
        K[best * size] = 1.5 * q
        scores, maximum, total, mixed = (K @ q[0]) / np.sqrt(WIDTH), -np.inf, 0, 0
        for first in range(0, len(K), size):
            own = scores[first : first + size]
            maximum = max(maximum, own.max())
            total, mixed = total + np.exp(own - maximum).sum(), mixed + np.exp(own - maximum) @ V[first : first + size]
        # Blocks before the best one move the maximum a little, too: the first block is exact only when it holds the best.
        errors.append(np.abs(mixed / total - attend(q, K, V)[0]).max())
    return errors


def prefixes(draw, count=8, tile=4):
    """The error after 0, 1, ... tokens in a cache, when only the last tile of keys is masked."""
    errors = []
    for prefix in range(count):
        L, S = 2 * tile, prefix + 2 * tile
        Q, K, V = draw.standard_normal((L, WIDTH)), *draw.standard_normal((2, S, WIDTH))
        mask = causal(L, S)
        leaky = mask.copy()
        for i in range(L):
            end = prefix + (i // tile + 1) * tile  # the keys that the block of query i reads
            leaky[i, : (end - 1) // tile * tile] = True
        errors.append(np.abs(attend(Q, K, V, leaky) - attend(Q, K, V, mask)).max())
    return errors


STRIPS = [
    ("29.1", ("turn of a chat,", "3 tokens each"), range(1, 9), turns),
    ("29.2", ("key/value heads", "of 8 heads"), (1, 2, 4, 8), groups),
    ("29.3", ("tokens; another", "sentence has 8"), range(1, 9), lengths),
    ("29.4", ("token, window 4,", "in chunks of 2"), range(1, 9), places),
    ("29.5", ("block that holds", "the best key"), range(1, 9), blocks),
    ("29.6", ("cached tokens, 8", "new; tiles of 4 x 4"), range(8), prefixes),
]


def strips():
    figure = Figure("Where each of the six bugs shows: the error of its result, from case to case", 362)
    draw = np.random.default_rng(29)
    cell, left = 24, 158
    for row, (name, words, cases, errors) in enumerate(STRIPS):
        top, found = 18 + 50 * row, errors(draw)
        figure.text(10, top + 24, name, "strong")
        for line, text in enumerate(words):
            figure.text(46, top + 17 + 14 * line, text, "dim small")
        for place, (case, error) in enumerate(zip(cases, found)):
            x, wrong = left + cell * place, error > 1e-9
            figure.text(x + cell / 2, top, str(case), "dim small", "middle")
            opacity = 0.15 + 0.65 * error / max(found) if wrong else 0.2
            figure.rect(x, top + 6, cell, 26, "red" if wrong else "green", opacity, "faint", 0)
            label = (f"{error:.1f}" if error >= 0.95 else f"{error:.2f}"[1:]) if wrong else "✓"
            figure.text(x + cell / 2, top + 23, label, "small mono", "middle")
    figure.text(10, 326, "✓ right. A number: the largest error of the output,", "dim small")
    figure.text(10, 341, "of values with standard deviation 1. The stronger", "dim small")
    figure.text(10, 356, "the colour, the larger the error within its row.", "dim small")
    return figure


def diagonal():
    """29.6: which tiles the diagonal crosses, with 0 and with 2 tokens in the cache."""
    figure = Figure("Task 29.6: after two cached tokens the diagonal of a query block crosses two tiles of keys", 242)
    tile, cell, L = 4, 15, 8
    for left, prefix in ((14, 0), (196, 2)):
        top, S = 52, prefix + L
        figure.text(left, 18, f"{prefix} tokens in the cache", "strong small")
        figure.text(left, top - 8, "keys", "dim small")
        for i in range(L):
            end = prefix + (i // tile + 1) * tile
            for j in range(S):
                x, y = left + j * cell, top + i * cell
                seen = j <= i + prefix
                leaks = not seen and j < (end - 1) // tile * tile
                fill, opacity = ("blue", 0.45) if seen else ("red", 0.8) if leaks else ("faint", 0.15)
                figure.rect(x, y, cell, cell, fill, opacity, "faint", 0)
        for k in range(0, L + 1, tile):
            figure.line((left, top + k * cell), (left + S * cell, top + k * cell), colour="ink")
        for k in (*range(0, S, tile), S):
            figure.line((left + k * cell, top), (left + k * cell, top + L * cell), colour="ink")
    figure.text(14, 232, "Rows: queries. Columns: keys. Thick lines: tiles.", "dim small")
    for k, (fill, opacity, words) in enumerate(
        (("blue", 0.45, "attended, and allowed"), ("red", 0.8, "attended, but in the future: not masked"))
    ):
        figure.rect(14, 184 + 18 * k, 12, 12, fill, opacity, "faint", 0)
        figure.text(32, 194 + 18 * k, words, "dim small")
    return figure


def figures():
    return {"strips": strips(), "diagonal": diagonal()}
