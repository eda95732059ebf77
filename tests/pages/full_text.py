"""What people read of each clause: its first bad program that gives a finding, in the format ``full``.

    python -m tests.pages.full_text

writes the files in ``tests/pages/full/`` anew. Read the difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path

from fsdp2_lint.catalogue import registry
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.output import render
from fsdp2_lint.vocab.rule import Rule
from tests.locks.behaviour import in_folder
from tests.locks.programs import pages

FOLDER = Path(__file__).parent / "full"
RULES = [rule for rule in registry.rules() if "S" in rule.judged_by]


def path_of(rule: Rule) -> Path:
    return FOLDER / f"{rule.name}.txt"


def text_of(rule: Rule) -> str:
    """Of a clause that no bad program on its page breaks, nothing."""
    bad = (each for each in pages() if each.clause == rule.code and not each.good)
    return next((text for program in bad if (text := in_folder(program, lambda _: findings(rule)))), "")


def findings(rule: Rule) -> str:
    """Of this clause, in the working folder."""
    report = lint(["."], Asked(select=[rule.code]))
    return render("full", report.findings, report.sources)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for rule in RULES:
        path_of(rule).write_text(text_of(rule), encoding="utf-8")


if __name__ == "__main__":
    main()
