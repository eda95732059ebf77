"""What ``run --check`` costs a job on gloo ranks: in the watched steps, at the start, and after its hooks are gone.

The machine is shared, so times drift. Stretches of watched and plain steps of one job alternate,
and what is compared are the two stretches of one repetition. A step is timed on rank 0; the ranks
wait for each other in every step anyway.

    python benchmarks/runtime_overhead.py --layers 8 --repetitions 40
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from jobs import Load, Plan, after, measure  # noqa: E402

from fsdp2_lint.runtime.launch.ranks import run_ranks  # noqa: E402

TARGET = 1.25


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
    parser.add_argument("--json", type=Path, help="write the samples to this file")
    given = parser.parse_args()
    fine, written = True, []
    for layers in given.layers:
        load = Load(layers, given.dim, given.tokens)
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
