"""torch.nn.MultiheadAttention as one of the peers that bench/peers/run compares (ours.cpp says what a peer answers)."""

import pathlib
import sys
import time

import numpy
import torch

E, H = 512, 8


class Peer:
    def load(self, folder, batch, length, threads):
        self.folder = pathlib.Path(folder)
        torch.set_num_threads(int(threads))
        # eval(), inference_mode and batch_first: what its fast path asks for
        self.layer = torch.nn.MultiheadAttention(E, H, batch_first=True).eval()
        weights = {"in_proj_weight": "in_proj_weight", "in_proj_bias": "in_proj_bias",
                   "out_proj_weight": "out_proj.weight", "out_proj_bias": "out_proj.bias"}
        state = self.layer.state_dict()
        self.layer.load_state_dict({name: self.read(file).reshape(state[name].shape) for file, name in weights.items()})
        self.x = self.read("x").reshape(int(batch), int(length), E)
        return "ready"

    def read(self, name):
        return torch.from_numpy(numpy.fromfile(self.folder / f"{name}.f32", dtype=numpy.float32))

    def forward(self):
        with torch.inference_mode():
            return self.layer(self.x, self.x, self.x, need_weights=False)[0]

    def write(self, name):
        self.forward().numpy().tofile(self.folder / name)
        return "written"

    def time(self, times):
        start = time.perf_counter()
        for _ in range(int(times)):
            self.forward()
        return str(time.perf_counter() - start)


peer = Peer()
for line in sys.stdin:
    command, *words = line.split()
    try:
        print(getattr(peer, command)(*words), flush=True)
    except Exception as error:
        print("error:", repr(error), flush=True)
