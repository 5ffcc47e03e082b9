"""Lesson 14: the pairs of RoPE as hands of clocks, why only the offset counts, and which columns are a pair."""

import numpy as np
from svg import Figure, number

PAIR_COLOURS = ("blue", "orange", "green")


def circle(figure, x, y, radius):
    figure.parts.append(
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="faint-line" fill="none" stroke-width="1.2"/>'
    )


def arc(figure, left, right, y, depth, colour):
    """Below y, from left to right."""
    middle = (left + right) / 2
    figure.parts.append(
        f'<path d="M{number(left)},{number(y)} Q{number(middle)},{number(y + 2 * depth)} {number(right)},{number(y)}"'
        f' class="{colour}-line" stroke-width="1.5"/>'
    )


def clocks():
    """D = 6: the angle of each pair at some positions."""
    positions = (0, 1, 2, 45, 300)
    speeds = 10000.0 ** (-2 * np.arange(3) / 6)
    figure = Figure(
        "Three pairs as hands of clocks, at positions 0, 1, 2, 45, 300: pair 0 turns fast, pair 2 slowly", 272
    )
    figure.text(12, 22, "position", "dim small")
    for p, speed in enumerate(speeds):
        y = 58 + 64 * p
        figure.text(12, y - 8, f"pair {p}", "strong")
        figure.text(12, y + 7, "one turn in", "dim small")
        figure.text(12, y + 21, f"{2 * np.pi / speed:.{1 if p == 0 else 0}f} tokens", "dim small")
        for column, position in enumerate(positions):
            x, angle = 122 + 52 * column, position * speed
            degrees = np.degrees(angle) % 360
            alike = p == 0 and position in (1, 45)
            circle(figure, x, y, 20)
            figure.line((x, y), (x, y - 20), colour="faint")
            tip = (x + 19 * np.sin(angle), y - 19 * np.cos(angle))
            figure.arrow((x, y), tip, colour="orange" if alike else "blue")
            label = f"{degrees:.1f}°" if 0 < degrees < 1 else f"{degrees:.0f}°"
            figure.text(x, y + 33, label, "orange small strong" if alike else "dim small", "middle")
            if p == 0:
                figure.text(x, 22, str(position), "strong", "middle")
    figure.text(12, 246, "Pair 0 can hardly tell 45 from 1. Pair 1 can.", "dim small")
    figure.text(12, 262, "D = 6, base 10000. Up: cosine. Right: sine.", "dim small")
    return figure


def offset():
    """One pair of speed 1, with q and k equal and of length 1: where both point at three pairs of positions."""
    figure = Figure(
        "Both hands turn with their positions; the angle between them, and so the score, depends on the offset alone",
        238,
    )
    radius = 40
    for column, (i, j) in enumerate(((2, 1), (12, 11), (12, 9))):
        x, y = 62 + 118 * column, 84

        def at(position, length):
            return x + length * np.sin(position), y - length * np.cos(position)

        start, end = at(j, radius), at(i, radius)
        figure.parts.append(
            f'<path d="M{number(x)},{number(y)} L{number(start[0])},{number(start[1])} A{radius},{radius} 0 0 1 '
            f'{number(end[0])},{number(end[1])} Z" class="faint" fill-opacity="0.6"/>'
        )
        circle(figure, x, y, radius)
        for name, position, hand in (("q", i, "blue"), ("k", j, "orange")):
            figure.arrow((x, y), at(position, radius - 1), colour=hand)
            label = at(position, radius + 10)
            figure.text(label[0], label[1] + 4, name, f"{hand} strong", "middle")
        figure.text(x, 20, f"q at {i}, k at {j}", "strong", "middle")
        figure.text(x, 154, f"offset {i - j}", "strong", "middle")
        figure.text(x, 170, f"q {np.degrees(i - j):.0f}° ahead", "small", "middle")
        figure.text(x, 186, f"score {np.cos(i - j):.2f}", "small", "middle")
    figure.text(12, 212, "Speed 1; q and k are equal before they turn.", "dim small")
    figure.text(12, 228, "a points up, b to the right.", "dim small")
    return figure


