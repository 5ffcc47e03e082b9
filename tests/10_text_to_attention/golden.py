"""Lesson 10: from sentences to attention. Words are found here with Python's own split() and dict."""

import collections
import re

import torch
from golden_helpers import Case, Embedding, MultiHeadAttention, attention, doubles, padding_mask, set_linear

WORDS = ["this", "is", "an", "example", "sentence", "我", "喜欢", "玩", "游戏"]


def column_batch(sentences, length, left=False):
    """(L x B), as ids lie here: one sentence per column. Sentences are lists of words."""
    rows = [[WORDS.index(word) + 1 if word in WORDS else 0 for word in words] for words in sentences]
    fill = [[0] * (length - len(row)) for row in rows]
    return torch.tensor([zeros + row if left else row + zeros for row, zeros in zip(rows, fill)]).T


def words_only(x, lengths, left=False):
    """Zeros for the queries that are padding, which may be anything: x (B, L, E) or (B, H, L, S)."""
    words = padding_mask(lengths, 1, x.shape[-2]).transpose(1, 2)  # (B, L, 1)
    words = words.flip(1) if left else words
    return x.masked_fill(~(words if x.dim() == 3 else words[:, None]), 0)


def attend(case, ids, lengths, embedding, layer):
    """ids (L x B). Returns all weights, also those of padded queries."""
    case.add("ids", ids, "L B").add("lengths", lengths, "B")
    case.add("embedding", embedding.weight, "num E").add_layers(layer)
    weights, output = layer(embedding(ids.T), mask=padding_mask(lengths, 1, len(ids)))
    case.add("output", words_only(output, lengths), "B L E")
    case.add("weights", words_only(weights, lengths), "B H L S")
    return weights


def by_hand():
    case, embedding, layer = Case(), Embedding(3, 2), MultiHeadAttention(2)
    embedding.weight.data = doubles([[1, 1], [1, 0], [0, 2]])
    for proj in layer.children():
        set_linear(proj, torch.eye(2))
    ids = torch.tensor([[1, 2], [0, 0], [2, 0]])
    attend(case, ids, [3, 1], embedding, layer)
    return case.add("X", embedding(ids.T), "B L E")


def encode():
    """max_length 4; the sentences as words"""
    sentences = (
        "this is an example sentence".split(),
        "我 喜欢 玩 游戏".split(),
        list("我喜欢玩游戏"),
        [],
        "an unknown sentence".split(),
    )
    cut = [words[:4] for words in sentences]
    case = Case().add("ids", column_batch(cut, 4), "L B").add("lengths", [len(words) for words in cut], "B")
    return case.add("left_ids", column_batch(cut, 4, left=True), "L B")


def embedding_case(seed, num, dim, ids):
    case, embedding, ids = Case(seed), Embedding(num, dim), torch.tensor(ids)
    return case.add("embedding", embedding.weight, "num E").add("ids", ids, "L B").add("X", embedding(ids.T), "B L E")


def batch(seed):
    case, embedding, layer = Case(seed), Embedding(7, 4), MultiHeadAttention(4, 2)
    embedding.weight.data *= 2
    # one full sentence with an unknown word, one short one that ends with one, one empty
    ids = torch.tensor([[2, 5, 0], [1, 3, 0], [0, 0, 0], [6, 0, 0], [4, 0, 0]])
    lengths = [5, 3, 0]
    weights = attend(case, ids, lengths, embedding, layer)
    case.add("all_weights", weights, "B H L S").add("sentence_1", weights[1, :, :3, :3], "H L S")
    case.add("mask", padding_mask(lengths, 5, 5), "B L S")
    # the same sentences with their padding on the left
    left_ids = torch.tensor([[2, 0, 0], [1, 0, 0], [0, 5, 0], [6, 3, 0], [4, 0, 0]])
    left_mask = padding_mask(lengths, 5, 5).flip(2)
    weights, output = layer(embedding(left_ids.T), mask=left_mask)
    case.add("left_ids", left_ids, "L B").add("left_mask", left_mask, "B L S")
    return case.add("left_output", words_only(output, lengths, left=True), "B L E").add(
        "left_weights", weights, "B H L S"
    )


def article_single_head(seed):
    """Four Chinese words, embedded, one head without an output projection; and the same text without spaces."""
    case, embedding, layer = Case(seed), Embedding(5, 8), MultiHeadAttention(8)
    set_linear(layer.output_proj, torch.eye(8))
    numbers = {"我": 1, "喜欢": 2, "玩": 3, "游戏": 4}
    case.add("embedding", embedding.weight, "num E").add_layers(layer)
    for name, words in (("with_spaces", "我 喜欢 玩 游戏".split()), ("without_spaces", "我喜欢玩游戏")):
        X = embedding(torch.tensor([numbers.get(word, 0) for word in words]))
        case.add(name, attention(layer.query_proj(X), layer.key_proj(X), layer.value_proj(X))[1], "L E")
    return case


def article_tokenised(seed):
    """Five words, padded to ten, eight heads. The article itself attends to its padding."""
    case, embedding, layer = Case(seed), Embedding(6, 16), MultiHeadAttention(16, 8)
    ids = column_batch(["this is an example sentence".split(), "this sentence is wonderful".split()], 10)
    weights = attend(case, ids, [5, 4], embedding, layer)
    return case.add("first_weights", weights[0, :, :5, :5], "H L S").without("lengths", "weights")


def merges():
    """The program and the example of Sennrich et al. (2016), algorithm 1, with a full stop for its end of a word."""
    vocab = {"l o w .": 5, "l o w e r .": 2, "n e w e s t .": 6, "w i d e s t .": 3}
    lines = []
    for _ in range(10):
        pairs = collections.defaultdict(int)
        for word, freq in vocab.items():
            symbols = word.split()
            for i in range(len(symbols) - 1):
                pairs[symbols[i], symbols[i + 1]] += freq
        best = max(pairs, key=pairs.get)  # of equals the one that was met first
        bigram = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        vocab = {bigram.sub("".join(best), word): freq for word, freq in vocab.items()}
        lines.append(" ".join(best) + "\n")
    return Case().add("merges", text(lines), "bytes").add("words", text(word + "\n" for word in vocab), "bytes")


def text(lines):
    return list("".join(lines).encode())


def cases():
    return {
        "by_hand": by_hand(),
        "encode": encode(),
        "embedding": embedding_case(101, 6, 4, [[1, 0, 3], [5, 2, 0], [4, 4, 1], [2, 1, 5], [0, 3, 2]]),
        "square_embedding": embedding_case(102, 5, 5, [[1, 0, 3], [4, 2, 0]]),
        "batch": batch(103),
        "merges": merges(),
        "article_single_head": article_single_head(104),
        "article_tokenised": article_tokenised(105),
    }
