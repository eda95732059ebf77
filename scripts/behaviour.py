"""Write down all that the checker says of many programs, to compare two versions of it.

    python scripts/behaviour.py OUT [--also FOLDER] [-n PROCESSES]

OUT gets one file for each program: on the pages of the rules, in examples/, in tests/projects/ as they are and with
each fault that is planted there; with --also for each repository in FOLDER too. ``diff -r BEFORE AFTER`` is the
comparison.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.locks.behaviour import cases, save  # noqa: E402


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("out", type=Path, help="a folder that is not there yet")
    asked.add_argument("--also", type=Path, action="append", default=[], metavar="FOLDER", help="of repositories")
    asked.add_argument("-n", type=int, default=1, metavar="PROCESSES")
    given = asked.parse_args()
    given.out.mkdir(parents=True)
    with ProcessPoolExecutor(given.n) as pool:
        written = list(pool.map(partial(save, given.out.resolve()), cases(given.also), chunksize=4))
    print(f"{len(written)} programs in {given.out}")


if __name__ == "__main__":
    main()
