"""What peers.py needs: peers as processes that answer commands (ours.cpp lists them), and taking turns."""

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
# Without OPENBLAS_CORETYPE, a choice of kernels that could only slow down the peers that use OpenBLAS.
SURROUNDINGS = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}


class Missing(Exception):
    """A peer that this machine does not have."""


class Peer:
    """`setting` is what was set for it, in words: "" for nothing."""

    def __init__(self, name, command, environment=None, setting=""):
        self.name = name
        self.setting = setting
        self.log = open(BUILD / f"{name.replace(' ', '_')}.log", "w")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**SURROUNDINGS, **(environment or {})},
        )
        self.version = self.ask("version")

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer or answer.startswith("error:"):
            raise Missing(f"{self.name}: {answer.removeprefix('error: ') or 'it ended; see ' + self.log.name}")
        return answer

    def seconds(self, times):
        """Seconds of one forward, the mean of `times`."""
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


def blas_settings():
    """Settings that decide how PyTorch's own threads and OpenBLAS's interact, by name. The fastest may depend on the machine."""
    settings = {"": {}, "one BLAS thread": {"OPENBLAS_NUM_THREADS": "1"}}
    for library in sorted(pathlib.Path("/usr/lib").glob("*/openblas-openmp")):  # it shares PyTorch's threads
        settings["OpenBLAS with OpenMP"] = {"LD_LIBRARY_PATH": str(library)}
    return settings


def pytorch(kind, name):
    def start(setting, environment):
        return Peer(name, ["/usr/bin/python3", HERE / "pytorch_peer.py", kind], environment, setting)

    return [lambda _, s=setting, e=environment: start(s, e) for setting, environment in blas_settings().items()]


def onnx_runtime(folder):
    made = subprocess.run(["/usr/bin/python3", HERE / "onnx_model.py", folder], capture_output=True, text=True)
    if made.returncode != 0:
        raise Missing("ONNX Runtime: no model: " + made.stderr.strip().splitlines()[-1])
    return Peer(
        "ONNX Runtime", ["node", HERE / "onnxruntime_peer.js"], {"NODE_PATH": str(BUILD / "peers/node_modules")}
    )


# The other peers, and the ways to start each in a folder with the layer's weights. The fastest one counts.
OTHERS = {
    "PyTorch nn.MultiheadAttention": pytorch("mha", "PyTorch nn.MultiheadAttention"),
    "PyTorch SDPA": pytorch("sdpa", "PyTorch SDPA"),
    "ONNX Runtime": [onnx_runtime],
}


def loaded(peer, folder, batch, length, threads):
    peer.ask(f"load {folder} {batch} {length} {threads}")
    return peer


def fastest(starts, folder, batch, length, threads):
    """The peer that computes this size fastest, loaded. Its `growth` is the memory that its first forward took."""
    best = None
    for start in starts:
        peer = loaded(start(folder), folder, batch, length, threads)
        first, peer.growth = peer.first_forward()
        peer.once = first if first > 2 else min(peer.seconds(max(1, round(0.1 / first))) for _ in range(3))
        best, slower = (peer, best) if best is None or peer.once < best.once else (best, peer)
        if slower:
            slower.close()
    return best


def surroundings():
    """The system and the processor: "Debian GNU/Linux 12, Intel(R) Xeon(R) CPU, with AVX-512"."""
    system = dict(
        line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line
    )
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    processor = {line.split(":")[0].strip(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
    registers = next(
        (
            name
            for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"))
            if flag in processor.get("flags", "").split()
        ),
        "neither AVX-512 nor AVX2",
    )
    name, version = (system.get(key, "").strip('"') for key in ("NAME", "VERSION_ID"))
    return f"{name} {version}", f"{processor.get('model name', 'processor unknown')} with {registers}"


def floats(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def largest_difference(folder, a, b):
    return max(abs(x - y) for x, y in zip(floats(folder / a), floats(folder / b), strict=True))


def take_turns(peers, rounds, least_seconds, after_round=lambda: None):
    """Seconds of a forward, for each peer a list of `rounds`. Every turn lasts about `least_seconds`."""
    times = {}
    for peer in peers:  # each has computed before; a long forward needs no more warming up
        once = peer.seconds(1)
        times[peer] = max(1, round(least_seconds / (peer.seconds(3) if once < 1 else once)))
    taken = {peer: [] for peer in peers}
    for turn in range(rounds):
        for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
            time.sleep(0.05)  # threads of the previous peer may still spin, waiting for work
            taken[peer].append(peer.seconds(times[peer]))
        after_round()
    return taken
