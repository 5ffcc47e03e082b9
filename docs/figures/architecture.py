"""The whole course in one picture, for docs/architecture.md: how a mistake gets its sentence, and what passing code becomes."""

from svg import Figure

TALL = 44  # of a box


def labelled(figure, x, y, width, title, place, colour):
    """A box with what it is, and below that where it is in the repository."""
    figure.rect(x, y, width, TALL, colour, 0.12, colour)
    figure.text(x + width / 2, y + 18, title, "strong", "middle")
    figure.text(x + width / 2, y + 35, place, "dim small mono", "middle")


def figures():
    figure = Figure(
        "Checks run on each catalogued mistake, and what they get is recorded; when they fail on your file, what they get is "
        "looked up there, which gives the sentence that names your mistake; files that pass run in generate and train",
        448,
    )
    figure.text(85, 18, "each mistake, once", "purple", "middle")
    figure.text(265, 18, "your file, at each save", "blue", "middle")
    labelled(figure, 10, 28, 150, "solution + edit", "mistakes.json", "purple")
    labelled(figure, 190, 28, 160, "your file", "lessons/NN_name/", "blue")
    figure.arrow((85, 72), (85, 98), colour="purple")
    figure.arrow((265, 72), (265, 98), colour="blue")

    labelled(figure, 10, 98, 340, "checks, with values from PyTorch", "checks.cpp, golden.json", "green")
    figure.arrow((85, 142), (85, 182), colour="purple")
    figure.arrow((225, 142), (225, 182), colour="blue")
    figure.text(233, 165, "fails", "dim small")
    figure.arrow((325, 142), (325, 378), colour="blue")
    figure.text(317, 165, "passes", "dim small", "end")

    labelled(figure, 10, 182, 140, "recordings", "recorded.json", "purple")
    labelled(figure, 165, 182, 145, "failure", "tools/verdict/", "blue")
    figure.arrow((85, 226), (85, 252), colour="purple")
    figure.arrow((225, 226), (225, 252), colour="blue")
    labelled(figure, 10, 252, 300, "which mistake gave the same?", "tools/verdict/naming", "green")
    figure.arrow((160, 296), (160, 316))
    figure.rect(10, 316, 300, 44, "orange", 0.12, "orange")
    figure.text(160, 334, "likely  the mask was applied after the", "mono small", "middle")
    figure.text(160, 351, "softmax, so the rows no longer sum to one", "mono small", "middle")

    labelled(figure, 10, 378, 340, "./learn generate, ./learn train", "programs/", "green")
    figure.text(180, 440, "your compiled files, and solutions for the rest", "dim small", "middle")
    return {"architecture": figure}
