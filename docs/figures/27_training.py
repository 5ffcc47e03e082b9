"""Lesson 27: two optimizers in a valley, the schedule of the learning rate, and loss curves of a tiny model."""

import importlib.util
import sys
from math import cos, log, pi, sin, sqrt

import numpy as np
from course import TESTS
from svg import Figure

LESSON = "27_training"


# ------------------------------------------------------------------------------------------------------------- a valley

STEEP, LOWEST = 200.0, np.array([1.6, 0.6])


def slope(x):
    """Of the loss (x - 1.6)² / 2 + 200 (y - 0.6)² / 2."""
    return np.array([1.0, STEEP]) * (x - LOWEST)


def sgd_path(steps, rate=0.009):
    path = [np.array([-1.2, 1.5])]
    for _ in range(steps):
        path.append(path[-1] - rate * slope(path[-1]))
    return path


def adam_path(steps, rate=0.15, beta1=0.9, beta2=0.95, epsilon=1e-8):
    path, m, v = [np.array([-1.2, 1.5])], np.zeros(2), np.zeros(2)
    for t in range(1, steps + 1):
        g = slope(path[-1])
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        path.append(path[-1] - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon))
    return path


def loss_at(point):
    return float(np.array([1.0, STEEP]) @ (point - LOWEST) ** 2) / 2


def valley():
    figure = Figure(
        "Sixty steps of gradient descent and of Adam in a narrow valley: gradient descent swings from side to side and "
        "creeps along it, Adam moves as far along the valley as across it, and comes close to the lowest point",
        288,
    )
    left, top, width, height = 12, 26, 336, 196

    def place(point):
        return left + (point[0] + 1.7) / 4.1 * width, top + (1.75 - point[1]) / 2.3 * height

    figure.text(12, 17, "two parameters; lines: the loss is 4, 16, 36, 64", "dim small")
    frame = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    figure.parts.append(f'<clipPath id="frame"><rect {frame}/></clipPath><g clip-path="url(#frame)">')
    for level in (4.0, 16.0, 36.0, 64.0):
        a, b = sqrt(2 * level), sqrt(2 * level / STEEP)
        (x0, y0), (x1, y1) = place(LOWEST), place(LOWEST + np.array([a, b]))
        figure.parts.append(
            f'<ellipse cx="{x0:.1f}" cy="{y0:.1f}" rx="{x1 - x0:.1f}" ry="{y0 - y1:.1f}" fill="none" '
            'class="faint-line" stroke-width="1.2" style="fill:none"/>'
        )
    figure.parts.append("</g>")
    figure.parts.append(f'<rect {frame} class="faint-line" fill="none" stroke-width="1" style="fill:none"/>')
    for level in (4.0, 16.0, 36.0, 64.0):
        across = sqrt(2 * (level - 0.6**2 / 2) / STEEP)
        x, y = place(LOWEST + np.array([0.6, -across]))
        figure.rect(x - 9, y - 7, 18, 14, "card", 1, None, 0)
        figure.text(x, y + 4, f"{level:.0f}", "dim small", "middle")
    paths = (
        (sgd_path(60), "orange", {1: (-10, 12), 2: (10, -3), 3: (10, 14), 4: (9, 1)}),
        (adam_path(60), "blue", {5: (12, -4), 10: (-2, 17), 15: (0, 18), 30: (10, -2), 60: (12, 14)}),
    )
    for path, colour, labels in paths:
        figure.line(*(place(point) for point in path), colour=colour, width=1.6)
        for step, point in enumerate(path):
            if step in labels or step == 60:
                x, y = place(point)
                figure.rect(x - 2.4, y - 2.4, 4.8, 4.8, colour, 1, None, 2.4)
        for step, (dx, dy) in labels.items():
            x, y = place(path[step])
            figure.text(x + dx, y + dy, str(step), f"{colour} small strong", "middle")
    x, y = place(paths[0][0][0])
    figure.rect(x - 3, y - 3, 6, 6, "ink", 1, None, 3)
    figure.text(x + 8, y - 1, "start, loss 85", "small strong")
    x, y = place(paths[0][0][60])
    figure.text(x - 2, y - 9, "60", "orange small strong", "middle")
    x, y = place(LOWEST)
    figure.line((x - 5, y), (x + 5, y), colour="ink", width=1.6)
    figure.line((x, y - 5), (x, y + 5), colour="ink", width=1.6)
    figure.text(x + 2, y - 22, "lowest, loss 0", "small strong", "middle")
    figure.line((12, 240), (32, 240), colour="orange", width=2)
    figure.text(38, 244, "gradient descent, rate 0.009: after 60", "small")
    figure.text(38, 258, f"steps the loss is {loss_at(paths[0][0][60]):.1f}", "small")
    figure.line((12, 274), (32, 274), colour="blue", width=2)
    figure.text(38, 278, f"Adam, rate 0.15, beta2 0.95: it is {loss_at(paths[1][0][60]):.2f}", "small")
    return figure


