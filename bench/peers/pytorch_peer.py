"""PyTorch as one of the peers that bench/run compares (ours.cpp lists what a peer answers).

    pytorch_peer.py mha     torch.nn.MultiheadAttention in eval and inference mode, batch first: its fast path
    pytorch_peer.py sdpa    the same layer written with torch.nn.functional.scaled_dot_product_attention
"""

import pathlib
import sys
import time

import numpy
import torch
from torch.nn import functional

E, H = 512, 8


class MultiheadAttention:
    def __init__(self, weights):
        names = {
            "in_proj_weight": "in_proj_weight",
            "in_proj_bias": "in_proj_bias",
            "out_proj_weight": "out_proj.weight",
            "out_proj_bias": "out_proj.bias",
        }
        self.layer = torch.nn.MultiheadAttention(E, H, batch_first=True).eval()
        self.layer.load_state_dict({names[name]: weight for name, weight in weights.items()})

    def __call__(self, x):
        return self.layer(x, x, x, need_weights=False)[0]


class ScaledDotProductAttention:
    def __init__(self, weights):
        self.weights = weights

    def __call__(self, x):
        batch, length, _ = x.shape
        w = self.weights
        qkv = functional.linear(x, w["in_proj_weight"], w["in_proj_bias"])
        q, k, v = qkv.view(batch, length, 3, H, E // H).permute(2, 0, 3, 1, 4)  # each (B, H, L, D)
        context = functional.scaled_dot_product_attention(q, k, v)
        return functional.linear(
            context.transpose(1, 2).reshape(batch, length, E), w["out_proj_weight"], w["out_proj_bias"]
        )


LAYERS = {"mha": MultiheadAttention, "sdpa": ScaledDotProductAttention}
SHAPES = {"in_proj_weight": (3 * E, E), "in_proj_bias": (3 * E,), "out_proj_weight": (E, E), "out_proj_bias": (E,)}


class Peer:
    def __init__(self, kind):
        self.kind = kind

    def version(self):
        if self.kind == "sdpa" and not hasattr(functional, "scaled_dot_product_attention"):
            raise RuntimeError(f"PyTorch {torch.__version__} has no scaled_dot_product_attention")
        return torch.__version__

    def load(self, folder, batch, length, threads):
        self.folder = pathlib.Path(folder)
        torch.set_num_threads(int(threads))
        self.layer = LAYERS[self.kind]({name: self.read(name).reshape(shape) for name, shape in SHAPES.items()})
        self.x = self.read("x").reshape(int(batch), int(length), E)
        return "ready"

    def read(self, name):
        return torch.from_numpy(numpy.fromfile(self.folder / f"{name}.f32", dtype=numpy.float32))

    def forward(self):
        with torch.inference_mode():
            return self.layer(self.x)

    def write(self, name):
        self.forward().numpy().tofile(self.folder / name)
        return "written"

    def time(self, times):
        start = time.perf_counter()
        for _ in range(int(times)):
            self.forward()
        return str(time.perf_counter() - start)


peer = Peer(sys.argv[1])
for line in sys.stdin:
    command, *words = line.split()
    try:
        print(getattr(peer, command)(*words), flush=True)
    except Exception as error:
        print("error:", error, flush=True)
