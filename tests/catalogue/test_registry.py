"""The clauses hang together: module, page, names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.errors import UnknownCode
from fsdp2_lint.vocab.rule import Rule
from tests import fake

# The hundreds of the contract, each a folder.
TOPICS = dict(
    zip(
        "123456789",
        "launch initialisation sharding forward precision training checkpoints ranks migration".split(),
        strict=True,
    )
)

RULES = registry.rules()


def test_codes_are_sorted_and_names_are_unique() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_each_page_belongs_to_a_clause() -> None:
    pages = {path.stem for path in (Path(__file__).parents[2] / "rules").glob("*/*.md")}
    assert pages == {rule.name.replace("-", "_") for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_clause_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"FSDP\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert type(rule).__module__ == f"fsdp2_lint.rules.{TOPICS[rule.code[4]]}.{rule.name.replace('-', '_')}"
    assert rule.judged_by and set(rule.judged_by) <= set("SRP")
    assert rule.summary and not rule.summary.endswith(".") and rule.help
    assert rule.handlers or rule.compares, "it judges nothing"
    assert registry.page(rule).startswith(f"# {rule.code}: {rule.name}\n")


def test_the_nearest_code_is_named() -> None:
    with pytest.raises(UnknownCode, match="did you mean FSDP602"):
        registry.select(fake.RULES, select=["FSDP6O2"])
    with pytest.raises(UnknownCode, match="'E501'"):
        registry.select(fake.RULES, ignore=["E501"])
