"""Ranges of numbers: what they decide is what narrowing by it, or by its opposite, would leave as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.static.domain.thresholds import ANY, Range, exactly

OPS = st.sampled_from(("<", "<=", ">", ">="))
NUMBERS = st.integers(-2, 2)
QUESTIONS = st.lists(st.tuples(OPS, NUMBERS, st.booleans()), max_size=4)
PROBES = [number / 2 for number in range(-6, 7)]


def holds(op: str, value: float, number: float) -> bool:
    return {"<": value < number, "<=": value <= number, ">": value > number, ">=": value >= number}[op]


def narrowed(questions: list[tuple[str, int, bool]]) -> Range:
    found = ANY
    for op, number, truth in questions:
        found = found.narrowed(op, number, truth)
    return found


@given(QUESTIONS)
def test_a_range_holds_what_all_questions_leave(questions: list[tuple[str, int, bool]]) -> None:
    found = narrowed(questions)
    for probe in PROBES:
        assert found.holds(probe) is all(holds(op, probe, number) is truth for op, number, truth in questions)


@given(QUESTIONS, OPS, NUMBERS)
def test_what_a_range_decides(questions: list[tuple[str, int, bool]], op: str, number: int) -> None:
    found = narrowed(questions)
    inside = {holds(op, probe, number) for probe in PROBES if found.holds(probe)}
    if inside:
        assert found.decides(op, number) is (inside.pop() if len(inside) == 1 else None)


@given(NUMBERS, OPS, NUMBERS)
def test_one_number(value: int, op: str, number: int) -> None:
    assert exactly(value).decides(op, number) is holds(op, value, number)
