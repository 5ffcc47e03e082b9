"""Lesson 10: from sentences to attention. Words are found here with Python's own split() and dict."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
WORDS = ["this", "is", "an", "example", "sentence", "我", "喜欢", "玩", "游戏"]
PROJECTIONS = ("query_proj", "key_proj", "value_proj", "output_proj")


def column_batch(sentences, length, number=None, fill=lambda row, length: row + [0] * (length - len(row))):
    """(L x B), as ids lie here: a column a sentence. Sentences are lists of words."""
    number = number or (lambda word: WORDS.index(word) + 1 if word in WORDS else 0)
    rows = [fill([number(word) for word in words], length) for words in sentences]
    return torch.tensor(rows, dtype=DOUBLE).T.contiguous()


def key_mask(lengths, length):
    """(B, 1, 1, L): True for keys that are words."""
    return (torch.arange(length)[None, :] < torch.tensor(lengths)[:, None])[:, None, None, :]


def attention(X, layers, heads, allowed=None):
    """(B, L, E) -> weights (B, H, L, L), output (B, L, E)"""
    B, L, E = X.shape
    Q, K, V = (layer(X).reshape(B, L, heads, E // heads).transpose(1, 2) for layer in layers[:3])
    scores = Q @ K.transpose(-1, -2) / math.sqrt(E // heads)
    if allowed is not None:
        scores = scores.masked_fill(~allowed.expand_as(scores), -math.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights, layers[3]((weights @ V).transpose(1, 2).reshape(B, L, E))


def words_only(result, lengths):
    """Rows of padding are nobody's business: zeros."""
    weights, output = (x.detach().clone() for x in result)
    for b, length in enumerate(lengths):
        weights[b, :, length:] = 0
        output[b, length:] = 0
    return weights, output


def embedding(num, dim):
    return nn.Embedding(num, dim, dtype=DOUBLE)


def attend_case(seed, ids, lengths, layers, embed, heads, with_weights=True):
    """ids (L x B)"""
    case = Case(seed).add("ids", ids, "L B").add("lengths", torch.tensor(lengths, dtype=DOUBLE), "B")
    case.add("embedding", embed.weight, "num E")
    for name, layer in zip(PROJECTIONS, layers):
        case.add_linear(name, layer)
    ids = ids.T.long()  # (B, L)
    X = embed(ids)
    result = attention(X, layers, heads, key_mask(lengths, ids.shape[1]))
    weights, output = words_only(result, lengths)
    case.add("output", output, "B L E")
    if with_weights:
        case.add("weights", weights, "B H L S")

    def mistake(name, allowed):
        wrong_weights, wrong_output = words_only(attention(X, layers, heads, allowed), lengths)
        case.add_mistake(name, output=wrong_output)
        if with_weights:
            case.add_mistake(name, weights=wrong_weights)

    mistake("padding_attended", None)
    mistake("mask_from_ids", (ids != 0)[:, None, None, :])
    mixed = torch.cat([key_mask(lengths, ids.shape[1])] * heads)  # slice h*B + b
    mistake("mask_slices_mixed", mixed.reshape(len(lengths), heads, 1, -1))
    return case, result[0]


def linears(dim):
    return [nn.Linear(dim, dim, dtype=DOUBLE) for _ in range(4)]


def identities(dim):
    layers = linears(dim)
    for layer in layers:
        layer.weight.data = torch.eye(dim, dtype=DOUBLE)
        layer.bias.data = torch.zeros(dim, dtype=DOUBLE)
    return layers


def by_hand():
    embed = embedding(3, 2)
    embed.weight.data = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]], dtype=DOUBLE)
    ids = torch.tensor([[1.0, 2.0], [0.0, 0.0], [2.0, 0.0]], dtype=DOUBLE)
    case, _ = attend_case(None, ids, [3, 1], identities(2), embed, 1)
    return case.add("X", embed(ids.T.long()), "B L E")


def encode_case():
    """max_length 4; the sentences as words"""
    sentences = [
        "this is an example sentence".split(),
        "我 喜欢 玩 游戏".split(),
        list("我喜欢玩游戏"),
        [],
        "an unknown sentence".split(),
    ]
    length = 4
    cut = [words[:length] for words in sentences]
    lengths = [len(words) for words in cut]
    case = Case().add("ids", column_batch(cut, length), "L B")
    case.add("lengths", torch.tensor(lengths, dtype=DOUBLE), "B")

    def mistake(name, ids=None, lengths=None):
        if ids is not None:
            case.add_mistake(name, ids=ids)
        if lengths is not None:
            case.add_mistake(name, lengths=torch.tensor(lengths, dtype=DOUBLE))

    shorter = [words[: length - 1] for words in sentences]
    mistake("truncated_one_too_early", column_batch(shorter, length), [len(words) for words in shorter])
    mistake("keeps_the_end", column_batch([words[-length:] for words in sentences], length))
    mistake("padding_in_front", column_batch(cut, length, fill=lambda row, n: [0] * (n - len(row)) + row))
    mistake("numbers_from_zero", column_batch(cut, length, lambda word: WORDS.index(word) if word in WORDS else 0))
    known = [[word for word in words if word in WORDS] for words in sentences]
    known = [words[:length] for words in known]
    mistake("unknown_skipped", column_batch(known, length))
    mistake("lengths_of_known_words", lengths=[sum(word in WORDS for word in words) for words in cut])
    mistake("lengths_are_max_length", lengths=[length] * 5)
    mistake("lengths_not_cut", lengths=[len(words) for words in sentences])
    texts = ["this is an example sentence", "我 喜欢 玩 游戏", "我喜欢玩游戏", "", "an unknown sentence"]
    mistake("length_in_bytes", lengths=[min(len(text.encode()), length) for text in texts])
    return case


