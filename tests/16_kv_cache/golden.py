"""Lesson 16: keys and values that are kept, and decoding token by token."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


class Cache:
    """Keys and values, (B, H, capacity, D): zeros stand behind the length of each sequence. A mistake is named by its
    id."""

    def __init__(self, mistake=""):
        self.mistake = mistake
        self.lengths = []

    def make_room(self, rows):
        old = self.K.shape[2]
        if rows <= old:
            return
        capacity = max(rows, 2 * old)
        for name in ("K", "V"):
            x = getattr(self, name)
            grown = x.new_zeros(*x.shape[:2], capacity, x.shape[3])
            if self.mistake != "growth_forgets":
                grown[:, :, :old] = x
            setattr(self, name, grown)

    def append(self, K, V, lengths=None):
        B, H, L, D = K.shape
        added = list(lengths) if lengths is not None and self.mistake != "padding_cached" else [L] * B
        if not self.lengths:
            self.lengths = [0] * B
            self.K = self.V = K.new_zeros(B, H, 0, D)
        if self.mistake == "shared_length":
            self.lengths = [max(self.lengths)] * B
        self.make_room(max(length + more for length, more in zip(self.lengths, added)))
        for b in range(B):
            for h in range(H):
                owner = (b * H + h) % B if self.mistake == "slices_of_wrong_sequence" else b
                at, more = self.lengths[owner], added[owner]
                if self.mistake == "last_token_overwritten" and at > 0:
                    at -= 1
                if self.mistake == "first_rows_overwritten":
                    at = 0
                first = L - more if self.mistake == "last_rows_kept" else 0
                self.K[b, h, at : at + more] = K[b, h, first : first + more]
                if self.mistake == "values_not_appended":
                    continue
                source = K if self.mistake == "keys_stored_as_values" else V
                self.V[b, h, at : at + more] = source[b, h, first : first + more]
        after = [length + more for length, more in zip(self.lengths, added)]
        if self.mistake == "shared_length":
            after = [max(after)] * B
        if self.mistake != "length_stands_still" or max(self.lengths) == 0:
            self.lengths = after


class Layer:
    """Four projections, H heads and a cache: prefill and decode, each step open to a mistake."""

    def __init__(self, embed_dim, num_heads):
        self.H = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim, dtype=DOUBLE) for _ in NAMES)

    def add_to(self, case):
        for name, projection in zip(NAMES, (self.q, self.k, self.v, self.o)):
            case.add_linear(name, projection)
        return case

    def split(self, x):  # (B, L, E) -> (B, H, L, D)
        return x.view(x.shape[0], x.shape[1], self.H, -1).transpose(1, 2)

    def attend(self, Q, K, V, mask, mistake=""):
        scores = (Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])).masked_fill(mask == 0, -math.inf)
        context = torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0) @ V
        merged = context.transpose(1, 2).reshape(Q.shape[0], Q.shape[2], -1)
        return merged if mistake == "output_proj_forgotten" else self.o(merged)

    def full(self, X):
        """The whole causal forward at once, without any cache."""
        L = X.shape[1]
        return self.attend(*(self.split(proj(X)) for proj in (self.q, self.k, self.v)), torch.ones(L, L).tril())

    def start(self, mistake=""):
        self.mistake, self.cache = mistake, Cache(mistake)

    def prefill(self, X, lengths=None):
        Q, K, V = (self.split(proj(X)) for proj in (self.q, self.k, self.v))
        if self.mistake != "second_prefill_appends":
            self.cache = Cache(self.mistake)
        self.cache.append(Q if self.mistake == "queries_cached_in_prefill" else K, V, lengths)
        mask = torch.ones(X.shape[1], X.shape[1])
        if self.mistake == "prefill_from_the_cache":
            L, capacity = X.shape[1], self.cache.K.shape[2]
            return self.attend(Q, self.cache.K, self.cache.V, torch.ones(L, capacity).tril(capacity - L))
        return self.attend(Q, K, V, mask if self.mistake == "prefill_not_causal" else mask.tril(), self.mistake)

    def decode(self, x):
        mistake, cache = self.mistake, self.cache
        Q, K, V = (self.split(proj(x)) for proj in (self.q, self.k, self.v))
        if mistake == "queries_cached":
            K = Q
        if mistake == "key_proj_for_values":
            V = K
        before = list(cache.lengths)
        cache.append(K, V)
        B, capacity = x.shape[0], cache.K.shape[2]
        mask = torch.zeros(B, self.H, 1, capacity)
        for b in range(B):
            for h in range(self.H):
                owner = (b * self.H + h) % B if mistake == "length_of_wrong_sequence" else b
                end = cache.lengths[owner]
                if mistake == "new_token_left_out":
                    end = before[owner] if before else 0
                if mistake == "capacity_attended":
                    end = capacity
                if mistake == "first_token_only":
                    end = 1
                if mistake == "longest_length_for_all":
                    end = max(cache.lengths)
                mask[b, h, 0, :end] = 1
        if mistake == "new_token_only":
            return self.attend(Q, K, V, torch.ones(1, 1))
        return self.attend(Q, cache.K, cache.V, mask, mistake)

    def decode_all(self, X):
        return torch.cat([self.decode(X[:, t : t + 1]) for t in range(X.shape[1])], dim=1)


IN_THE_CACHE = (
    "growth_forgets",
    "padding_cached",
    "shared_length",
    "slices_of_wrong_sequence",
    "last_token_overwritten",
    "first_rows_overwritten",
    "last_rows_kept",
    "values_not_appended",
    "keys_stored_as_values",
)
IN_DECODE = (
    "new_token_only",
    "first_token_only",
    "new_token_left_out",
    "capacity_attended",
    "longest_length_for_all",
    "length_of_wrong_sequence",
    "queries_cached",
    "queries_cached_in_prefill",
    "key_proj_for_values",
    "output_proj_forgotten",
)


def cache_case(seed):
    """Three appends: a padded prompt, one token each, and two rows of which one sequence takes only the first."""
    torch.manual_seed(seed)
    B, H, D = 2, 3, 4
    lengths = [[5, 2], None, [1, 2]]
    parts = [(torch.randn(B, H, L, D, dtype=DOUBLE), torch.randn(B, H, L, D, dtype=DOUBLE)) for L in (5, 1, 2)]
    case = Case(seed)
    for number, (K, V) in enumerate(parts, start=1):
        case.add(f"K_{number}", K, f"B H L_{number} D").add(f"V_{number}", V, f"B H L_{number} D")

    def contents(mistake=""):
        cache = Cache(mistake)
        for (K, V), added in zip(parts, lengths):
            cache.append(K, V, added)
        rows = 7  # the longest sequence has 5 + 1 + 1
        return cache.K[:, :, :rows], cache.V[:, :, :rows]

    keys, values = contents()
    case.add("keys", keys, "B H S D").add("values", values, "B H S D")
    for mistake in IN_THE_CACHE:
        wrong_keys, wrong_values = contents(mistake)
        case.add_mistake(mistake, keys=wrong_keys)
        if mistake in ("values_not_appended", "keys_stored_as_values"):
            case.add_mistake(mistake, values=wrong_values)
    return case


def run(layer, prompt, lengths, new, mistake="", before=None):
    layer.start(mistake)
    if before is not None:
        layer.prefill(before)
    prefilled = layer.prefill(prompt, lengths) if prompt is not None else None
    return prefilled, layer.decode_all(new)


def add_decoding(case, layer, prompt, lengths, new, mistakes):
    prefilled, decoded = run(layer, prompt, lengths, new)
    check_against_full(layer, prompt, lengths, new, decoded)
    case.add("decoded", decoded, "B tokens E")
    if prompt is not None and lengths is None:
        case.add("prefilled", prefilled, "B L E")
        for mistake in ("prefill_not_causal", "output_proj_forgotten"):
            case.add_mistake(mistake, prefilled=run(layer, prompt, lengths, new, mistake)[0])
    for mistake in mistakes:
        case.add_mistake(mistake, decoded=run(layer, prompt, lengths, new, mistake)[1])
    return case


def check_against_full(layer, prompt, lengths, new, decoded):
    """Token by token is the causal forward of each whole sequence."""
    for b in range(new.shape[0]):
        length = 0 if prompt is None else prompt.shape[1] if lengths is None else lengths[b]
        whole = new[b] if prompt is None else torch.cat((prompt[b, :length], new[b]))
        wanted = layer.full(whole.unsqueeze(0))[0, length:]
        if not torch.allclose(decoded[b], wanted, rtol=1e-12, atol=1e-12):
            raise AssertionError("decode is not the causal forward")


def by_hand():
    layer = Layer(2, 1)
    weights = ([[1, 1], [0, 1]], [[1, 0], [1, 1]], [[2, 0], [0, 1]], [[1, 1], [0, 1]])  # (in x out)
    for projection, weight in zip((layer.q, layer.k, layer.v, layer.o), weights):
        projection.weight.data = torch.tensor(weight, dtype=DOUBLE).T.contiguous()
        projection.bias.data = torch.zeros(2, dtype=DOUBLE)
    prompt = torch.tensor([[[1, 0], [0, 1], [1, -1]]], dtype=DOUBLE)
    new = torch.tensor([[[0, 2]]], dtype=DOUBLE)
    case = layer.add_to(Case()).add("prompt", prompt, "B L E").add("new", new, "B tokens E")
    return add_decoding(case, layer, prompt, None, new, [m for m in IN_DECODE if m != "new_token_left_out"])


def equal_lengths(seed):
    torch.manual_seed(seed)
    layer = Layer(12, 3)
    before, prompt, new = (2 * torch.randn(2, length, 12, dtype=DOUBLE) for length in (4, 5, 3))
    case = layer.add_to(Case(seed)).add("before", before, "B K E")
    case.add("prompt", prompt, "B L E").add("new", new, "B tokens E")
    mistakes = ("last_token_overwritten", "values_not_appended", "length_stands_still")
    add_decoding(case, layer, prompt, None, new, IN_DECODE + mistakes)
    _, wrong = run(layer, prompt, None, new, "second_prefill_appends", before)
    case.add_mistake("second_prefill_appends", decoded=wrong)
    return case


def ragged(seed):
    """Prompts of three lengths, with something in the rows that are padding."""
    torch.manual_seed(seed)
    layer = Layer(10, 2)
    lengths = [4, 6, 1]
    prompt, new = (2 * torch.randn(3, length, 10, dtype=DOUBLE) for length in (6, 4))
    case = layer.add_to(Case(seed)).add("prompt", prompt, "B L E").add("new", new, "B tokens E")
    case.add("lengths", torch.tensor(lengths, dtype=DOUBLE), "B")
    return add_decoding(case, layer, prompt, lengths, new, IN_DECODE + ("padding_cached",))


def all_padded(seed):
    """Prompts that are all shorter than the padded rows: of what prefill gives, the rows that are tokens."""
    torch.manual_seed(seed)
    layer = Layer(12, 3)
    prompt = 2 * torch.randn(2, 7, 12, dtype=DOUBLE)
    case = layer.add_to(Case(seed)).add("prompt", prompt, "B L E")

    def tokens(mistake=""):
        layer.start(mistake)
        return layer.prefill(prompt, [4, 4])[:, :4]

    case.add("tokens", tokens(), "B tokens E")
    if not torch.allclose(tokens(), layer.full(prompt[:, :4]), rtol=1e-12, atol=1e-12):
        raise AssertionError("padding was seen")
    for mistake in ("prefill_not_causal", "prefill_from_the_cache", "output_proj_forgotten"):
        case.add_mistake(mistake, tokens=tokens(mistake))
    return case


def from_nothing(seed):
    torch.manual_seed(seed)
    layer = Layer(6, 3)
    new = 2 * torch.randn(2, 5, 6, dtype=DOUBLE)
    case = layer.add_to(Case(seed)).add("new", new, "B tokens E")
    return add_decoding(case, layer, None, None, new, ())


def far_from_zero(seed):
    torch.manual_seed(seed)
    layer = Layer(6, 3)
    prompt, new = (200 * torch.randn(2, length, 6, dtype=DOUBLE) for length in (5, 4))
    case = layer.add_to(Case(seed)).add("prompt", prompt, "B L E").add("new", new, "B tokens E")
    return add_decoding(case, layer, prompt, None, new, ())


def cases():
    return {
        "cache": cache_case(161),
        "by_hand": by_hand(),
        "equal_lengths": equal_lengths(162),
        "ragged": ragged(163),
        "all_padded": all_padded(166),
        "from_nothing": from_nothing(164),
        "far_from_zero": far_from_zero(165),
    }
