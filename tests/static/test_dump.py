"""A trace as text: the same for equal traces, whatever their numbers are."""

from __future__ import annotations

import pytest

from fsdp2_lint.static.domain.path_conditions import TRUE
from fsdp2_lint.static.domain.values import AbstractObject, Const, ListV, Obj, Text, TupleV, unknown
from fsdp2_lint.static.dump import Writer


def lines(*values: object) -> list[str]:
    writer = Writer()
    return [line for value in values for line in writer.finished(writer.text(value))]


def test_numbers_are_counted_from_where_they_are_first_met() -> None:
    later, first = unknown("a"), unknown("b")
    assert lines(first, later, first) == ["<unknown b#1>", "<unknown a#2>", "<unknown b#1>"]
    assert lines(ListV(70), ListV(9), ListV(70)) == ["ListV(id=list#1)", "ListV(id=list#2)", "ListV(id=list#1)"]
    asked = [TRUE.add(("is", ("fork", number), 1)) for number in (31, 7)]
    assert lines(*asked) == ["fork(fork#1) == 1", "fork(fork#2) == 1"]


def test_what_has_no_order_is_sorted() -> None:
    made = [unknown("x") for _ in range(30)]
    assert lines({"b", "a"}, {"b": 1, "a": 2}) == ["{'a', 'b'}", "{'a': 2, 'b': 1}"]
    text = f"{{{', '.join(f'<unknown x#{number}>' for number in range(1, 31))}}}"
    assert lines({*made}) == [text]


def test_a_list_and_a_tuple_are_alike_and_defaults_are_left_out() -> None:
    assert lines([1], (1,)) == ["[1]", "[1]"]
    assert lines(TupleV((Const("a"), Text(None)))) == ["TupleV(items=[Const('a'), Text(per_rank=None)])"]


def test_what_is_long_is_told_once() -> None:
    obj: Obj = AbstractObject("parameter", origin="a_name_that_takes_a_line" * 8).root
    told, first, second = lines(obj, obj.child("x"))[0:3]
    assert told.startswith("      where expr#1 is <parameter a_name")
    assert (first, second) == ("expr#1", "expr#1.x")


def test_what_is_long_does_not_depend_on_numbers() -> None:
    name = "n" * 150
    few, many = AbstractObject("parameter", origin=name), AbstractObject("parameter", origin=name)
    few.id, many.id = 1, 10**30
    assert lines(few.root) == lines(many.root)


def test_what_has_no_text_is_a_defect() -> None:
    with pytest.raises(TypeError, match="no text for a object"):
        lines(object())
