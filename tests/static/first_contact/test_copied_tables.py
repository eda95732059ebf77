"""Tables that are copied before one of the copies is changed."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
model = Net()
fully_shard(model)
if ({asked}):
    model.forward(torch.zeros(2))
"""
TABLES = """
import copy

BASE = {"tie": False, "kinds": [nn.Linear], "parts": {"tie": False}}
WORDS = ["head"]

def changed(table, **over):
    table.update(over)
    return table

def extended(words, *more):
    for word in more:
        words.append(word)
    return words

class Plan:
    TIED = {"small": False, "large": False}
    NAMES = ["head"]

    @classmethod
    def untied(cls):
        return {name: value for name, value in COPY.items() if not value}

    @classmethod
    def names(cls):
        return COPIED
"""


def runs(asked: str, tables: str = TABLES) -> bool:
    return "FSDP401" in analyse(main(RUN.format(asked=asked), tables)).codes


@pytest.mark.parametrize("copied", [
    "dict(BASE)", "BASE.copy()", "{**BASE}", "BASE | {}", "copy.copy(BASE)", "copy.deepcopy(BASE)",
])  # fmt: skip
def test_what_is_put_into_a_copy_of_a_dict(copied: str) -> None:
    assert not runs(f'changed({copied}, tie=True)["steps" if 0 else "tie"] and BASE["tie"]')
    assert not runs(f'changed({copied}, tie=True) and BASE["tie"]')
    assert runs(f'changed({copied}, tie=True)["tie"]')
    assert runs('changed(BASE, tie=True) and BASE["tie"]')


@pytest.mark.parametrize("copied", [
    "list(WORDS)", "WORDS.copy()", "[*WORDS]", "WORDS + []", "WORDS[:]", "copy.copy(WORDS)", "copy.deepcopy(WORDS)",
])  # fmt: skip
def test_what_is_added_to_a_copy_of_a_list(copied: str) -> None:
    assert not runs(f'extended({copied}, "embed") and "embed" in WORDS')
    assert runs(f'"embed" in extended({copied}, "embed")')
    assert runs('extended(WORDS, "embed") and "embed" in WORDS')


def test_a_deep_copy_has_its_own_inner_tables() -> None:
    """A shallow one shares them."""
    assert not runs('changed(copy.deepcopy(BASE)["parts"], tie=True) and BASE["parts"]["tie"]')
    assert runs('changed(copy.copy(BASE)["parts"], tie=True) and BASE["parts"]["tie"]')


def test_a_copied_module_in_a_list_is_another_one() -> None:
    body = """
model = Net()
layers = copy.{how}([model.layers[0], model.layers[1]])
for layer in layers:
    fully_shard(layer)
model.layers[0].forward(torch.zeros(2))
"""
    assert "FSDP401" in analyse(main(body.format(how="copy"), TABLES)).codes
    assert "FSDP401" not in analyse(main(body.format(how="deepcopy"), TABLES)).codes


@pytest.mark.parametrize("copy", ["dict(cls.TIED)", "cls.TIED", "{**cls.TIED}", "(cls.TIED | {})", "dict(**cls.TIED)"])
def test_a_table_of_a_class_that_is_copied_is_not_filled_by_others(copy: str) -> None:
    tables = TABLES.replace("COPY", copy)
    assert not runs("Plan.untied()[sys.argv[1]]", tables)
    assert not runs("any(Plan.untied().values())", tables)
    assert runs("len(Plan.untied()) > 1", tables)


@pytest.mark.parametrize("copied", ["[*cls.NAMES]", "cls.NAMES + []", "list(reversed(cls.NAMES))", "cls.NAMES[::-1]"])
def test_a_list_of_a_class_that_is_copied_is_not_filled_by_others(copied: str) -> None:
    tables = TABLES.replace("COPIED", copied)
    assert not runs('"embed" in Plan.names()', tables)
    assert runs('"embed" in Plan.names()', tables.replace('NAMES = ["head"]', 'NAMES = ["head", "embed"]'))
