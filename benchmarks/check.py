"""What a check costs beside other linters: CPU seconds, wall seconds and peak memory of whole processes, tree by tree.

The machine is shared, so times drift. All cases of a tree take turns, and what is printed are medians over the turns;
a first turn, which fills caches, does not count. Trees are copied first: nothing in those that are given is changed.

    python benchmarks/check.py examples tests/projects --runs 7
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """One way to call a tool. ``edits``: a line is added to one file before each call."""

    tool: str
    name: str
    arguments: str
    edits: bool = False

    def command(self, copies: Copies) -> list[str]:
        words = (word.format(**vars(copies)) for word in shlex.split(self.arguments))
        return [program(self.tool) or self.tool, *words]


@dataclass(frozen=True)
class Copies:
    """A tree to leave alone and one in which a file is edited, in a folder that has caches beside them."""

    cache: Path
    tree: Path
    edited: Path
    edit: Path


class Used(NamedTuple):
    """By a process and all that it waited for; MB are of the largest of them, and never less than this script has."""

    cpu: float
    wall: float
    memory: float


# No settings of the project: each tool judges the same files by what it judges by default.
OURS = "check --isolated --exit-zero"
RUFF = "check --isolated --exit-zero --quiet"
COLD = Case("fsdp2-lint", "cold, one process", f"{OURS} --no-cache --jobs 1 {{tree}}")
BASE = Case("ruff", "no cache", f"{RUFF} --no-cache {{tree}}")
CASES = (
    COLD,
    Case("fsdp2-lint", "cold, all processors", f"{OURS} --no-cache {{tree}}"),
    Case("fsdp2-lint", "warm", f"{OURS} --cache-dir {{cache}}/tree {{tree}}"),
    Case("fsdp2-lint", "warm, after one edit", f"{OURS} --cache-dir {{cache}}/edited {{edited}}", edits=True),
    BASE,
    Case("ruff", "warm", f"{RUFF} --cache-dir {{cache}}/ruff {{tree}}"),
    Case("flake8", "", "--isolated --exit-zero {tree}"),
    Case("pylint", "", f"--rcfile={os.devnull} --exit-zero --recursive=y {{tree}}"),
    Case("torchfix", "", "{tree}"),
)
FLOORS = (Case("python", "import click", "-c 'import click'"), COLD, BASE)
TOOLS = list(dict.fromkeys(case.tool for case in CASES))


def program(tool: str) -> str | None:
    """Where a tool is installed: beside the Python that runs this, or else on the path."""
    return shutil.which(tool, path=str(Path(sys.executable).parent)) or shutil.which(tool)


def copied(given: Path, folder: Path, edit: str | None) -> Copies:
    """The copies have an empty folder .git, which tells tools that they are projects of their own."""
    tree, edited = folder / "tree", folder / "edited"
    for copy in (tree, edited):
        left_out = shutil.ignore_patterns(".git", "__pycache__", ".*[-_]cache", ".venv*")
        shutil.copytree(given, copy, ignore=left_out, symlinks=True)
        (copy / ".git").mkdir()
    return Copies(folder / "cache", tree, edited, edited_file(edited, edit))


def edited_file(tree: Path, named: str | None) -> Path:
    """The file that is named, or else the first that says fully_shard, or else the first."""
    files = sorted(path for path in tree.rglob("*.py") if path.is_file())
    if not files:
        raise SystemExit("no Python files to measure with")
    if named and (tree / named).is_file():
        return tree / named
    return next((path for path in files if b"fully_shard" in path.read_bytes()), files[0])


def used(command: Sequence[str], folder: Path) -> Used:
    """What one process took. One that fails is no measurement."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        with subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT) as process:
            _, status, took = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}\n{output.read()[-2000:].decode()}")
    return Used(took.ru_utime + took.ru_stime, wall, took.ru_maxrss / 1024)


def measured(cases: Sequence[Case], copies: Copies, runs: int) -> dict[Case, Used]:
    seen: dict[Case, list[Used]] = {case: [] for case in cases}
    for number in range(runs + 1):
        for case in cases:
            if case.edits:
                with copies.edit.open("a", encoding="utf-8") as file:
                    file.write(f"\n# edit {number}\n")
            seen[case].append(used(case.command(copies), copies.cache.parent))
    return {case: Used(*map(statistics.median, zip(*each[1:]))) for case, each in seen.items()}


def rows(figures: dict[Case, Used]) -> Iterator[list[str]]:
    yield ["", "cpu s", "wall s", "peak MB", "cpu / ruff", "wall / ruff"]
    base = figures.get(BASE)
    for case, each in figures.items():
        ratios = [f"{each.cpu / base.cpu:.1f}", f"{each.wall / base.wall:.1f}"] if base else ["", ""]
        name = f"{case.tool}, {case.name}".rstrip(", ")
        yield [name, f"{each.cpu:.2f}", f"{each.wall:.2f}", f"{each.memory:.0f}", *ratios]


def compare(given: Path, title: str, cases: Sequence[Case], options: argparse.Namespace) -> None:
    """Measure one tree and print its table."""
    installed = [case for case in cases if case.tool in (*options.tools, "python") and program(case.tool)]
    with tempfile.TemporaryDirectory() as folder:
        copies = copied(given, Path(folder), options.edit)
        lines = [path.read_bytes().count(b"\n") for path in copies.tree.rglob("*.py") if path.is_file()]
        figures = measured(installed, copies, options.runs)
    print(f"\n{title} ({len(lines)} Python files of {sum(lines)} lines), medians of {options.runs} runs\n")
    for number, (name, *cells) in enumerate(rows(figures)):
        if options.output_format == "text":
            print(f"{name:34}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
        else:
            print(f"| {' | '.join([name, *cells])} |" + ("" if number else "\n| --- |" + " ---: |" * len(cells)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--edit", metavar="FILE", help="the file of a tree to edit (default: one with fully_shard)")
    parser.add_argument("--output-format", choices=["text", "markdown"], default="text")
    options = parser.parse_args()
    for tool in options.tools:
        if program(tool) is None:
            print(f"{tool} is not installed and is left out")
    with tempfile.TemporaryDirectory() as plain:
        shutil.copy(statistics.__file__, plain)
        compare(Path(plain), "floors: one file without FSDP2", FLOORS, options)
    for tree in options.trees:
        compare(tree, tree.resolve().name, CASES, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
