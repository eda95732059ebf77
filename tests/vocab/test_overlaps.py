"""The table of clauses that own others."""

from __future__ import annotations

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab.overlaps import OWNERS


def test_each_pair_once_and_of_clauses_that_exist() -> None:
    pairs = [(owner, consequence) for owner, consequence, _ in OWNERS]
    assert len(pairs) == len(set(pairs))
    codes = {rule.code for rule in registry.rules()}
    assert all({owner, consequence} <= codes for owner, consequence in pairs)


def test_nothing_owns_its_owner() -> None:
    pairs = {(owner, consequence) for owner, consequence, _ in OWNERS}
    assert not {pair for pair in pairs if pair[::-1] in pairs}
