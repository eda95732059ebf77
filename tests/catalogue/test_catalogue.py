"""The catalogue is whole: each clause has its module, page, examples and tests, and the analyses that it promises.

``catalogue.tsv`` lists every clause with its severity and its analyses: S source, R job, P rehearsal.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from tests.pages.harness import marks, programs

HERE = Path(__file__).parents[1]  # of all tests
CATALOGUE = list(csv.DictReader((Path(__file__).with_name("catalogue.tsv")).open(encoding="utf-8"), delimiter="\t"))
RULES = {rule.code: rule for rule in registry.rules()}
# Witnesses that a clause does not have, and why.
CANNOT = {
    ("FSDP708", "S"): "whether shards are even follows from sizes and the number of ranks, which sources leave open",
    ("FSDP804", "S"): "how many batches a rank gets is a matter of its data",
    ("FSDP810", "S"): "how many targets count is a matter of the data",
}
each_clause = pytest.mark.parametrize("row", CATALOGUE, ids=lambda row: row["name"])


def planted() -> Counter[str]:
    files = [*HERE.glob("projects/*/faults.json"), *HERE.glob("mutation/own/*.json")]
    return Counter(recipe["code"] for file in files for recipe in json.loads(file.read_text(encoding="utf-8")))


@each_clause
def test_a_clause_is_as_the_catalogue_says(row: dict[str, str]) -> None:
    rule = RULES[row["code"]]
    assert (rule.name, rule.severity.value) == (row["name"], row["severity"])
    assert set(rule.judged_by) == {letter for letter in row["judged_by"] if (row["code"], letter) not in CANNOT}


@each_clause
def test_a_clause_shows_what_it_finds_and_what_it_does_not(row: dict[str, str]) -> None:
    shown = programs(registry.page(RULES[row["code"]]))
    bad = [program for program in shown if not program.good]
    assert bad and all(row["code"] in {mark.code for mark in marks(program.files)} for program in bad)
    assert any(program.good for program in shown)


@pytest.mark.parametrize("code", [code for code, rule in RULES.items() if "S" in rule.judged_by])
def test_faults_are_planted_for_what_is_seen_in_the_source(code: str) -> None:
    assert planted()[code] >= 3


def test_nothing_is_outside_the_catalogue() -> None:
    codes = {row["code"] for row in CATALOGUE}
    assert set(RULES) <= codes and set(planted()) <= codes
    assert {code for code, _ in CANNOT} <= codes


def test_the_list_of_clauses_is_up_to_date() -> None:
    """``fsdp2-lint rules --output-format markdown > rules/README.md``"""
    from click.testing import CliRunner

    from fsdp2_lint.cli.rules import rules

    result = CliRunner().invoke(rules, ["--output-format", "markdown"])
    assert (HERE.parent / "rules" / "README.md").read_text(encoding="utf-8") == result.output
    linked = re.findall(r"\]\((.*?\.md)\)", result.output)
    assert len(linked) == len(RULES) and all((HERE.parent / "rules" / page).is_file() for page in linked)
