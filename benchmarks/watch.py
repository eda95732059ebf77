"""What following the collectives to the end of a job costs, beside torch's own TORCH_DISTRIBUTED_DEBUG=DETAIL.

Three ways. The hooks alone, for one collective after the other, where a table of so many MB was gone through meanwhile:
most of what they cost is memory that the training pushes out of the caches, and this holds still on a busy machine.
In the middle of a step, between a clock before and a clock behind each hook, less what the same clocks take without
hooks. And stretches of steps with and without the hooks, which alternate in one job after its watched steps are over.
Jobs under DETAIL, which cannot be switched while a job runs, take turns with plain ones.

    python benchmarks/watch.py --alone

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
from jobs import Job, Load, Watch, begun  # noqa: E402
from runtime_overhead import interval, on_ranks  # noqa: E402

from fsdp2_lint.report.halves import token  # noqa: E402
from fsdp2_lint.report.rank_file import RankFile  # noqa: E402
from fsdp2_lint.report.ring import Ring  # noqa: E402
from fsdp2_lint.runtime import adapter  # noqa: E402
from fsdp2_lint.runtime.agreement.sequence import Sequence  # noqa: E402
from fsdp2_lint.runtime.agreement.steady import wrappers  # noqa: E402
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
    job = begun(load, watch)  # the hooks that stay are off as well: they go on and off in here
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
    job = begun(load, watch)
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


# As FSDP2 calls: a function that gathers calls one that issues, below a dozen frames of torch.
ALONE = """
def issued(group, sent, options):
    pass
def gathered(params, group, asynchronous, copies, gathers, device, how):
    issue(group, sent, None)
def called(frames, params):
    if frames:
        return called(frames - 1, params)
    times[0] = clock()
    gather(params, "0", False, None, None, None, None)
    times[1] = clock()
"""


class Named:
    """Stands for a parameter of FSDP2."""

    def __init__(self, name: str) -> None:
        self._param_fqn = name


def alone(megabytes: int, times: int, folder: str) -> float:
    """Nanoseconds of the hooks for one collective, after a table of that size was gone through."""
    adapter.ranks_of_group = lambda name: (0, 1)  # type: ignore[assignment]
    table, patches = torch.zeros(megabytes * 2**18), Patches()
    patches.install()
    own = wrappers(Sequence(RankFile(Path(folder), 0)), patches, lambda where, error: sys.exit(f"{where}: {error}"))
    read: Any = lambda args, kwargs: (args[0], "all_gather", args[1].numel(), args[1].dtype)  # noqa: E731
    groups = [[Named(f"layers.{number}.weight")] for number in range(33)]
    took: dict[bool, list[int]] = {True: [], False: []}
    jobs = {}
    for hooked in took:
        space: dict[str, Any] = {"times": [0, 0], "clock": time.perf_counter_ns, "sent": torch.zeros(4)}
        exec(compile(ALONE, torch.__file__, "exec"), space)
        space["gather"], space["issue"] = space["gathered"], space["issued"]
        if hooked:
            space["gather"] = own.around(space["gathered"])
            space["issue"] = own.issuing(adapter.Issuer(None, "", read, "all_gather", 1), space["issued"])
        jobs[hooked] = space
    for number in range(3 * len(groups) + times):
        for hooked, space in jobs.items():
            table.add_(1.0)
            space["called"](12, groups[number % len(groups)])
            before, after = space["times"]
            if number >= 3 * len(groups):
                took[hooked].append(after - before)
    return statistics.median(took[True]) - statistics.median(took[False])


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
    job = begun(load)
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
    parser.add_argument("--alone", action="store_true", help="only the hooks alone, without jobs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for megabytes in (2, 12, 40):
        with tempfile.TemporaryDirectory() as folder:
            print(f"ns for a collective after {megabytes} MB: {alone(megabytes, 20_000 // megabytes, folder):.0f}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"  and {turn(folder) * 1e3:.0f} where each 4,095 fill a half of the file")
    if given.alone:
        return 0
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
    times: dict[str, list[float]] = {"OFF": [], "DETAIL": []}
    for number in range(given.jobs):
        for level in ("OFF", "DETAIL") if number % 2 else ("DETAIL", "OFF"):
            times[level] += on_ranks(plain, given.ranks, load, 30, level)
    off, detail = (statistics.median(times[level]) for level in ("OFF", "DETAIL"))
    print(f"  DETAIL: {detail - off:+.2f}, {detail / off:.3f} times (medians of {len(times['OFF'])} steps)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
