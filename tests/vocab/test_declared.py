"""Records and declared classes are what frozen dataclasses are, but that the type checker alone keeps them frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import pytest

from fsdp2_lint.vocab.declared import Declared, record


@record
class Point:
    x: int
    names: tuple[str, ...] = ()
    seen: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Written:
    x: int
    names: tuple[str, ...] = ()
    seen: int = field(default=0, compare=False, repr=False)


@record
class Empty:
    pass


@record
class Own:
    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


class Shape(Declared):
    x: int
    y: int = 2


class Wide(Shape):
    z: int


def test_a_record_is_what_the_dataclass_is() -> None:
    point, written = Point(1, ("a",), 3), Written(1, ("a",), 3)
    assert repr(point) == repr(written).replace("Written", "Point")
    assert point == Point(1, ("a",), 4) and hash(point) == hash(Point(1, ("a",), 4))
    assert point != Point(2, ("a",), 3) and point != written
    assert replace(point, x=5) == Point(5, ("a",))
    assert not hasattr(point, "__dict__")


def test_a_record_may_have_no_field_and_methods_of_its_own() -> None:
    assert Empty() == Empty() and hash(Empty()) == hash(Empty())
    assert Own(1) == Own(2) and hash(Own(1)) == 7 and repr(Own(1)) == "own"


def test_declared_classes_take_their_fields_by_name() -> None:
    wide = Wide(x=1, z=3)
    assert [each.name for each in fields(wide)] == ["x", "y", "z"]  # type: ignore[arg-type]
    assert repr(wide) == "Wide(x=1, y=2, z=3)"
    assert wide == Wide(x=1, y=2, z=3) and hash(wide) == hash(Wide(x=1, z=3))
    assert wide != Shape(x=1) and wide != Wide(x=1, z=4)


@pytest.mark.parametrize("given", [{}, {"x": 1, "w": 2}])
def test_a_field_that_is_missing_or_unknown_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="Shape: missing or unknown: [wx]$"):
        Shape(**given)