def pairings():
    """One head with D = 6: the same columns in both orders."""
    order = np.concatenate((np.arange(0, 6, 2), np.arange(1, 6, 2)))
    left, step, width, height = 36, 50, 38, 26
    upper, lower = 62, 150
    figure = Figure(
        "Interleaved pairs are neighbours; half-split pairs are D/2 apart; to_half_split moves the columns", 250
    )
    figure.text(12, 22, "interleaved: places 2p and 2p + 1 are a pair", "strong")
    figure.text(12, 228, "half_split: places p and p + D/2 are a pair", "strong")
    centres = [left + step * place + width / 2 for place in range(6)]
    for pair, colour in enumerate(PAIR_COLOURS):
        a, b = centres[2 * pair], centres[2 * pair + 1]
        figure.line((a, upper - 4), (a, upper - 16), (b, upper - 16), (b, upper - 4), colour=colour, width=1.5)
        figure.text((a + b) / 2, upper - 20, f"pair {pair}", f"{colour} small", "middle")
        arc(figure, centres[pair], centres[pair + 3], lower + height + 3, 20, colour)
    for place in range(6):
        colour = PAIR_COLOURS[place // 2]
        figure.box(left + step * place, upper, width, height, str(place), "mono", colour, 0.25)
        came_from = order[place]
        colour = PAIR_COLOURS[came_from // 2]
        figure.box(left + step * place, lower, width, height, str(came_from), "mono", colour, 0.25)
        figure.arrow((centres[came_from], upper + height + 4), (centres[place], lower - 4), colour=colour)
    return figure


def slower():
    """D = 128 and base 10000, trained on 4096 tokens, for texts 8 times as long: speed / new speed of each pair."""
    p, s, trained = np.arange(64), 8, 4096
    speeds = 10000.0 ** (-2 * p / 128)
    turns = trained * speeds / (2 * np.pi)

    def pair_that_turned(times):
        return 128 * np.log(trained / (2 * np.pi * times)) / (2 * np.log(10000))

    low, high = np.floor(pair_that_turned(32)), np.ceil(pair_that_turned(1))
    kept = {"llama3": np.clip((turns - 1) / 3, 0, 1), "yarn": 1 - np.clip((p - low) / (high - low), 0, 1)}
    left, right, bottom, top = 44, 344, 196, 46
    figure = Figure("How many times slower each pair becomes: only fast pairs keep their speed in YaRN and llama3", 236)

    def points(times):
        return [(left + (right - left) * i / 63, bottom - (bottom - top) * (y - 1) / (s - 1)) for i, y in zip(p, times)]

    figure.text(12, 22, "times slower, s = 8", "strong")
    figure.line((left, top - 8), (left, bottom), (right, bottom), colour="faint")
    for y in (1, 8):
        figure.text(left - 8, points([y])[0][1] + 4, str(y), "dim small", "end")
    for i in (0, 63):
        figure.text(points([1] * 64)[i][0], bottom + 16, f"pair {i}", "dim small", "middle" if i == 0 else "end")
    figure.text((left + right) / 2, bottom + 16, "fast ... slow", "dim small", "middle")
    figure.line(*points(np.full(64, s)), colour="purple", width=1.5)
    figure.line(*points(s ** (2 * p / 126)), colour="blue", width=1.5)
    figure.line(*points(1 / (kept["yarn"] + (1 - kept["yarn"]) / s)), colour="green", width=1.5)
    figure.line(*points(1 / (kept["llama3"] + (1 - kept["llama3"]) / s)), colour="orange", width=1.5)
    figure.text(left + 6, top + 14, "position_interpolation", "purple small")
    figure.text(left + 66, top + 112, "ntk_aware", "blue small")
    figure.text(left + 130, top + 127, "yarn", "green small")
    figure.text(left + 196, top + 130, "llama3", "orange small")
    figure.text(12, 228, "T = 4096, D = 128, base 10000.", "dim small")
    return figure


def figures():
    return {"clocks": clocks(), "offset": offset(), "pairings": pairings(), "slower": slower()}
