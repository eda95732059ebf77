"""What merging the reports of thousands of ranks costs.

The reports come from a generator: what ranks that agree write in three watched steps, with findings on all of them.
No torch is needed.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.codec import (
    digest_of,
    fact_as_json,
    fact_in_short,
    finding_as_json,
    moment_as_json,
    site_as_json,
)
from fsdp2_lint.report.halves import HALF, beginning, token
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.rank_file import VERSION
from fsdp2_lint.report.sequences import ring_of
from fsdp2_lint.vocab.facts import Fact
from fsdp2_lint.vocab.finding import Finding, Label, Moment, Observed, Severity, Site

PARAMS = [
    f"{name}.weight"
    for name in ("attn.q", "attn.k", "attn.v", "attn.o", "mlp.up", "mlp.gate", "mlp.down", "norm1", "norm2")
]
STEPS = 3
COLLECTIVES = 500  # in the ring
FINDINGS = 3  # on each rank
FOLDER = "/home/someone/projects/training"


def line(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({"record": kind, **values}, separators=(",", ":")) + "\n"


def site(row: int) -> Site:
    return Site(f"{FOLDER}/train.py", row, 9, row, 60)


def at(row: int) -> Moment:
    return Moment(Site(f"{FOLDER}/models/decoder.py", row, 9, row, 60), (site(40), site(41), site(42)))


class Job:
    """The reports of ranks that all do the same, but for the one that is ``astray``: it starts from other weights."""

    def __init__(self, world_size: int, blocks: int, astray: int | None = None) -> None:
        self.everyone = tuple(range(world_size))
        self.blocks = [f"model.layers.{number}" for number in range(blocks)]
        self.astray = astray
        self.common = "".join([*self._verdicts(), *self._collectives(), *map(self._step, range(1, STEPS + 1))])
        self.weights = [self._weights("same"), self._weights("other")]
        kinds = 3 * blocks
        tokens = b"".join(token(0, n % kinds, n % kinds, n % kinds + 1) for n in range(COLLECTIVES))
        self.ring = (beginning(1, 0, []) + tokens).ljust(2 * HALF, b"\0")

    def text(self, rank: int) -> str:
        """The report of one rank."""
        member = {"rank": rank, "world_size": len(self.everyone), "time": 1_700_000_000.0 + rank / 1000}
        start = line("start", {"version": VERSION, "run": "job", "launch": f"node {rank}", "pid": rank, **member})
        parts = [start, line("joined", {"token": "group", **member}), line("sharded", {})]
        parts += [self._plan(rank), self.weights[rank == self.astray]]
        parts += [self.common, *self._own(rank), line("closed", {"why": "end", "steps": STEPS})]
        return "".join([*parts, line("end", {"code": 0, "time": 1_700_000_000.0 + rank})])

    def write(self, folder: Path) -> int:
        """Write the files of all ranks; the bytes that they take."""
        size = 0
        for rank in self.everyone:
            path = folder / f"rank{rank}.jsonl"
            size += path.write_text(self.text(rank))
            size += ring_of(path).write_bytes(self.ring)
        return size

    def _fact(self, kind: str, key: str, values: dict[str, str], step: int = 1, **traits: str) -> Fact:
        return Fact(kind, key, at(50), self.everyone, values, dict.fromkeys(values, site(30)), traits, step)

    def _plan(self, rank: int) -> str:
        words = "; ".join(f"{name} [4096, 4096] torch.float32 S(0)" for name in PARAMS)
        plan = self._fact("plan", "Decoder", dict.fromkeys(self.blocks, words))
        return line("fact", fact_in_short(plan) if rank else {**fact_as_json(plan), "digest": digest_of(plan)})

    def _weights(self, seed: str) -> str:
        return "".join(
            line("fact", fact_as_json(self._fact("starting-weights", "Decoder", values, mesh="shards", loaded="no")))
            for block in self.blocks
            for values in [{f"{block}.{name}": f"{seed} weights".ljust(16) for name in PARAMS}]
        )

    def _verdicts(self) -> Iterable[str]:
        for code in range(300, 340):
            where = {"judged": [site_as_json(site(code))], "model": "Decoder", "at": site_as_json(site(30))}
            yield line("verdict", {"code": f"FSDP{code}", "word": "upheld", "reasons": [], **where})

    def _collectives(self) -> Iterable[str]:
        yield line("group", {"id": 0, "name": "0", "ranks": list(self.everyone)})
        for number in range(3 * len(self.blocks)):
            block = self.blocks[number % len(self.blocks)]
            kind = "all_gather" if number < 2 * len(self.blocks) else "reduce_scatter"
            names = [f"{block}.{name}" for name in PARAMS]
            what = {"id": number, "kind": kind, "size": "67108864 numbers of torch.bfloat16", "names": names}
            yield line("collective", what)
            yield line("place", {"id": number, **moment_as_json(at(100 + number)), "by": "forward", "aside": False})

    def _step(self, step: int) -> str:
        facts = [
            self._fact("forward-order", f"step {step}, forward 1", {f"{position:06}": block}, step)
            for position, block in enumerate(self.blocks)
        ]
        for block in self.blocks:
            values = {f"{block}.{name}": "yes" for name in PARAMS}
            key = f"{block}, step {step}, backward 1"
            facts.append(Fact("group-gradients", key, at(50), self.everyone, values, {"": site(30)}, step=step))
        return "".join(line("fact", fact_as_json(fact)) for fact in facts) + line("step", {"steps": step})

    def _own(self, rank: int) -> Iterable[str]:
        """What no two ranks have in common."""
        yield line("fact", fact_as_json(self._fact("device", "devices", {"device": f"node GPU-{rank}"})))
        for step in range(1, STEPS + 1):
            yield line(
                "fact", fact_as_json(self._fact("batch", "inputs", {f"backward {step}": f"{rank} {step}"}, step))
            )
        for row in range(FINDINGS):
            label, seen = Label(site(row + 1), "it happens here"), Observed((rank,), 1, self.blocks[0])
            found = Finding("FSDP601", "a-rule", Severity.ERROR, "it is wrong", label, "do it right", observed=seen)
            yield line("finding", finding_as_json(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranks", type=int, nargs="*", default=[8, 1024, 4096])
    parser.add_argument("--blocks", type=int, default=32, help="of the model, of 9 parameters each")
    parser.add_argument("--astray", action="store_true", help="the last rank starts from other weights")
    options = parser.parse_args()
    print("| ranks | MB written | cpu s | wall s | peak MB | findings |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    for ranks in options.ranks:
        with tempfile.TemporaryDirectory() as folder:
            size = Job(ranks, options.blocks, ranks - 1 if options.astray else None).write(Path(folder))
            wall, cpu = time.perf_counter(), time.process_time()
            report = read_job(Path(folder), registry.rules())
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            assert report.world_size == len(report.ended) == ranks, report.notes
            print(f"| {ranks} | {size / 1e6:.0f} | {cpu:.2f} | {wall:.2f} | {peak:.0f} | {len(report.findings)} |")


if __name__ == "__main__":
    main()
