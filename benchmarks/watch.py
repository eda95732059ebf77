"""What following the collectives to the end of a job costs, beside torch's own TORCH_DISTRIBUTED_DEBUG=DETAIL.

Two ways. Stretches of steps with and without the hooks alternate in one job, after its watched steps are over: all that
the hooks do to a step is in there, and all that other jobs on the machine do to it. And a clock on both sides of each
hook, in the middle of a step: that is the time of the hooks alone, less that of the same clocks without hooks, and
holds still on a busy machine. Jobs under DETAIL, which cannot be switched while a job runs, take turns with plain ones.

    python benchmarks/watch.py --layers 32 --repetitions 60
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from jobs import Job, Load, Watch  # noqa: E402
from runtime_overhead import interval, on_ranks  # noqa: E402

from fsdp2_lint.report.halves import token  # noqa: E402
from fsdp2_lint.report.ring import Ring  # noqa: E402
from fsdp2_lint.runtime import adapter  # noqa: E402
from fsdp2_lint.runtime.monitors.ranks import collectives  # noqa: E402
from fsdp2_lint.runtime.patches import Patches  # noqa: E402


def cpu_of(job: Job, steps: int) -> float:
    """Milliseconds of CPU time of the training thread for a step: all that the hooks do, they do in it."""
    dist.barrier()
    before = time.thread_time()
    for _ in range(steps):
        job.step()
    return (time.thread_time() - before) * 1e3 / steps


def steady(load: Load, repetitions: int, stretch: int, folder: str) -> list[tuple[float, float]]:
    """(with, without) the hooks that stay, in milliseconds of CPU per step."""
    dist.init_process_group("gloo")
    watch = Watch(Path(folder))
    watch.on()
    job = Job(load)
    for _ in range(3):
        job.step()
    watch.off()  # also of the hooks that stay: they go on and off in here
    session, pairs = watch.session, []
    gc.collect()
    gc.freeze()
    for number in range(repetitions):
        times = {}
        for watched in (True, False) if number % 2 else (False, True):
            if watched:
                session.rare = Patches()
                collectives.install(session)
                session.rare.install()
            job.step()  # what is seen for the first time is written down
            times[watched] = cpu_of(job, stretch)
            session.rare.remove()
        pairs.append((times[True], times[False]))
    issued = session.sequence.total
    dist.destroy_process_group()
    assert issued > repetitions, "nothing was followed"
    return pairs


# Its frame is no line of the job: the hooks look for one.
CLOCKED = """
def clocked(original, sign, clock, took):
    def call(*args, **kwargs):
        before = clock()
        try:
            return original(*args, **kwargs)
        finally:
            took[0] += sign * (clock() - before)
    return call
"""


class Clocks:
    """``took``: nanoseconds between the outer and the inner clock of each function that issues or that gathers."""

    def __init__(self) -> None:
        self.took, made = [0], dict[str, Any]()
        exec(compile(CLOCKED, torch.__file__, "exec"), made)
        self._clocked = made["clocked"]
        self.functions = [(each.owner, each.name) for each in adapter.collectives()]
        self.functions += [place for hook in ("gather", "reduce") if (place := adapter.place(hook))]

    def put(self, patches: Patches, sign: int) -> None:
        for owner, name in self.functions:
            patches.replace(owner, name, self._clocked(getattr(owner, name), sign, time.perf_counter_ns, self.took))


def in_place(load: Load, repetitions: int, folder: str) -> tuple[list[float], list[float]]:
    """Microseconds of a step between the two clocks, with the hooks in between and without them."""
    dist.init_process_group("gloo")
    watch = Watch(Path(folder))
    watch.on()
    job = Job(load)
    for _ in range(3):
        job.step()
    watch.off()
    session, clocks = watch.session, Clocks()
    times: dict[bool, list[float]] = {True: [], False: []}
    gc.collect()
    gc.freeze()
    for number in range(repetitions):
        for hooked in (True, False) if number % 2 else (False, True):
            inner, session.rare, outer = Patches(), Patches(), Patches()
            clocks.put(inner, -1)
            if hooked:
                collectives.install(session)
                session.rare.install()
            clocks.put(outer, 1)
            job.step()  # what is seen for the first time is written down,
            job.step()  # and what follows what
            for _ in range(8):
                dist.barrier()
                clocks.took[0] = 0
                job.step()
                times[hooked].append(clocks.took[0] / 1e3)
            for each in (outer, session.rare, inner):
                each.remove()
    dist.destroy_process_group()
    return times[True], times[False]


def turn(folder: str) -> float:
    """Microseconds for each collective of what is done when one half of the file is full."""
    ring, times = Ring(Path(folder) / "ring"), []
    for _ in range(50):
        stored = 0
        with suppress(ValueError):
            while True:
                ring.write(token(0, 1, 1, stored % 98 + 1))
                stored += 1
        before = time.thread_time()
        ring.turn()
        times.append((time.thread_time() - before) * 1e6 / stored)
    return statistics.median(times)


def plain(load: Load, steps: int, detail: str, folder: str) -> list[float]:
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = detail
    dist.set_debug_level_from_env()
    dist.init_process_group("gloo")
    job = Job(load)
    for _ in range(3):
        job.step()
    found = [cpu_of(job, 1) for _ in range(steps)]
    dist.destroy_process_group()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=60)
    parser.add_argument("--stretch", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=3, help="pairs of jobs with and without DETAIL")
    given = parser.parse_args()
    load = Load(given.layers, given.dim, given.tokens)
    print(f"{load.layers} layers, dim {load.dim}, {load.tokens} tokens, {load.layers + 1} groups, {given.ranks} ranks")
    pairs = on_ranks(steady, given.ranks, load, given.repetitions, given.stretch)
    added = [watched - without for watched, without in pairs]
    low, high = interval(pairs)
    ratio = statistics.median(each[0] for each in pairs) / statistics.median(each[1] for each in pairs)
    print(f"cpu ms per step: {statistics.median(each[1] for each in pairs):.2f} without the watch")
    print(f"  the watch: {statistics.median(added):+.2f} (median of {len(added)}), {ratio:.3f} [{low:.3f}, {high:.3f}]")
    print(f"  between the fastest stretches: {min(each[0] for each in pairs) - min(each[1] for each in pairs):+.2f}")
    hooked, bare = on_ranks(in_place, given.ranks, load, given.repetitions)
    more, less = statistics.median(hooked), statistics.median(bare)
    print(f"us in the hooks: {more - less:.0f} per step (medians of {len(hooked)} steps, from clock to clock")
    print(f"  {more:.0f} with the hooks in between and {less:.0f} without them)")
    with tempfile.TemporaryDirectory() as folder:
        print(f"  and {turn(folder):.3f} for each collective when a half of the file is full")
    times: dict[str, list[float]] = {"OFF": [], "DETAIL": []}
    for number in range(given.jobs):
        for level in ("OFF", "DETAIL") if number % 2 else ("DETAIL", "OFF"):
            times[level] += on_ranks(plain, given.ranks, load, 30, level)
    off, detail = (statistics.median(times[level]) for level in ("OFF", "DETAIL"))
    print(f"  DETAIL: {detail - off:+.2f}, {detail / off:.3f} times (medians of {len(times['OFF'])} steps)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
