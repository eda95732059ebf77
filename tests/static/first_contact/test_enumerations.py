"""Members of an enumeration know their class, name and value, however a program comes by one."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = {
    "str, Enum": 'FSDP = "fsdp"\n    HSDP = "hsdp"\n    DDP = "ddp"',
    "Enum": "FSDP = auto()\n    HSDP = auto()\n    DDP = auto()",
    "StrEnum": "FSDP = auto()\n    HSDP = auto()\n    DDP = auto()",
    "IntEnum": "FSDP = 1\n    HSDP = 2\n    DDP = 3\n    DEFAULT = 1",
}
WAYS = [
    'Kind(os.environ["KIND"])',
    'Kind[os.environ["KIND"].upper()]',
    'Kind.parse(os.environ["KIND"])',
    'next(each for each in Kind if each.name == os.environ["KIND"])',
    '{"f": Kind.FSDP, "d": Kind.DDP, "h": Kind.HSDP}[os.environ["KIND"]]',
    'getattr(Kind, os.environ["KIND"])',
]


def program(base: str, way: str, sharded: str, wrapped: str) -> str:
    members = KINDS[base]
    kind = f"""
from enum import Enum, IntEnum, StrEnum, auto

class Kind({base}):
    {members}

    @property
    def sharded(self):
        return self in (Kind.FSDP, Kind.HSDP)

    @classmethod
    def parse(cls, text):
        return cls(text)
"""
    body = f"""
kind = {way}
model = Net()
if {sharded}:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {wrapped}:
    model = DistributedDataParallel(model)
"""
    return main(body, kind)


@pytest.mark.parametrize("base", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_wrapped_where_it_is_not_sharded(base: str, way: str) -> None:
    for sharded, wrapped in [
        ("kind is Kind.FSDP", "kind is Kind.DDP"),
        ("kind.sharded", "kind == Kind.DDP"),
        ("kind.name == 'HSDP'", "kind.value == Kind.DDP.value"),
    ]:
        assert analyse(program(base, way, sharded, wrapped)).codes == []


@pytest.mark.parametrize("base", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_member_that_shards_and_wraps(base: str, way: str) -> None:
    assert "FSDP310" in analyse(program(base, way, "kind.sharded", "kind.value == Kind.HSDP.value")).codes
    assert "FSDP310" in analyse(program(base, way, "kind is not Kind.DDP", "kind.name == 'FSDP'")).codes


def test_an_alias_is_the_member_that_it_stands_for() -> None:
    assert "FSDP310" in analyse(program("IntEnum", "Kind.DEFAULT", "kind is Kind.FSDP", "kind.name == 'FSDP'")).codes
    assert analyse(program("IntEnum", "Kind.DEFAULT", "kind is Kind.FSDP", "kind.name == 'DEFAULT'")).codes == []
