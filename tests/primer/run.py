"""Precision on real projects: check each one and compare with the findings that were read by hand.

    python -m tests.primer.run --corpus FOLDER      the projects of findings.tsv (FOLDER/<owner>__<name>)
    python -m tests.primer.run --negative FOLDER    projects that must have no finding

Prints what each project costs, new findings, gone findings and precision by code. Exit 1 if there are new ones.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request

HERE = Path(__file__).parent


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """What makes two findings of two runs the same one."""

    repo: str
    file: str
    line: int
    code: str
    severity: str

    def __str__(self) -> str:
        return f"{self.repo} {self.file}:{self.line} {self.code} {self.severity}"


@dataclass(frozen=True, slots=True)
class Checked:
    repo: str
    messages: Mapping[Key, str]
    cost: str


def read_findings() -> dict[Key, str]:
    """The verdict on each known finding."""
    with (HERE / "findings.tsv").open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            Key(row["repo"], row["file"], int(row["line"]), row["code"], row["severity"]): row["verdict"]
            for row in rows
        }


def read_repos() -> dict[str, str]:
    """All projects of the corpus, also those without a finding, and their commits."""
    with (HERE / "repos.tsv").open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["repo"]: row["commit"] for row in rows}


def examine(folder: Path) -> Checked:
    """All errors and warnings of one project."""
    gc.set_threshold(100_000, 50, 50)  # as the command line does
    root = os.path.realpath(folder)
    repo = folder.name.replace("__", "/", 1)
    began = time.process_time()
    report = check(Request(files=discover([root]).files, root=root, rules=registry.rules()))
    messages = {}
    for finding in report.findings:
        if finding.severity.value in ("error", "warning"):
            site = finding.primary.site
            file = Path(os.path.relpath(site.path, root)).as_posix()
            messages[Key(repo, file, site.row, finding.code, finding.severity.value)] = finding.message
    taken, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    cost = f"{report.cut} of {report.programs} programs cut, {taken:.1f} s of CPU, {memory} MiB"
    return Checked(repo, messages, cost)


def examine_all(folders: Iterable[Path], jobs: int | None) -> dict[Key, str]:
    messages: dict[Key, str] = {}
    with Pool(jobs, maxtasksperchild=1) as pool:  # a large project's memory goes back with its process
        for checked in pool.imap_unordered(examine, folders):
            messages.update(checked.messages)
            print(f"{checked.repo}: {checked.cost}", flush=True)
            print("." if not checked.messages else len(checked.messages), end=" ", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return messages


def precision(verdicts: Iterable[tuple[Key, str]]) -> str:
    """Markdown: findings that hold / findings, by code. What is debatable counts as not holding."""
    known = list(verdicts)
    findings = Counter(key.code for key, _ in known)
    hold = Counter(key.code for key, verdict in known if verdict == "holds")
    findings["all"], hold["all"] = findings.total(), hold.total()
    lines = ["| code | findings | hold | precision |", "|---|---|---|---|"]
    for code, count in sorted(findings.items()):
        share = f"{hold[code] / count:.2f}" if count else ""
        lines.append(f"| {code} | {count} | {hold[code]} | {share} |")
    return "\n".join(lines)


def compare_corpus(corpus: Path, only: str, jobs: int | None) -> bool:
    """Is every finding a known one?"""
    wanted = [repo for repo in read_repos() if only in repo]
    present = [repo for repo in wanted if (corpus / repo.replace("/", "__")).is_dir()]
    for repo in sorted(set(wanted) - set(present)):
        print(f"not there: {repo}")
    known = {key: verdict for key, verdict in read_findings().items() if key.repo in present}
    found = examine_all([corpus / repo.replace("/", "__") for repo in present], jobs)
    new = sorted(found.keys() - known.keys())
    for key in new:
        print(f"new: {key} {found[key]}")
    for key in sorted(known.keys() - found.keys()):
        print(f"gone: {key} ({known[key]})")
    print(precision((key, known.get(key, "new")) for key in found))
    return not new


def compare_negative(folder: Path, jobs: int | None) -> bool:
    """Has no project a finding?"""
    projects = sorted(each for each in folder.iterdir() if each.is_dir())
    found = examine_all(projects, jobs)
    for key in sorted(found):
        print(f"new: {key} {found[key]}")
    print(f"{len(projects)} projects that must have no finding: {len(found)} findings")
    return not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder that holds the projects at their commits")
    parser.add_argument("--negative", type=Path, help="folder of projects that must have no finding")
    parser.add_argument("--only", default="", help="projects of the corpus whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.corpus is None and options.negative is None:
        parser.error("--corpus or --negative is needed")
    good = True
    if options.corpus is not None:
        good &= compare_corpus(options.corpus, options.only, options.jobs)
    if options.negative is not None:
        good &= compare_negative(options.negative, options.jobs)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
