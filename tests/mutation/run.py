"""Recall by mutation: plant each fault, check the program, and see whether it is found.

    python -m tests.mutation.run                    the project's own programs
    python -m tests.mutation.run --corpus FOLDER    real projects (FOLDER/<owner>__<name>)

Prints a table by operator and by reach, and what was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.static.check import check
from fsdp2_lint.static.frontend import definitions, lookup
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.static.frontend.project import Project
from fsdp2_lint.static.result import Request
from fsdp2_lint.vocab.rule import for_target
from fsdp2_lint.vocab.target import NEWEST, parse
from tests.mutation.operators import map_line, plant

HERE = Path(__file__).parent
PROJECTS = HERE.parent / "projects"
REACHES = ("same function", "same file", "across files")


@dataclass(frozen=True, slots=True)
class Outcome:
    project: str
    recipe: Mapping[str, Any]
    found: bool
    said: tuple[str, ...]  # what was reported instead


def recipes(corpus: Path | None) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Faults of own projects lie beside them; those of one hundred of the catalogue together in ``own/``."""
    if corpus is not None:
        for file in sorted((HERE / "real").glob("*.json")):
            for recipe in json.loads(file.read_text()):
                yield corpus / recipe["repo"].replace("/", "__"), recipe
        return
    for file in sorted(PROJECTS.glob("*/faults.json")):
        for recipe in json.loads(file.read_text()):
            yield file.parent, recipe
    for file in sorted((HERE / "own").glob("*.json")):
        for recipe in json.loads(file.read_text()):
            yield PROJECTS / recipe["project"], recipe


def keep_unchanged_files() -> None:
    """A planted fault changes one file: the trees and imports of all others are kept from run to run."""
    load, parse, imports = Project._load, Project.ast, lookup.imports_of
    kept: dict[Any, Any] = {}

    def once(kind: str, make: Any, project: Project, path: str, *rest: Any) -> Any:
        key = (kind, path, hash(project.data(path)))
        if key not in kept:
            kept[key] = make(project, path, *rest)
        return kept[key]

    Project._load = lambda self, path, tree: once("tree", load, self, path, tree)  # type: ignore[method-assign]
    Project.ast = lambda self, path: once("ast", parse, self, path)  # type: ignore[method-assign]

    def imports_once(project: Project, path: str, data: bytes) -> Any:
        return once("imports", lambda *given: list(imports(*given)), project, path, data)

    definitions.imports_of = imports_once  # type: ignore[attr-defined, assignment]


def attempt(task: tuple[Path, Mapping[str, Any]]) -> Outcome:
    """Plant one fault in memory and check the whole program."""
    folder, recipe = task
    path = folder / recipe["file"]
    changed = plant({recipe["file"]: path.read_text(encoding="utf-8")}, recipe)
    overlay = {os.path.realpath(folder / name): text.encode() for name, text in changed.items()}
    files = discover([str(folder)]).files
    torch = parse(recipe["torch"]) if "torch" in recipe else pinned_torch(folder) or NEWEST
    rules = for_target(registry.rules(), torch)
    report = check(Request(files=files, root=os.path.realpath(folder), overlay=overlay, rules=rules))
    expected = {
        (os.path.realpath(folder / name), line)
        for name, original in recipe["expect"]
        for line in map_line(recipe, name, original)
    }
    found = any(
        finding.code == recipe["code"] and any((site.path, site.row) in expected for site in finding.sites)
        for finding in report.findings
    )
    said = tuple(f"{finding.code} {finding.primary.site}" for finding in report.findings)
    return Outcome(folder.name, recipe, found, () if found else said)


def table(outcomes: list[Outcome]) -> str:
    """Markdown: found / planted by operator and code, and by reach."""
    keys = sorted({(outcome.recipe["code"], outcome.recipe["operator"]) for outcome in outcomes})
    lines = [f"| clause | operator | {' | '.join(REACHES)} | all |", "|---|---|" + "---|" * (len(REACHES) + 1)]
    for key in [*keys, ("all", "")]:
        mine = [each for each in outcomes if key[0] == "all" or (each.recipe["code"], each.recipe["operator"]) == key]
        cells = [_share([each for each in mine if each.recipe["reach"] == reach]) for reach in REACHES]
        lines.append(f"| {key[0]} | {key[1]} | {' | '.join(cells)} | {_share(mine)} |")
    return "\n".join(lines)


def _share(outcomes: list[Outcome]) -> str:
    return f"{sum(each.found for each in outcomes)}/{len(outcomes)}" if outcomes else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder that holds the real projects at their commits")
    parser.add_argument("--only", default="", help="projects or codes whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--at-least", type=float, default=0.0, help="exit 1 below this recall")
    options = parser.parse_args()
    wanted = [task for task in recipes(options.corpus) if options.only in f"{task[0].name} {task[1]['code']}"]
    wanted.sort(key=lambda task: task[0].name)
    outcomes = []
    with ProcessPoolExecutor(options.jobs, initializer=keep_unchanged_files) as pool:
        for outcome in pool.map(attempt, wanted, chunksize=8):
            outcomes.append(outcome)
            if options.corpus:
                print("." if outcome.found else "x", end="", file=sys.stderr, flush=True)
    print(table(outcomes))
    for missed in (outcome for outcome in outcomes if not outcome.found):
        place = f"{missed.recipe['file']}:{missed.recipe['line']}"
        print(f"missed: {missed.project} {missed.recipe['code']} {missed.recipe['operator']} {place} {missed.said}")
    recall = sum(outcome.found for outcome in outcomes) / max(1, len(outcomes))
    print(f"recall {recall:.3f}")
    return int(recall < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