# ------------------------------------------------------------------------------------------------------------- schedule


def rate_at(step, max_rate=1.0, min_rate=0.15, W=100, T=1000):
    if step < W:
        return max_rate * (step + 1) / W
    if step >= T:
        return min_rate
    return min_rate + (max_rate - min_rate) * (1 + cos(pi * (step - W) / (T - W))) / 2


def schedule():
    figure = Figure(
        "The learning rate rises for 100 steps, then falls like half a cosine until step 1000, and stays", 200
    )
    left, right, top, bottom = 66, 340, 34, 150

    def place(step, rate):
        return left + step / 1100 * (right - left), bottom - rate * (bottom - top)

    figure.text(12, 18, "learning rate", "small strong")
    for rate, label in ((1.0, "max_rate"), (0.15, "min_rate"), (0.0, "0")):
        figure.line(place(0, rate), place(1100, rate), colour="faint")
        figure.text(left - 6, place(0, rate)[1] + 4, label, "dim small", "end")
    for step, label in ((0, "0"), (100, "W"), (550, "middle"), (1000, "T")):
        figure.line(place(step, 0), place(step, rate_at(step)), colour="faint", dashed=True)
        figure.text(place(step, 0)[0], bottom + 18, label, "dim small", "middle")
    figure.line(
        *(place(step, rate_at(step)) for step in (*range(0, 101, 4), *range(120, 1101, 20))), colour="blue", width=2
    )
    figure.text((left + right) / 2, bottom + 38, "step, here with W = 100 and T = 1000", "small", "middle")
    return figure


# --------------------------------------------------------------------------------------------------------------- curves

SYMBOLS, LENGTH, STEPS, EVERY = 8, 5, 200, 10

# The mean loss of each ten steps, as `27_training.py` prints it (with PyTorch, 5 s): so that the picture is the same on
# every machine.
CURVES = {
    "sgd": [
        2.2176,
        2.1405,
        2.1119,
        2.0942,
        2.0958,
        2.0942,
        2.0782,
        2.0316,
        2.0022,
        1.9941,
        1.945,
        1.7614,
        1.7101,
        1.5068,
        1.4478,
        1.358,
        1.1683,
        0.8478,
        0.4986,
        0.222,
    ],
    "large": [
        2.4563,
        2.1384,
        2.1014,
        2.0909,
        2.0873,
        2.0598,
        1.9924,
        1.924,
        1.7908,
        1.7469,
        1.7875,
        1.7734,
        1.9339,
        1.7173,
        1.683,
        1.6703,
        1.5263,
        1.6096,
        1.4994,
        1.3897,
    ],
    "small": [
        2.2024,
        2.1456,
        2.1329,
        2.1139,
        2.0926,
        2.0707,
        2.0473,
        2.0186,
        2.0132,
        1.9898,
        1.9558,
        1.914,
        1.9005,
        1.8404,
        1.806,
        1.7754,
        1.7226,
        1.6888,
        1.6442,
        1.6113,
    ],
    "schedule": [
        2.1643,
        1.9882,
        1.3059,
        0.3946,
        0.0641,
        0.0155,
        0.0059,
        0.0034,
        0.0024,
        0.0019,
        0.0017,
        0.0014,
        0.0013,
        0.0011,
        0.001,
        0.0009,
        0.0008,
        0.0007,
        0.0007,
        0.0006,
    ],
}


