"""How long it takes from a collective that ranks disagree about to the line that says so, on one machine.

Two processes issue the same collectives at the pace of a job, and in each of many groups a different one in the end. No
tensor is sent: what is measured is the way from a rank's hook through its file and the process beside the job to
stderr. A first disagreement shows that this process has started, as it has long before the first step of a job; the
ranks wait for that line, and it is not counted.

    python benchmarks/disagreement.py --runs 200
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from fsdp2_lint.report.hangs.beats import BeatFile  # noqa: E402
from fsdp2_lint.report.rank_file import VERSION, RankFile  # noqa: E402
from fsdp2_lint.report.watcher.processes import born  # noqa: E402
from fsdp2_lint.runtime import adapter  # noqa: E402
from fsdp2_lint.runtime.agreement.sequence import Sequence  # noqa: E402
from fsdp2_lint.runtime.sites import LAYERS  # noqa: E402

BEFORE = 98  # collectives of a step of 33 groups
WATCHER = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from fsdp2_lint.report.watcher.loop import main
import os
os.fork = lambda: 0
main(sys.argv[2])
"""


def rank(number: int, folder: Path, runs: int, turns: list[Any], times: Any, started: Any) -> None:
    """Writes what a rank writes. The ranks take turns, so that the second knows when it was that they differed."""
    adapter.ranks_of_group = lambda name: (0, 1)  # type: ignore[assignment]
    file = RankFile(folder, number)
    file.write("start", version=VERSION, rank=number, world_size=2, run="r", pid=os.getpid())
    file.write("joined", rank=number, world_size=2, token="t")
    node = folder / "node"
    node.mkdir(exist_ok=True)
    beat = BeatFile(node / f"{file.path.stem}.beat")
    stands = {"at": {}, "stack": [], "by": "", "waits": False, "issued": []}
    own = {"pid": os.getpid(), "born": born(), "thread": 0, "rank": number, "state": "running"}
    site = {"filename": "/t.py", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 1}}
    sequence = Sequence(file)
    for run in range(runs):
        beat.write(time=time.time(), since=time.time(), **own, **{**stands, **site, "at": site})
        turns[number].acquire()
        for _ in range(BEFORE):
            sequence.add((f"g{run}", "all_gather", 64, None))
        times[2 * run + number] = time.time()
        # From a line of its own: what is said of a line is said once.
        code = compile("\n" * run + "add(issue)", "/train.py", "exec")
        exec(code, {"add": sequence.add, "issue": (f"g{run}", ("broadcast", "barrier")[number], 64, None)})
        turns[1 - number].release()
        started.wait()
        time.sleep(0.1)
    time.sleep(3)
    beat.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs + 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = multiprocessing.get_context("fork")
        turns, times = [context.Semaphore(1), context.Semaphore(0)], context.Array("d", 2 * runs, lock=False)
        started = context.Event()
        given = (folder, runs, turns, times, started)
        ranks = [context.Process(target=rank, args=(each, *given)) for each in range(2)]
        for each in ranks:
            each.start()
        from fsdp2_lint.report.hangs.layers import layers_as_json

        options = {
            "folder": str(folder / "node"),
            "patience": 60.0,
            "layers": layers_as_json(LAYERS),
            "select": ["ALL"],
            "ignore": [],
            "watch": True,
        }
        said = []
        command = [sys.executable, "-c", WATCHER, str(ROOT), json.dumps(options)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watcher:
            assert watcher.stderr is not None
            for line in watcher.stderr:
                if "FSDP802" in line:
                    said.append(time.time())
                    started.set()
        for each in ranks:
            each.join()
    late = sorted((heard - max(times[2 * run : 2 * run + 2])) * 1e3 for run, heard in enumerate(said) if run)
    print(f"{len(late)} of {runs - 1} disagreements said; ms: median {statistics.median(late):.1f},", end=" ")
    print(f"p99 {late[math.ceil(0.99 * len(late)) - 1]:.1f}, slowest {late[-1]:.1f}")
    return 0 if len(said) == runs else 1


if __name__ == "__main__":
    sys.exit(main())
