"""The models that the checks of lesson 23 load: small, random, and in the files and with the names of the real ones.

Their tokenizers are trained and run here by a second implementation, without regular expressions.
"""

import json
import pathlib
import struct
import sys
import unicodedata

import torch

FOLDER = pathlib.Path(__file__).resolve().parent / "models"

# ------------------------------------------------------------------------------------------------------- tokenizers

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
ENDINGS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}

TEXT = """It is a truth that the attention is all there is. The other one was there, then there were ten others; it isn't
theirs, they've said, and that's that. Is the hat on the other head? What is it, then? There is nothing in it at all."""


def kind(character):
    """L for a letter, N for a number, S for a space, O for all others."""
    if ord(character) in SPACES:
        return "S"
    first = unicodedata.category(character)[0]
    return first if first in "LN" else "O"


def run(text, at, kinds, most=10**9):
    """Where the characters of these kinds end that begin at `at`."""
    end = at
    while end < len(text) and end - at < most and kind(text[end]) in kinds:
        end += 1
    return end


def ending(text, at, ignore_case):
    for candidate in ENDINGS:
        found = text[at : at + len(candidate)]
        if (found.lower() if ignore_case else found) == candidate:
            return at + len(candidate)
    return at


def spaces(text, at):
    end = run(text, at, "S")
    return end if end == len(text) or end == at + 1 else end - 1


def next_gpt2(text, at):
    end = ending(text, at, False)
    if end > at:
        return end
    begin = at + (text[at] == " ")
    for kinds in "LNO":
        end = run(text, begin, kinds)
        if end > begin:
            return end
    return spaces(text, at)


def next_llama3(text, at, digits=3):
    end = ending(text, at, True)
    if end > at:
        return end
    begin = at if kind(text[at]) in "LN" or text[at] in "\r\n" else at + 1
    end = run(text, begin, "L")
    if end > begin:
        return end
    end = run(text, at, "N", digits)
    if end > at:
        return end
    begin = at + (text[at] == " ")
    end = run(text, begin, "O")
    if end > begin:
        while end < len(text) and text[end] in "\r\n":
            end += 1
        return end
    last_newline = max((i for i in range(at, run(text, at, "S")) if text[i] in "\r\n"), default=-1)
    return last_newline + 1 if last_newline >= at else spaces(text, at)


def cut(text, next_end):
    parts, at = [], 0
    while at < len(text):
        end = next_end(text, at)
        parts.append(text[at:end])
        at = end
    return parts


def split_gpt2(text):
    return cut(text, next_gpt2)


def split_llama3(text):
    return cut(text, next_llama3)


def split_qwen(text):
    return cut(unicodedata.normalize("NFC", text), lambda text, at: next_llama3(text, at, 1))


def split_smollm(text):
    """First each digit by itself, and what is between."""
    parts = cut(text, lambda text, at: at + 1 if kind(text[at]) == "N" else run(text, at, "LSO"))
    return [word for part in parts for word in split_gpt2(part)]


def byte_symbols():
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) if byte in visible else chr(256 + others.index(byte)) for byte in range(256)}


SYMBOLS = byte_symbols()


def to_symbols(text):
    return [SYMBOLS[byte] for byte in text.encode()]


def merge(pieces, pair):
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair and merged[-1] is not None:
            merged[-1:] = [merged[-1] + piece, None]  # None: what was merged is not merged again
        else:
            merged.append(piece)
        merged = [piece for piece in merged[:-1] if piece is not None] + merged[-1:]
    return [piece for piece in merged if piece is not None]


def train(split, count):
    """The pair that occurs most often, `count` times; of equals the smallest."""
    words, merges = [to_symbols(word) for word in split(TEXT)], []
    for _ in range(count):
        pairs = [pair for word in words for pair in zip(word, word[1:])]
        best = min(set(pairs), key=lambda pair: (-pairs.count(pair), pair))
        words, merges = [merge(word, best) for word in words], [*merges, best]
    return merges


