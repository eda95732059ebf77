"""Plant faults by machine in repositories that use FSDP2, and see which of them the checker finds.

    python scripts/plant.py FOLDER [FOLDER ...] --out OUT.jsonl [--jobs N] [--steps N] [--places N] [--only TEXT]

Each folder in FOLDER is a repository. Each gets a process and a limit of steps, so that the answer depends neither on
the machine nor on the other repositories. OUT.jsonl gets one line for each plant; the table by operator is printed.
Nothing of a repository is imported or run, and nothing is written into it.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.mutation.machine.planting import PLACES, STEPS, Outcome, plant_all  # noqa: E402
from tests.mutation.machine.report import recall, table  # noqa: E402
from tests.mutation.run import keep_unchanged_files  # noqa: E402


def plant_in(folder: Path, steps: int, places: int) -> list[Outcome]:
    keep_unchanged_files()
    return plant_all(folder, steps, places)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="of repositories")
    asked.add_argument("--out", type=Path, required=True, help="a file of JSON lines")
    asked.add_argument("--jobs", type=int, default=1, help="repositories at a time")
    asked.add_argument("--steps", type=int, default=STEPS, help="of the analysis, in one repository")
    asked.add_argument("--places", type=int, default=PLACES, help="for each operator in one repository")
    asked.add_argument("--only", default="", help="repositories whose name contains this")
    given = asked.parse_args()
    all_found = sorted(each for folder in given.folders for each in folder.iterdir() if each.is_dir())
    wanted = [each for each in all_found if given.only in each.name]
    work = partial(plant_in, steps=given.steps, places=given.places)
    found: list[Outcome] = []
    with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1) as pool, given.out.open("w", encoding="utf-8") as out:
        for folder, outcomes in zip(wanted, pool.map(work, wanted)):
            out.writelines(f"{json.dumps(each.data())}\n" for each in outcomes)
            out.flush()
            print(f"{folder.name}: {len(outcomes)}", file=sys.stderr, flush=True)
            found += outcomes
    share = recall(found)
    print(table(found))
    print(f"{len(wanted)} repositories, recall {'of nothing' if share is None else f'{share:.3f}'}")


if __name__ == "__main__":
    main()
