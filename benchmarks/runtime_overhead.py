"""What ``run --check`` costs a job on gloo ranks: in the watched steps, at the start, and after its hooks are gone.

The machine is shared, so times drift. Stretches of watched and plain steps of one job alternate,
and what is compared are the two stretches of one repetition. A step is timed on rank 0; the ranks
wait for each other in every step anyway.

    python benchmarks/runtime_overhead.py --layers 8 --repetitions 40
    python benchmarks/runtime_overhead.py --layers 8 --profile
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from fsdp2_lint.report.rank_file import RankFile  # noqa: E402
from fsdp2_lint.runtime.hooks import calls, closing, install  # noqa: E402
from fsdp2_lint.runtime.patches import Patches  # noqa: E402
from fsdp2_lint.runtime.ranks import run_ranks  # noqa: E402
from fsdp2_lint.runtime.session import Options, Session  # noqa: E402

TARGET = 1.25
COLLECTIVES = (
    "all_gather_single",  # what FSDP2 calls in torch 2.13, and the two of older ones
    "reduce_scatter_single",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_reduce",
    "all_gather",
    "all_gather_object",
    "broadcast",
    "broadcast_object_list",
    "barrier",
    "all_to_all_single",
    "gather",
    "scatter",
    "send",
    "recv",
)


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
        # As `run --check` opens it: with a report, and with the clauses that are on by default.
        self.session = Session(RankFile(folder, dist.get_rank()), Options(steps=0))
        self.path = folder / f"rank{dist.get_rank()}.jsonl"

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


class Places:
    """Every attribute that a session replaces, as it was before."""

    def __init__(self) -> None:
        self.before: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._replace = Patches.replace

    def __enter__(self) -> Places:
        replace = self._replace

        def recorded(patches: Patches, owner: Any, name: str, *rest: Any, **more: Any) -> None:
            self.before.setdefault((id(owner), name), (owner, name, vars(owner).get(name, self)))
            replace(patches, owner, name, *rest, **more)

        Patches.replace = recorded  # type: ignore[method-assign]
        self.hooks = _global_hooks()
        return self

    def __exit__(self, *_: object) -> None:
        Patches.replace = self._replace  # type: ignore[method-assign]

    def left_behind(self) -> list[str]:
        """What is not the very object that was there before."""
        names = [
            f"{getattr(owner, '__name__', owner)}.{name}"
            for owner, name, original in self.before.values()
            if vars(owner).get(name, self) is not original
        ]
        return names + [name for name, count in _global_hooks().items() if count != self.hooks[name]]


def _global_hooks() -> dict[str, int]:
    spaces = [(nn_module, name) for name in vars(nn_module) if name.startswith("_global_") and "hooks" in name]
    spaces += [(optim, name) for name in vars(optim) if name.startswith("_global_optimizer_")]
    return {name: len(found) for owner, name in spaces if hasattr(found := getattr(owner, name), "__len__")}


@contextmanager
def counted_collectives() -> Iterator[Counter[str]]:
    """How often functions of torch.distributed are called, whoever calls them."""
    counts: Counter[str] = Counter()
    originals = {name: getattr(dist, name) for name in COLLECTIVES if hasattr(dist, name)}

    def counting(name: str) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return originals[name](*args, **kwargs)

        return counted

    spaces = [dist, sys.modules["torch.distributed.distributed_c10d"]]
    for space in spaces:
        for name in originals:
            setattr(space, name, counting(name))
    try:
        yield counts
    finally:
        for space in spaces:
            for name, original in originals.items():
                setattr(space, name, original)


def sequence_number() -> int:
    """How many collectives the process group itself has begun."""
    return int(dist.group.WORLD._get_sequence_number_for_group())  # type: ignore[union-attr]


# The jobs. Each runs on every rank, and rank 0's result counts.


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
        watch.on()
        job = Job(load)
        for _ in range(3):
            job.step()
        watch.off()
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
    watch = Watch(Path(folder)) if watched else None
    if watch is not None:
        watch.on()
    job = Job(load)
    for _ in range(3):
        job.step()
    if watch is not None:
        watch.off()
    for _ in range(5):
        job.step()
    gc.collect()
    found = [timed_steps(job, 1) for _ in range(steps)]
    dist.destroy_process_group()
    return found


def profile(load: Load, steps: int, folder: str) -> dict[str, Any]:
    """Milliseconds per step of each hook, by the clock, and of each function of ours, under cProfile."""
    spent: defaultdict[str, float] = defaultdict(float)
    busy: defaultdict[str, float] = defaultdict(float)  # this thread's CPU time, whoever else wants the cores
    calls_of: Counter[str] = Counter()
    quietly = Session.quietly

    def timed(session: Session, hook: Any) -> Any:
        guarded = quietly(session, hook)

        def watched(*args: Any, **kwargs: Any) -> Any:
            if session._busy:
                return guarded(*args, **kwargs)
            started, cpu = time.perf_counter(), time.thread_time()
            try:
                return guarded(*args, **kwargs)
            finally:
                spent[hook.__qualname__] += time.perf_counter() - started
                busy[hook.__qualname__] += time.thread_time() - cpu
                calls_of[hook.__qualname__] += 1

        return watched

    dist.init_process_group("gloo")
    watch = Watch(Path(folder))
    Session.quietly = timed  # type: ignore[method-assign]
    watch.on()
    Session.quietly = quietly  # type: ignore[method-assign]
    job = Job(load)
    for _ in range(5):
        job.step()
    for each in (spent, busy, calls_of):
        each.clear()
    started = time.perf_counter()
    for _ in range(steps):
        job.step()
    step = (time.perf_counter() - started) * 1e3 / steps
    hooks = {
        name: [total * 1e3 / steps, busy[name] * 1e3 / steps, calls_of[name] / steps] for name, total in spent.items()
    }
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(steps):
        job.step()
    profiler.disable()
    watch.off()
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    functions = []
    for (file, row, name), (_, count, own, total, callers) in stats.items():
        # Of what is called from our files too, as far as it is.
        ours = "fsdp2_lint" in file
        if ours:
            functions.append((f"{Path(file).name}:{row} {name}", count / steps, own * 1e3 / steps, total * 1e3 / steps))
        else:
            parts = [each for key, each in callers.items() if "fsdp2_lint" in key[0]]
            if parts:
                where = f"(called by us) {Path(file).name} {name}"
                sums = [sum(part[index] for part in parts) for index in (1, 2, 3)]
                functions.append((where, sums[0] / steps, sums[1] * 1e3 / steps, sums[2] * 1e3 / steps))
    dist.destroy_process_group()
    return {"step": step, "hooks": hooks, "functions": functions}


# What comes out.


def on_ranks(work: Callable[..., Any], ranks: int, *args: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_ranks(work, ranks, *args, folder, timeout=1200)
    for each in outcomes:
        if each.code:
            raise SystemExit(f"rank {each.rank} ended with {each.code}\n{each.error}")
    return outcomes[0].result


def interval(pairs: Sequence[tuple[float, float]], resamples: int = 4000) -> tuple[float, float]:
    """The middle 95 % of the ratio of medians, over repetitions drawn with replacement."""
    chance = random.Random(0)
    ratios = []
    for _ in range(resamples):
        drawn = chance.choices(pairs, k=len(pairs))
        ratios.append(statistics.median(each[0] for each in drawn) / statistics.median(each[1] for each in drawn))
    ratios.sort()
    return ratios[int(0.025 * resamples)], ratios[int(0.975 * resamples) - 1]


def show(load: Load, found: dict[str, Any], ranks: int) -> bool:
    """Print the figures; whether they are within what the tool promises."""
    print(f"\n{load.layers} layers, dim {load.dim}, {load.tokens} tokens, {load.layers + 1} groups, {ranks} ranks")
    print(f"{'ms per step':18}{'min':>9}{'median':>9}{'mean':>9}")
    for kind in ("plain", "watched", "plain_cpu", "watched_cpu"):
        values = [each[kind] for each in found["samples"]]
        print(f"{kind:18}{min(values):9.2f}{statistics.median(values):9.2f}{statistics.mean(values):9.2f}")
    ratio = 0.0
    for kind in ("", "_cpu"):
        pairs = [(each[f"watched{kind}"], each[f"plain{kind}"]) for each in found["samples"]]
        watched, plain = zip(*pairs)
        least, middle = min(watched) / min(plain), statistics.median(watched) / statistics.median(plain)
        low, high = interval(pairs)
        ratio = middle  # in the end that of CPU time: the wall clock of a shared machine decides nothing
        print(f"ratio{kind:13} of minima {least:.3f}, of medians {middle:.3f} [{low:.3f}, {high:.3f}]")
    for name in ("install", "shard", "first_step", "close"):
        plain, watched = (
            statistics.median(each[name] for each in found[kind]) for kind in ("plain_starts", "watched_starts")
        )
        print(f"once: {name:12} plain {plain:9.2f} ms, watched {watched:9.2f} ms, extra {watched - plain:8.2f} ms")
    print(f"collectives per step, plain   {found['collectives']['plain']}, sequence {found['sequence']['plain']}")
    print(f"collectives per step, watched {found['collectives']['watched']}, sequence {found['sequence']['watched']}")
    print(f"patched {found['patched']} attributes, left behind: {found['left_behind'] or 'nothing'}")
    print(f"findings {found['findings']}, defects {found['defects']}, report {found['report_bytes']:.0f} bytes/step")
    same = found["collectives"]["plain"] == found["collectives"]["watched"]
    same = same and found["sequence"]["plain"] == found["sequence"]["watched"]
    return ratio <= TARGET and same and not found["left_behind"]


def show_after(load: Load, ranks: int, pairs: int) -> None:
    print(f"\nafter the hooks are gone, against jobs that never had any: {load}, {pairs} pairs of jobs")
    times: dict[bool, list[list[tuple[float, float]]]] = {True: [], False: []}
    for number in range(pairs):
        for watched in (True, False) if number % 2 else (False, True):
            times[watched].append(on_ranks(after, ranks, load, 30, watched))
    for index, kind in enumerate(("wall", "cpu")):
        jobs = {watched: [[step[index] for step in job] for job in times[watched]] for watched in times}
        for watched, name in ((False, "never watched"), (True, "watched before")):
            merged = [each for job in jobs[watched] for each in job]
            low, middle, mean = min(merged), statistics.median(merged), statistics.mean(merged)
            print(f"{name:15}{kind:5}{low:9.2f}{middle:9.2f}{mean:9.2f}")
        medians = [
            (statistics.median(ours), statistics.median(theirs)) for ours, theirs in zip(jobs[True], jobs[False])
        ]
        middle = statistics.median(each[0] for each in medians) / statistics.median(each[1] for each in medians)
        low, high = interval(medians)
        least = min(map(min, jobs[True])) / min(map(min, jobs[False]))
        print(f"ratio {kind:14} of minima {least:.3f}, of medians {middle:.3f} [{low:.3f}, {high:.3f}]")


def show_profile(load: Load, ranks: int) -> None:
    found = on_ranks(profile, ranks, load, 30)
    total, busy = (sum(each[index] for each in found["hooks"].values()) for index in (0, 1))
    print(f"\n{load}: a watched step takes {found['step']:.2f} ms, {total:.2f} of them in hooks, {busy:.2f} ms of CPU")
    for name, (spent, cpu, count) in sorted(found["hooks"].items(), key=lambda each: -each[1][1]):
        print(f"  {spent:8.3f} ms {cpu:8.3f} ms CPU {count:8.1f} calls  {name}")
    for title, index in (("own time", 2), ("with what it calls", 3)):
        print(f"functions, by {title} (under cProfile, ms per step: calls, own, all)")
        for name, count, own, whole in sorted(found["functions"], key=lambda each: -each[index])[:25]:
            print(f"  {count:9.1f} {own:8.3f} {whole:8.3f}  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--stretch", type=int, default=3)
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--after", type=int, default=0, metavar="PAIRS", help="compare the steps after the hooks too")
    parser.add_argument("--profile", action="store_true", help="say where the time goes, and nothing else")
    parser.add_argument("--json", type=Path, help="write the samples to this file")
    given = parser.parse_args()
    fine, written = True, []
    for layers in given.layers:
        load = Load(layers, given.dim, given.tokens)
        if given.profile:
            show_profile(load, given.ranks)
            continue
        plan = Plan(given.repetitions, given.stretch, given.starts)
        found = on_ranks(measure, given.ranks, load, plan)
        written.append({"load": asdict(load), **found})
        fine = show(load, found, given.ranks) and fine
        if given.after:
            show_after(load, given.ranks, given.after)
    if given.json:
        given.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