def new_model():
    """A GPT-2 as the one that computes the golden values, drawn as initialize() draws."""
    import torch

    spec = importlib.util.spec_from_file_location("golden_27", TESTS / LESSON / "golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(27)
    model = module.LanguageModel(gpt2=True, V=SYMBOLS + 1, N=2, E=32, F=64, H=4, G=4, P=2 * LENGTH, tied=True)
    for name, x in model.named_parameters():
        if x.dim() == 1:
            x.data.fill_(1.0 if name.endswith("norm.weight") else 0.0)
        else:
            x.data.normal_(0, 0.01 if name.endswith(("output_proj.weight", "down_proj.weight")) else 0.02)
    return model


def losses(make_optimizer, rate_of):
    """The means of ten steps each, on the task of reversing a sequence."""
    import torch

    model = new_model()
    optimizer = make_optimizer(model)
    found = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step)
        sequence = torch.randint(SYMBOLS, (32, LENGTH))
        text = torch.cat((sequence, torch.full((32, 1), SYMBOLS), sequence.flip(1)), 1)
        logits = model(text[:, :-1])[:, LENGTH:]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, LENGTH + 1 :].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return [round(float(np.mean(found[k : k + EVERY])), 4) for k in range(0, STEPS, EVERY)]


def computed_curves():
    import torch

    torch.set_num_threads(1)

    def sgd(model):
        return torch.optim.SGD(model.parameters(), lr=0.5)

    def adamw(model):
        groups = [
            {"params": [x for x in model.parameters() if x.dim() == 2], "weight_decay": 0.1},
            {"params": [x for x in model.parameters() if x.dim() == 1], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, betas=(0.9, 0.95))

    return {
        "sgd": losses(sgd, lambda step: 0.5),
        "large": losses(adamw, lambda step: 0.1),
        "small": losses(adamw, lambda step: 0.0003),
        "schedule": losses(adamw, lambda step: rate_at(step, 0.01, 0.001, 20, STEPS)),
    }


def curves():
    figure = Figure("The loss of a tiny model that learns to reverse five symbols, with four ways of training", 286)
    left, right, top, bottom = 42, 232, 30, 206
    most = 2.5

    def place(step, loss):
        return left + step / STEPS * (right - left), bottom - min(loss, most) / most * (bottom - top)

    figure.text(12, 18, "loss per token", "small strong")
    for loss in (0, 0.5, 1, 1.5):
        figure.line(place(0, loss), place(STEPS, loss), colour="faint")
        figure.text(left - 6, place(0, loss)[1] + 4, f"{loss:g}", "dim small", "end")
    guess = log(SYMBOLS + 1)
    figure.line(place(0, guess), place(STEPS, guess), colour="dim", dashed="1 3")
    figure.text(left - 6, place(0, guess)[1] + 4, "ln 9", "dim small", "end")
    figure.text(right + 6, place(0, guess)[1] + 4, "a guess", "dim small")
    for step in range(0, STEPS + 1, 50):
        figure.text(place(step, 0)[0], bottom + 16, str(step), "dim small", "middle")
    figure.text((left + right) / 2, bottom + 32, "step", "small", "middle")
    lines = (
        ("small", "green", "8 3 2 3", "AdamW, 0.0003", -3),
        ("large", "purple", "2 3", "AdamW, 0.1", 4),
        ("sgd", "orange", "8 4", "descent, 0.5", -2),
        ("schedule", "blue", False, "AdamW, schedule", 4),
    )
    for name, colour, dashes, label, shift in lines:
        points = [place(EVERY * (k + 0.5), mean) for k, mean in enumerate(CURVES[name])]
        figure.line(*points, colour=colour, width=2, dashed=dashes)
        figure.text(right + 6, points[-1][1] + shift, label, f"{colour} small strong")
    figure.text(12, 258, "schedule: up to 0.01, then down; others: constant", "dim small")
    figure.text(12, 272, "descent: gradient descent. Means of 10 steps.", "dim small")
    return figure


def figures():
    return {"valley": valley(), "schedule": schedule(), "curves": curves()}


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS.parent / "tools" / "gate"))  # golden_helpers
    for name, means in computed_curves().items():
        print(f'    "{name}": {means},')
