"""What one process of a rehearsal takes, beside the import of torch: CPU seconds and memory."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path

import torch._dynamo
import torch.distributed.checkpoint.state_dict  # noqa: F401

from fsdp2_lint.preflight.part import Asked, Depth, Part, Place, Script
from fsdp2_lint.preflight.stage import play

DECODER = str(Path(__file__).with_name("decoder.py"))
CASES: tuple[tuple[str, int, Depth], ...] = (
    ("8b", 1024, "plan"),
    ("8b", 4096, "plan"),
    ("70b", 1024, "plan"),
    ("8b", 64, "step"),
    ("8b", 1024, "step"),
)


def measured(model: str, ranks: int, depth: Depth, folder: Path) -> tuple[float, float]:
    """CPU seconds and GiB at most, of the process that plays rank 0."""
    part = Part(Script(DECODER, (model,)), Asked(depth, steps=1), Place(0, ranks, 8), (0,), folder, "benchmark")
    if (child := os.fork()) == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        play(part)
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"{model} at {ranks} ranks ended with {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def main() -> None:
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(f"imports: {own.ru_utime + own.ru_stime:.1f} s")
    print("| model | ranks | depth | cpu s | peak GiB |")
    print("| --- | ---: | --- | ---: | ---: |")
    for model, ranks, depth in CASES:
        with tempfile.TemporaryDirectory() as folder:
            seconds, memory = measured(model, ranks, depth, Path(folder))
        print(f"| {model} | {ranks:,} | {depth} | {seconds:.1f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