class Tokenizer:
    def __init__(self, split, specials, count=40, ignore_merges=False):
        self.split, self.ignore_merges = split, ignore_merges
        self.merges = train(split, count)
        tokens = [SYMBOLS[byte] for byte in sorted(SYMBOLS, key=lambda byte: SYMBOLS[byte])]
        tokens += [first + second for first, second in self.merges]
        if ignore_merges:
            tokens.append("Ġzebra")  # a token that no merge gives
        self.ids = {token: id for id, token in enumerate(tokens)}
        self.specials = {text: len(tokens) + i for i, text in enumerate(specials)}
        self.size = len(tokens) + len(specials)

    def encode_word(self, word):
        pieces = to_symbols(word)
        if self.ignore_merges and "".join(pieces) in self.ids:
            return [self.ids["".join(pieces)]]
        while True:
            pairs = [pair for pair in zip(pieces, pieces[1:]) if pair in self.merges]
            if not pairs:
                return [self.ids[piece] for piece in pieces]
            pieces = merge(pieces, min(pairs, key=self.merges.index))

    def encode(self, text):
        starts = {at: special for special in sorted(self.specials, key=len) for at in range(len(text))
                  if text.startswith(special, at)}  # fmt: skip
        ids, done, at = [], 0, 0
        while at <= len(text):
            if at in starts or at == len(text):
                ids += [id for word in self.split(text[done:at]) for id in self.encode_word(word)]
                if at == len(text):
                    return ids
                ids.append(self.specials[starts[at]])
                done = at = at + len(starts[at])
            else:
                at += 1

    def json(self, steps, normalizer=None, begin=None, lists=False):
        added = [{"id": id, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False, "special": True} for text, id in self.specials.items()]  # fmt: skip
        byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
        processor = byte_level
        if begin:
            template = {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": begin, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [],
                "special_tokens": {begin: {"id": begin, "ids": [self.specials[begin]], "tokens": [begin]}},
            }
            processor = {"type": "Sequence", "processors": [byte_level, template]}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": normalizer,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
            "post_processor": processor,
            "decoder": byte_level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": self.ignore_merges,
                "vocab": self.ids,
                "merges": [list(pair) if lists else " ".join(pair) for pair in self.merges],
            },
        }


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def isolated(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def tokenizers():
    return {
        "gpt2": Tokenizer(split_gpt2, ["<|endoftext|>"]),
        "llama": Tokenizer(split_llama3, ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], 40, True),
        "qwen3": Tokenizer(split_qwen, ["<|im_start|>", "<|im_end|>", "<|im", "<|endoftext|>"]),
        "smollm": Tokenizer(split_smollm, ["<|endoftext|>"], 30),
    }


# ------------------------------------------------------------------------------------------------------------ models