def embedding_case(seed, num, dim, ids):
    torch.manual_seed(seed)
    embed = embedding(num, dim)
    case = Case(seed).add("embedding", embed.weight, "num E").add("ids", ids, "L B")
    ids = ids.T.long()
    X = embed(ids)
    case.add("X", X, "B L E")
    case.add_mistake("row_zero_is_zeros", X=X * (ids != 0)[..., None])
    case.add_mistake("rows_shifted", X=embed((ids - 1).clamp(min=0)) * (ids != 0)[..., None])
    case.add_mistake("scaled_by_root_dim", X=X * math.sqrt(dim))
    if num == dim:
        case.add_mistake("looks_up_columns", X=nn.functional.embedding(ids, embed.weight.T))
    return case


def batch_case(seed):
    torch.manual_seed(seed)
    embed, layers = embedding(7, 4), linears(4)
    embed.weight.data *= 2
    # one full sentence with an unknown word, one short one that ends with one, one empty
    ids = torch.tensor([[2.0, 5.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=DOUBLE)
    case, all_weights = attend_case(seed, ids, [5, 3, 0], layers, embed, 2)
    case.add("all_weights", all_weights, "B H L S")
    flat = all_weights.reshape(6, 5, 5)  # slice b*H + h
    case.add("sentence_1", flat[2:4, :3, :3].contiguous(), "H L S")
    case.add_mistake("slices_mixed", sentence_1=flat[[1, 4], :3, :3])  # slice h*B + b
    case.add_mistake("padding_kept", sentence_1=flat[2:4])
    return case


def article_single_head():
    """Four Chinese words, embedded, one head without an output projection; and the same text without spaces."""
    torch.manual_seed(104)
    dim = 8
    embed, layers = embedding(5, dim), linears(dim)
    layers[3] = identities(dim)[3]
    numbers = {"我": 1, "喜欢": 2, "玩": 3, "游戏": 4}
    case = Case(104).add("embedding", embed.weight, "num E")
    for name, layer in zip(PROJECTIONS, layers):
        case.add_linear(name, layer)

    def one_head(words):
        X = embed(torch.tensor([numbers.get(word, 0) for word in words]))
        Q, K, V = (layer(X) for layer in layers[:3])
        weights = torch.softmax(Q @ K.T / math.sqrt(dim), dim=-1)
        return weights @ V

    words, characters = "我 喜欢 玩 游戏".split(), list("我喜欢玩游戏")
    case.add("with_spaces", one_head(words), "L E")
    case.add("without_spaces", one_head(characters), "L E")
    case.add_mistake("chinese_uncut", without_spaces=one_head(["我喜欢玩游戏"]))
    padded = embed(torch.tensor([[1, 2, 3, 4, 0, 0]]))
    case.add_mistake("padding_attended", with_spaces=attention(padded, layers, 1)[1][0, :4])
    return case


def article_tokenised():
    """Five words, padded to ten, eight heads. The article itself attends to its padding: that is padding_attended."""
    torch.manual_seed(105)
    embed, layers = embedding(6, 16), linears(16)
    ids = column_batch(["this is an example sentence".split(), "this sentence is wonderful".split()], 10)
    case, weights = attend_case(105, ids, [5, 4], layers, embed, 8, with_weights=False)
    return case.add("first_weights", weights[0, :, :5, :5].contiguous(), "H L S")


def cases():
    made = {}
    made["by_hand"] = by_hand()
    made["encode"] = encode_case()
    ids = torch.tensor([[1.0, 0.0, 3.0], [5.0, 2.0, 0.0], [4.0, 4.0, 1.0], [2.0, 1.0, 5.0], [0.0, 3.0, 2.0]], dtype=DOUBLE)
    made["embedding"] = embedding_case(101, 6, 4, ids)
    made["square_embedding"] = embedding_case(102, 5, 5, torch.tensor([[1.0, 0.0, 3.0], [4.0, 2.0, 0.0]], dtype=DOUBLE))
    made["batch"] = batch_case(103)
    made["article_single_head"] = article_single_head()
    made["article_tokenised"] = article_tokenised()
    return made
