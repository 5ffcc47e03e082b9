"""Lesson 23: models that others trained. Also writes the files in models/ (models.py)."""

import pathlib
import sys

import torch
from golden_helpers import Case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402

# What random texts are made of: letters, marks, numbers, spaces, signs and controls that have had their class for long.
ALPHABET = (
    "theaisn the os'''tsdmlvr \n\n\r\t,.!?-_(<|>\"#012379TSHELMDVR"
    "\u00e9\u00df\u00b2\u00bd\u00a0\u00ad\u00a1\u00ac\u00ae\u00ff\u0000\u001f\u007f\u0085\u0300\u0301\u0130\u03a3\u0416\u05d0\u0627\u0661"
    "\u0915\u093e\u0969\u0e01\u1100\u1161\u1680\u1e9e\u2003\u200b\u200d\u2014\u2019\u2028\u202f\u2082\u2160\u20ac\u212b\u3000"
    "\u3042\u4e2d\u56fd\uac00\ufe0f\uff13\ufffd\U0001f642\U0001f44d\U0001f3fd\U0001d400\U00020000"
)
COUNTS = {"gpt2": 4, "llama": 3, "qwen3": 2, "smollm": 1}  # hundreds of texts


class Drawn:
    """Knuth's linear congruential generator: the checks draw the same texts."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def text(self):
        return "".join(ALPHABET[self.below(len(ALPHABET))] for _ in range(1 + self.below(16)))


def hashed(lists):
    """One number below 2^48 for lists of ids: 31 times the sum so far plus the next, with a 0 after each list."""
    result = 0
    for ids in lists:
        for id in [*ids, -1]:
            result = (31 * result + id + 1) % 2**48
    return result


def numbers(values):
    return torch.tensor([float(value) for value in values])


BITS = {
    torch.float16: [0x3C00, 0xBC00, 0x3555, 0x4248, 0x5678, 0xC049, 0x7BFF, 0xFBFF, 0x0400, 0x8400, 0x03FF, 0x0001, 0x8001,
                    0x0000, 0x0155, 0x3BFF],
    torch.bfloat16: [0x3F80, 0xBF80, 0x3EAB, 0x4049, 0xC2F7, 0x3C00, 0x7F7F, 0xFF7F, 0x0080, 0x8080, 0x007F, 0x0001, 0x8001,
                     0x0000, 0x0055, 0x3F7F],
}  # fmt: skip


def small_floats():
    """16 numbers of each type: ordinary ones, the largest, the smallest normal ones, subnormal ones, zero."""
    case = Case()
    for name, (dtype, bits) in zip(("float16", "bfloat16"), BITS.items()):
        signed = torch.tensor(bits, dtype=torch.int32).to(torch.int16)
        case.add(name + ".bits", numbers(bits), "A").add(name, signed.view(dtype).double(), "A")
    return case


def logits(name):
    """What a model gives for the ids 0, 7, 14, ...: (L, V)"""
    config, _, weights = models.models()[name]
    ids = [(7 * i + 3) % config["vocab_size"] for i in range(9)]
    compute = models.gpt2_logits if name == "gpt2" else models.llama_logits
    return Case().add("ids", numbers(ids), "L").add("logits", compute(weights, config, torch.tensor(ids)), "L V")


def texts():
    """Ids of some texts, with special tokens; and hashes of the ids of many random ones."""
    case, tokenizers = Case(), models.tokenizers()
    case.add("alphabet", numbers(map(ord, ALPHABET)), "A")
    for name, count in COUNTS.items():
        drawn = Drawn(23)
        hundreds = [[drawn.text() for _ in range(100)] for _ in range(count)]
        encode = tokenizers[name].encode
        case.add(f"{name}.hashes", numbers(hashed(map(encode, hundred)) for hundred in hundreds), "A")
    text = "It isn't 1234 there,\n\n  says the\u00e9\u4e2d zebra! "
    for name, tokenizer in tokenizers.items():
        special = list(tokenizer.specials)[-1]
        case.add(f"{name}.ids", numbers(tokenizer.encode(f"{special} {text}{special}")), "A")
    return case


def worked():
    """The examples of the chapter: 16-bit numbers, a text, and what attention weights become when weights are loaded wrong."""
    case = Case().add("ids", numbers(models.tokenizers()["gpt2"].encode("the other theé")), "A")
    signed = torch.tensor([0x4248, 0xC049], dtype=torch.int32).to(torch.int16)
    case.add("half", signed.view(torch.float16).double(), "A").add("brain", signed.view(torch.bfloat16).double(), "A")
    W_q, W_k = torch.tensor([[1.0, 2], [0, 1]]), torch.tensor([[1.0, 1], [0, 2]])
    loaded = {"right": (W_q, W_k), "transposed": (W_q.T, W_k), "exchanged": (W_k, W_q)}
    for name, (query, key) in loaded.items():
        scores = (query @ key.T / 2**0.5).masked_fill(torch.ones(2, 2).triu(1) == 1, -torch.inf)
        case.add(name, scores.softmax(-1), "L S")
    return case


def cases():
    models.write()
    return {
        "small_floats": small_floats(),
        "texts": texts(),
        "worked": worked(),
        **{name: logits(name) for name in models.models()},
    }