def layer_norm(x, weights, name, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def rms_norm(x, weight, epsilon):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def attend(Q, K, V, window=0):
    """(heads, L, D), causal."""
    K, V = (x.repeat_interleave(len(Q) // len(x), dim=0) for x in (K, V))
    rows, keys = torch.arange(Q.shape[1])[:, None], torch.arange(Q.shape[1])
    hidden = (keys > rows) | (keys <= rows - window) if window else keys > rows
    scores = (Q @ K.transpose(1, 2) / Q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
    return (scores.softmax(-1) @ V).transpose(0, 1).flatten(1)


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(0, 1)


def gpt2_logits(weights, config, ids):
    """(L, V), as GPT2LMHeadModel computes them."""
    epsilon, x = config["layer_norm_epsilon"], weights["wte.weight"][ids] + weights["wpe.weight"][: len(ids)]

    def conv1d(x, name):
        return x @ weights[name + ".weight"] + weights[name + ".bias"]

    for i in range(config["n_layer"]):
        normalized = layer_norm(x, weights, f"h.{i}.ln_1", epsilon)
        Q, K, V = (heads(part, config["n_head"]) for part in conv1d(normalized, f"h.{i}.attn.c_attn").chunk(3, -1))
        x = x + conv1d(attend(Q, K, V), f"h.{i}.attn.c_proj")
        inner = conv1d(layer_norm(x, weights, f"h.{i}.ln_2", epsilon), f"h.{i}.mlp.c_fc")
        x = x + conv1d(torch.nn.functional.gelu(inner, approximate="tanh"), f"h.{i}.mlp.c_proj")
    return layer_norm(x, weights, "ln_f", epsilon) @ weights["wte.weight"].T


def rope_speeds(config, D):
    speeds = config["rope_theta"] ** (-torch.arange(0, D, 2).double() / D)
    scaling = config.get("rope_scaling")
    if scaling is None:
        return speeds
    waves = 2 * torch.pi / speeds  # transformers, _compute_llama3_parameters
    length, low, high = (
        scaling[name] for name in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    )
    smooth = (length / waves - low) / (high - low)
    between = (1 - smooth) * speeds / scaling["factor"] + smooth * speeds
    slow = torch.where(waves > length / low, speeds / scaling["factor"], speeds)
    return torch.where((waves <= length / low) & (waves >= length / high), between, slow)


def llama_logits(weights, config, ids):
    """(L, V), as LlamaForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM compute them."""
    E, H, G = (config[name] for name in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    D, epsilon, x = config.get("head_dim", E // H), config["rms_norm_eps"], weights["model.embed_tokens.weight"][ids]
    angles = torch.arange(len(ids))[:, None] * rope_speeds(config, D)

    def linear(x, name):
        y = x @ weights[name + ".weight"].T
        return y + weights[name + ".bias"] if name + ".bias" in weights else y

    def rope(x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)

    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        normalized = rms_norm(x, weights[layer + ".input_layernorm.weight"], epsilon)
        Q, K, V = (
            heads(linear(normalized, f"{layer}.self_attn.{name}_proj"), count)
            for name, count in (("q", H), ("k", G), ("v", G))
        )
        if config["model_type"] == "qwen3":
            Q = rms_norm(Q, weights[layer + ".self_attn.q_norm.weight"], epsilon)
            K = rms_norm(K, weights[layer + ".self_attn.k_norm.weight"], epsilon)
        x = x + linear(attend(rope(Q), rope(K), V), layer + ".self_attn.o_proj")
        normalized = rms_norm(x, weights[layer + ".post_attention_layernorm.weight"], epsilon)
        gate = torch.nn.functional.silu(linear(normalized, layer + ".mlp.gate_proj"))
        x = x + linear(gate * linear(normalized, layer + ".mlp.up_proj"), layer + ".mlp.down_proj")
    x = rms_norm(x, weights["model.norm.weight"], epsilon)
    return x @ weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"].T


def drawn(shapes, dtype, seed):
    """Random weights, rounded to the type of the file, in float64."""
    torch.manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        is_norm = len(shape) == 1 and name.endswith("weight")
        x = torch.randn(*shape) * (0.4 if is_norm or len(shape) == 1 else 1.5 * shape[-1] ** -0.5) + (
            1 if is_norm else 0
        )
        weights[name] = x.to(dtype).double()
    return weights


def gpt2_weights(config, dtype, seed):
    E, F, shapes = config["n_embd"], config["n_inner"] or 4 * config["n_embd"], {}
    shapes.update({"wte.weight": (config["vocab_size"], E), "wpe.weight": (config["n_positions"], E)})
    for i in range(config["n_layer"]):
        layers = {"ln_1": (E,), "attn.c_attn": (E, 3 * E), "attn.c_proj": (E, E), "ln_2": (E,)}
        for name, shape in {**layers, "mlp.c_fc": (E, F), "mlp.c_proj": (F, E)}.items():
            shapes.update({f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[-1:]})
    shapes.update({"ln_f.weight": (E,), "ln_f.bias": (E,)})
    return drawn(shapes, dtype, seed)


def llama_weights(config, dtype, seed):
    E, F, V = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    H, G = config["num_attention_heads"], config["num_key_value_heads"]
    D, shapes = config.get("head_dim", E // H), {"model.embed_tokens.weight": (V, E)}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, width in {"q": H * D, "k": G * D, "v": G * D}.items():
            shapes[f"{layer}self_attn.{name}_proj.weight"] = (width, E)
            if config["model_type"] == "qwen2":
                shapes[f"{layer}self_attn.{name}_proj.bias"] = (width,)
        shapes[layer + "self_attn.o_proj.weight"] = (E, H * D)
        if config["model_type"] == "qwen3":
            shapes.update({f"{layer}self_attn.{name}_norm.weight": (D,) for name in "qk"})
        shapes.update({f"{layer}mlp.{name}_proj.weight": (F, E) for name in ("gate", "up")})
        shapes[layer + "mlp.down_proj.weight"] = (E, F)
        shapes.update({f"{layer}{name}_layernorm.weight": (E,) for name in ("input", "post_attention")})
    shapes["model.norm.weight"] = (E,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (V, E)
    return drawn(shapes, dtype, seed)


def llama_config(model_type, E, layers, H, G, F, V, **others):
    return {
        "architectures": [{"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[model_type] + "ForCausalLM"],
        "hidden_act": "silu",
        "hidden_size": E,
        "intermediate_size": F,
        "max_position_embeddings": 4096,
        "model_type": model_type,
        "num_attention_heads": H,
        "num_hidden_layers": layers,
        "num_key_value_heads": G,
        "vocab_size": V,
        **others,
    }


SCALING = {
    "factor": 32.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 64,
    "rope_type": "llama3",
}


def models():
    """{name: (config, dtype, weights)}"""
    sizes = {name: tokenizer.size for name, tokenizer in tokenizers().items()}
    gpt2 = {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "eos_token_id": sizes["gpt2"] - 1,
        "layer_norm_epsilon": 0.001,
        "model_type": "gpt2",
        "n_embd": 12,
        "n_head": 3,
        "n_inner": None,
        "n_layer": 2,
        "n_positions": 40,
        "vocab_size": sizes["gpt2"],
    }
    llama = llama_config("llama", 16, 2, 4, 2, 20, sizes["llama"], rms_norm_eps=0.01, rope_theta=500.0,
                         rope_scaling=SCALING, tie_word_embeddings=True, head_dim=8, eos_token_id=sizes["llama"] - 2)  # fmt: skip
    qwen3 = llama_config("qwen3", 10, 2, 4, 2, 14, sizes["qwen3"], rms_norm_eps=1e-3, rope_theta=1000.0,
                         rope_scaling=None, tie_word_embeddings=False, head_dim=6, attention_bias=False,
                         use_sliding_window=False, sliding_window=3, eos_token_id=sizes["qwen3"] - 3)  # fmt: skip
    smollm = llama_config("llama", 6, 12, 3, 1, 8, sizes["smollm"], rms_norm_eps=1e-5, rope_theta=10000.0,
                          rope_scaling=None, tie_word_embeddings=True, eos_token_id=sizes["smollm"] - 1)  # fmt: skip
    qwen2 = llama_config("qwen2", 8, 1, 2, 1, 10, 20, rms_norm_eps=1e-6, rope_theta=10000.0, tie_word_embeddings=False)
    return {
        "gpt2": (gpt2, torch.float32, gpt2_weights(gpt2, torch.float32, 231)),
        "llama": (llama, torch.bfloat16, llama_weights(llama, torch.bfloat16, 232)),
        "qwen3": (qwen3, torch.float16, llama_weights(qwen3, torch.float16, 233)),
        "smollm": (smollm, torch.bfloat16, llama_weights(smollm, torch.bfloat16, 234)),
        "qwen2": (qwen2, torch.bfloat16, llama_weights(qwen2, torch.bfloat16, 235)),
    }


# ------------------------------------------------------------------------------------------------------------- files


def safetensors(weights, dtype):
    """A file: length, header, numbers. As the library writes it, the header is a multiple of eight bytes long."""
    name_of, code_of = {torch.float32: ("F32", "f"), torch.float16: ("F16", "e")}, {torch.bfloat16: "BF16"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in weights.items():
        if dtype in code_of:
            floats = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
            numbers = b"".join(floats[i + 2 : i + 4] for i in range(0, len(floats), 4))  # the upper halves
        else:
            numbers = struct.pack(f"<{tensor.numel()}{name_of[dtype][1]}", *tensor.flatten().tolist())
        header[name] = {
            "dtype": code_of.get(dtype) or name_of[dtype][0],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(numbers)],
        }
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def pretty(value):
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def compact(value):
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def files():
    """{path below models/: bytes}"""
    written, all_tokenizers = {}, tokenizers()
    for name, (config, dtype, weights) in models().items():
        written[f"{name}/config.json"] = pretty(config)
        if name != "llama":
            written[f"{name}/model.safetensors"] = safetensors(weights, dtype)
            continue
        names, shards = sorted(weights), {}
        for number in (0, 1):
            file = f"model-{number + 1:05}-of-00002.safetensors"
            part = {tensor: weights[tensor] for tensor in names[number::2]}
            written[f"{name}/{file}"] = safetensors(part, dtype)
            shards.update({tensor: file for tensor in part})
        written[f"{name}/model.safetensors.index.json"] = compact({"metadata": {}, "weight_map": shards})
    gpt2, llama, qwen3 = (all_tokenizers[name] for name in ("gpt2", "llama", "qwen3"))
    written["gpt2/vocab.json"] = compact({**gpt2.ids, **gpt2.specials})
    written["gpt2/merges.txt"] = ("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in gpt2.merges)).encode()
    written["llama/tokenizer.json"] = compact(
        llama.json([isolated(LLAMA3), byte_level(False)], begin="<|begin_of_text|>")
    )
    written["qwen3/tokenizer.json"] = compact(
        qwen3.json([isolated(QWEN), byte_level(False)], normalizer={"type": "NFC"}, lists=True)
    )
    digits = {"type": "Digits", "individual_digits": True}
    written["smollm/tokenizer.json"] = compact(all_tokenizers["smollm"].json([digits, byte_level(True)]))
    written["llama/generation_config.json"] = pretty(
        {"eos_token_id": [llama.specials["<|end_of_text|>"], llama.specials["<|eot_id|>"]], "temperature": 0.6}
    )
    return written


def write():
    """Writes the files; with --check on the command line, raises ValueError for one that would change."""
    for path, content in files().items():
        file = FOLDER / path
        if file.exists() and file.read_bytes() == content:
            continue
        if "--check" in sys.argv:
            raise ValueError(f"{file} is other than made now: run tools/gate/golden.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
