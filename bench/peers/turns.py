"""What peers.py and plot.py share: peers as processes that answer commands (ours.cpp says which), and taking turns."""

import array
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/bench"
HERE = ROOT / "bench/peers"
E, H = 512, 8
MIB = 1 << 20


class Missing(Exception):
    """A peer that this machine does not have."""


class Peer:
    def __init__(self, name, command, environment=None):
        self.name = name
        self.log = open(BUILD / f"{name.replace(' ', '_')}.log", "w")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **(environment or {})})

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer or answer.startswith("error:"):
            raise Missing(f"{self.name}: {answer or 'it ended; see ' + self.log.name}")
        return answer

    def seconds(self, times):
        """Of one forward, the mean of so many."""
        return float(self.ask(f"time {times}")) / times

    def first_forward(self):
        """Seconds, and the bytes by which its resident memory grew at most. Nothing was computed before."""
        before = self.memory("VmRSS")
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        seconds = self.seconds(1)
        return seconds, self.memory("VmHWM") - before

    def memory(self, what):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(what + ":"):
                return int(line.split()[1]) * 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def ours(kind="fast"):
    return Peer("ours" if kind == "fast" else kind, [BUILD / "bench/bench_peer_ours", kind])


def pytorch(folder):
    return Peer("PyTorch", ["/usr/bin/python3", HERE / "pytorch_peer.py"])


def onnx_runtime(folder):
    made = subprocess.run(["/usr/bin/python3", HERE / "onnx_model.py", folder], capture_output=True, text=True)
    if made.returncode != 0:
        raise Missing("ONNX Runtime: no model: " + made.stderr.strip().splitlines()[-1])
    return Peer("ONNX Runtime", ["node", HERE / "onnxruntime_peer.js"], {"NODE_PATH": str(BUILD / "peers/node_modules")})


def loaded(peer, folder, batch, length, threads):
    peer.ask(f"load {folder} {batch} {length} {threads}")
    return peer


def floats(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def largest_difference(folder, a, b):
    return max(abs(x - y) for x, y in zip(floats(folder / a), floats(folder / b), strict=True))


def take_turns(peers, rounds, least_seconds, after_round=lambda: None):
    """Seconds of a forward, for each peer a list of `rounds`. Every turn lasts about `least_seconds`."""
    times = {}
    for peer in peers:  # each has computed before; what takes long needs no more to warm up
        once = peer.seconds(1)
        times[peer] = max(1, round(least_seconds / (peer.seconds(3) if once < 1 else once)))
    taken = {peer: [] for peer in peers}
    for turn in range(rounds):
        for peer in peers[turn % len(peers):] + peers[: turn % len(peers)]:
            time.sleep(0.05)  # threads of the one before may still wait for work, and be busy with that
            taken[peer].append(peer.seconds(times[peer]))
        after_round()
    return taken
