"""What is noted of a value: defaults, states by their class, and what a copy has of it."""

from __future__ import annotations

from dataclasses import dataclass

from fsdp2_lint.static.domain.values import AbstractObject


@dataclass(frozen=True)
class Colour:
    name: str


@dataclass(frozen=True)
class Weight:
    kilograms: int


def test_what_is_noted_of_one_says_nothing_of_another() -> None:
    one, other = AbstractObject("unknown"), AbstractObject("unknown")
    one.module = False
    one.know(Colour("red"))
    assert (other.module, other.state(Colour)) == (None, None)


def test_a_state_replaces_those_of_its_kind_only() -> None:
    atom = AbstractObject("unknown")
    for state in (Colour("red"), Weight(2), Colour("blue")):
        atom.know(state)
    assert (atom.state(Colour), atom.state(Weight)) == (Colour("blue"), Weight(2))


def test_a_copy_has_all_that_was_noted_and_goes_its_own_way() -> None:
    atom, copy = AbstractObject("instance", origin="Settings"), AbstractObject("instance", origin="a copy")
    atom.shared = True
    atom.know(Colour("red"))
    copy.note_as_of(atom)
    copy.know(Weight(2))
    copy.cut = True
    assert (copy.shared, copy.state(Colour), copy.origin) == (True, Colour("red"), "a copy")
    assert (atom.state(Weight), atom.cut) == (None, False) and copy.id != atom.id and copy.root.atom is copy
