"""How long it takes from the moment in which a rank stands still to the line that says so, and what the watch costs.

Two gloo ranks train. Then one of them sleeps, is stopped by a signal, calls C code that holds the interpreter's lock,
or is late while the other one asks in a loop of its own whether its collective is done.

    python benchmarks/stalls.py --runs 3 --stall-after 2 10
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("sleep", "stop", "lock", "poll")
PROGRAM = """\
import ctypes, os, signal, sys, time
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
kind, seconds, late = sys.argv[1], float(sys.argv[2]), dist.get_rank() == 1
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.randn(4, 32)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
time.sleep(2)
dist.barrier()
if late:
    print("BEGAN", time.time(), file=sys.stderr, flush=True)
if late and kind in ("sleep", "poll"):
    time.sleep(seconds)
elif late and kind == "stop":
    if os.fork() == 0:
        time.sleep(seconds)
        os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
elif late:
    ctypes.PyDLL(None).sleep(int(seconds))
work = dist.all_reduce(torch.ones(1), async_op=True)
while kind == "poll" and not work.is_completed():
    time.sleep(0.01)
work.wait()
dist.destroy_process_group()
"""


def measure(folder: Path, kind: str, patience: float) -> float:
    """Seconds from the beginning of the stall to the line on stderr; NaN where there was none."""
    script = folder / "train.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "fsdp2_lint", "run", "--nproc-per-node", "2", "--stall-after", str(patience)]
    command += ["--report-dir", str(folder / f"{kind}-{time.time()}"), str(script), kind, str(patience + 8)]
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert job.stderr is not None
    began = said = float("nan")
    for line in job.stderr:
        if line.startswith("BEGAN"):
            began = float(line.split()[1])
        elif line.startswith("fsdp2-lint:") and "FSDP803" in line:
            said = time.time()
    job.wait()
    return said - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--stall-after", type=float, nargs="+", default=[2.0, 10.0])
    given = parser.parse_args()
    for patience in given.stall_after:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                took = [measure(Path(folder), kind, patience) for _ in range(given.runs)]
            print(f"{patience:g} s, {kind}: " + ", ".join(f"{each:.2f}" for each in took), flush=True)


if __name__ == "__main__":
    main()
