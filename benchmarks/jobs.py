"""The jobs that are measured: a model of blocks, steps of it, and hooks that go on and off."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from surroundings import Places, counted_collectives, sequence_number  # noqa: E402

from fsdp2_lint.report.rank_file import RankFile  # noqa: E402
from fsdp2_lint.runtime.monitors import (  # noqa: E402
    install,
)
from fsdp2_lint.runtime.monitors.forward import (  # noqa: E402
    calls,
    closing,
)
from fsdp2_lint.runtime.session import Options, Session  # noqa: E402


@dataclass(frozen=True)
class Load:
    """The job: so many blocks of so many features, each a group of its own, and the root."""

    layers: int = 8
    dim: int = 256
    tokens: int = 256  # per rank and step


@dataclass
class Plan:
    repetitions: int = 40
    stretch: int = 3
    starts: int = 5


@dataclass
class Sample:
    """One repetition: milliseconds per step, of the wall clock and of the training thread's CPU time."""

    watched: float
    plain: float
    watched_cpu: float
    plain_cpu: float


@dataclass
class Start:
    """Milliseconds of the parts of a job that happen once."""

    install: float = 0.0
    shard: float = 0.0
    first_step: float = 0.0
    close: float = 0.0


@dataclass
class Measured:
    samples: list[Sample] = field(default_factory=list)
    collectives: dict[str, dict[str, float]] = field(default_factory=dict)
    sequence: dict[str, float] = field(default_factory=dict)
    plain_starts: list[Start] = field(default_factory=list)
    watched_starts: list[Start] = field(default_factory=list)
    patched: int = 0
    left_behind: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    defects: int = 0
    report_bytes: float = 0.0  # per watched step


class Block(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim, bias=False)
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, load: Load) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, load.dim)
        self.layers = nn.ModuleList(Block(load.dim) for _ in range(load.layers))
        self.norm = nn.LayerNorm(load.dim)
        self.head = nn.Linear(load.dim, 256, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Job:
    """A training job of one rank."""

    def __init__(self, load: Load) -> None:
        self.load = load
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        torch.manual_seed(0)
        self.model = Net(load)
        for block in self.model.layers:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.data = torch.Generator().manual_seed(dist.get_rank())

    def step(self) -> None:
        tokens = torch.randint(256, (8, self.load.tokens // 8 + 1), generator=self.data)
        logits = self.model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Watch:
    """One session whose hooks go on and off, with what it knows of the model kept in between."""

    def __init__(self, folder: Path) -> None:
        # As `run --check` opens it: with a report, and with the rules that are on by default.
        file = RankFile(folder, dist.get_rank())
        self.session = Session(file, Options(steps=0))
        self.path = file.path

    def on(self) -> None:
        """Everything as for a new stretch; the classes of a model that is sharded already are watched again."""
        session = self.session
        install(session)
        session.facts.clear()
        for known in session.ledger.models:
            known.settled = False
        classes = {type(module) for each in session.ledger.shardings for module in each.live_modules()}
        for cls in classes:
            if not hasattr(cls.forward, "_fsdp2_lint"):
                calls.watch_forward(session, cls)

    def off(self) -> None:
        self.session.quietly(closing.close)(self.session, why="steps")
        self.session.rare.remove()


def begun(load: Load, watch: Watch | None = None) -> Job:
    """A job after its first three steps. A watch is on for these, and off again."""
    if watch is not None:
        watch.on()
    job = Job(load)
    for _ in range(3):
        job.step()
    if watch is not None:
        watch.off()
    return job


@contextmanager
def clock(into: Callable[[float], None]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    into((time.perf_counter() - started) * 1e3)


def timed_steps(job: Job, count: int) -> tuple[float, float]:
    """Milliseconds per step: of the wall clock, and of CPU time of this thread, in which all hooks run on CPUs."""
    dist.barrier()
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(count):
        job.step()
    return (time.perf_counter() - wall) * 1e3 / count, (time.thread_time() - cpu) * 1e3 / count


# What is patched, and whether it is back.


def measure(load: Load, plan: Plan, folder: str) -> dict[str, Any]:
    dist.init_process_group("gloo")
    found = Measured()
    for number in range(2 * plan.starts):
        watched = number % 2 == 1
        start = _start(load, Path(folder) / f"start{number}" if watched else None)
        if number > 1:  # the first of each kind warms up
            (found.watched_starts if watched else found.plain_starts).append(start)
    with Places() as places:
        watch = Watch(Path(folder))
        job = begun(load, watch)
        for _ in range(2):
            job.step()
        written, steps = watch.path.stat().st_size, 0
        gc.collect()
        gc.freeze()
        for number in range(plan.repetitions):
            times: dict[bool, tuple[float, float]] = {}
            for watched in (True, False) if number % 2 else (False, True):
                if watched:
                    watch.on()
                times[watched] = timed_steps(job, plan.stretch)
                if watched:
                    steps += plan.stretch
                    watch.off()
            (wall, cpu), (plain, plain_cpu) = times[True], times[False]
            found.samples.append(Sample(wall, plain, cpu, plain_cpu))
        found.report_bytes = (watch.path.stat().st_size - written) / steps
        for watched in (False, True):
            if watched:
                watch.on()
            before = sequence_number()
            with counted_collectives() as counts:
                for _ in range(plan.stretch):
                    job.step()
            name = "watched" if watched else "plain"
            found.sequence[name] = (sequence_number() - before) / plan.stretch
            found.collectives[name] = {key: count / plan.stretch for key, count in sorted(counts.items())}
            if watched:
                watch.off()
    found.patched, found.left_behind = len(places.before), places.left_behind()
    found.findings = sorted({each.code for each in watch.session.findings.values()})
    found.defects = watch.session._broken
    dist.destroy_process_group()
    return asdict(found)


def _start(load: Load, folder: Path | None) -> Start:
    """A whole short job, built from nothing, with or without hooks."""
    start = Start()
    gc.collect()
    dist.barrier()
    watch = None
    if folder is not None:
        with clock(lambda ms: setattr(start, "install", ms)):
            watch = Watch(folder)
            watch.on()
    with clock(lambda ms: setattr(start, "shard", ms)):
        job = Job(load)
    dist.barrier()
    with clock(lambda ms: setattr(start, "first_step", ms)):
        job.step()
    if watch is not None:
        with clock(lambda ms: setattr(start, "close", ms)):
            watch.off()
    return start


def after(load: Load, steps: int, watched: bool, folder: str) -> list[tuple[float, float]]:
    """(wall, CPU) milliseconds of each step of a job after three steps that were watched, or were not."""
    dist.init_process_group("gloo")
    job = begun(load, Watch(Path(folder)) if watched else None)
    for _ in range(5):
        job.step()
    gc.collect()
    found = [timed_steps(job, 1) for _ in range(steps)]
    dist.destroy_process_group()
    return found
