"""Path conditions: nothing is excluded that can be, nothing is decided that may differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fsdp2_lint.static.domain.formulas import atoms, both, either, intern, negate, one_of
from fsdp2_lint.static.domain.path_conditions import TRUE, PathCondition, forget
from fsdp2_lint.static.domain.sides import merged, two_sides
from fsdp2_lint.static.domain.spellings import spelled

KEYS = ("a", "b", "n", "t")
VALUES = (None, 0, 1, "on")
NUMBERS = (0, 1, 1.5, 2)  # what "n" may be: only numbers are compared by size
TEXTS, PARTS = ("fsdp", "hsdp", "fs", "", "on"), ("fs", "f", "sdp", "fsdp", "")  # what "t" may be, and may have in it


def worlds() -> Iterator[dict[str, object]]:
    """Every way in which the unknowns can turn out."""
    for values in itertools.product(VALUES, VALUES, NUMBERS, (None, *TEXTS)):
        yield dict(zip(KEYS, values))


def holds(formula: object, world: dict[str, object]) -> bool:
    """What a formula means."""
    if isinstance(formula, bool):
        return formula
    kind, first = formula[0], formula[1]  # type: ignore[index]
    if kind == "not":
        return not holds(first, world)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, world) for part in first)
    if kind == "spelled":
        return spelled(world[first], formula[2:])  # type: ignore[index]
    if kind == "compared":
        value, number = world[first], formula[3]  # type: ignore[index]
        return value > number if formula[2] == ">" else value >= number  # type: ignore[operator, index]
    return bool(world[first]) if kind == "truth" else world[first] == formula[2]  # type: ignore[index]


LEAVES = st.one_of(
    st.tuples(st.just("truth"), st.sampled_from(KEYS)),
    st.tuples(st.just("is"), st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.tuples(st.just("compared"), st.just("n"), st.sampled_from((">", ">=")), st.sampled_from(NUMBERS)),
    st.tuples(
        st.just("spelled"), st.just("t"), st.sampled_from(("startswith", "endswith", "in")), st.sampled_from(PARTS)
    ),
    st.tuples(st.just("is"), st.just("t"), st.sampled_from((None, *TEXTS))),
    st.booleans(),
)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(negate), st.lists(inner, max_size=3).map(both), st.lists(inner, max_size=3).map(either)
    ),
    max_leaves=5,
)
LITERALS = st.lists(st.tuples(FORMULAS, st.booleans()), max_size=4)


def conjunction(literals: list[tuple[object, bool]]) -> PathCondition | None:
    guard: PathCondition | None = TRUE
    for formula, truth in literals:
        guard = guard.add(formula, truth) if guard else None
    return guard


def models(literals: list[tuple[object, bool]]) -> list[dict[str, object]]:
    return [world for world in worlds() if all(holds(formula, world) is truth for formula, truth in literals)]


@given(FORMULAS)
def test_negation(formula: object) -> None:
    assert all(holds(negate(formula), world) is not holds(formula, world) for world in worlds())
    assert negate(negate(formula)) == intern(formula)


@given(st.lists(FORMULAS, max_size=4))
def test_composites_mean_what_they_say(parts: list[object]) -> None:
    for world in worlds():
        assert holds(both(parts), world) is all(holds(part, world) for part in parts)
        assert holds(either(parts), world) is any(holds(part, world) for part in parts)


@settings(max_examples=150)
@given(LITERALS)
def test_only_what_cannot_be_is_a_contradiction(literals: list[tuple[object, bool]]) -> None:
    if conjunction(literals) is None:
        assert not models(literals)


@settings(max_examples=150)
@given(LITERALS, FORMULAS)
def test_only_what_follows_is_decided(literals: list[tuple[object, bool]], asked: object) -> None:
    guard = conjunction(literals)
    if guard is not None and (decided := guard.decide(asked)) is not None:
        assert all(holds(asked, world) is decided for world in models(literals))


@settings(max_examples=150)
@given(LITERALS, LITERALS)
def test_joining_two_paths(left: list[tuple[object, bool]], right: list[tuple[object, bool]]) -> None:
    mine, other = conjunction(left), conjunction(right)
    if mine is None or other is None:
        return
    joined = mine.join(other)
    assert mine.compatible(other) is (joined is not None)
    if joined is None:
        assert not models(left + right)
    else:
        assert joined.implies(mine) and joined.implies(other)
    if mine.implies(other):
        allowed = models(right)
        assert all(world in allowed for world in models(left))


def about_others(formula: Any) -> Any:
    """The same of unknowns that nothing else speaks of."""
    if isinstance(formula, bool):
        return formula
    kind, first, *rest = formula
    if kind in ("and", "or"):
        return (both if kind == "and" else either)(map(about_others, first))
    return negate(about_others(first)) if kind == "not" else (kind, ("other", first), *rest)


@settings(max_examples=150)
@given(LITERALS, LITERALS, FORMULAS, FORMULAS)
def test_paths_that_ask_different_things_are_joined_at_once(
    left: list[tuple[object, bool]], right: list[tuple[object, bool]], one: object, two: object
) -> None:
    """Part by part the same would come of it."""
    mine, other = conjunction(left), conjunction([(about_others(formula), truth) for formula, truth in right])
    if mine is None or other is None:
        return
    assert mine.compatible(other) and mine.keys.isdisjoint(other.keys)
    joined, tried = mine._beside(other), mine._tried(other.literals)
    assert tried is not None and joined.literals == tried.literals and joined.keys == tried.keys
    two = about_others(two)
    for asked in (one, two, both([one, two]), either([one, two])):
        assert joined.decide(asked) is tried.decide(asked)
        assert (joined.add(asked) is None) is (tried.add(asked) is None)


@settings(max_examples=150)
@given(LITERALS)
def test_a_path_implies_itself_and_the_empty_one(literals: list[tuple[object, bool]]) -> None:
    guard = conjunction(literals)
    if guard is not None:
        assert guard.implies(guard) and guard.implies(TRUE) and guard.join(guard) is guard and TRUE.join(guard) is guard
        assert TRUE.implies(guard) is (guard is TRUE)


@settings(max_examples=150)
@given(LITERALS, LITERALS)
def test_only_paths_without_a_common_case_are_apart(
    left: list[tuple[object, bool]], right: list[tuple[object, bool]]
) -> None:
    mine, other = conjunction(left), conjunction(right)
    if mine is not None and other is not None and not mine.in_one_case(other):
        assert not models(left + right)


def test_composites_that_exclude_each_other_part_by_part() -> None:
    def path(number: int) -> PathCondition | None:
        first = both([("truth", "a"), ("is", "n", number)])
        return TRUE.add(either([first, both([negate(("truth", "a")), ("is", "b", number)])]))

    one, other = path(1), path(0)
    assert one is not None and other is not None and one.compatible(other), "seen part by part only"
    assert not one.in_one_case(other) and not other.in_one_case(one)
    assert one.in_one_case(one) and one.in_one_case(TRUE)


SIMPLE = st.lists(st.tuples(LEAVES, st.booleans()), max_size=4)


@settings(max_examples=150)
@given(SIMPLE, SIMPLE)
@example([(("truth", "n"), False)], [(("is", "n", None), True), (("compared", "n", ">", 0), True)])
def test_joining_is_symmetric(left: list[tuple[object, bool]], right: list[tuple[object, bool]]) -> None:
    mine, other = conjunction(left), conjunction(right)
    if mine is not None and other is not None:
        assert mine.compatible(other) is other.compatible(mine)


def test_the_last_part_that_is_left_must_hold() -> None:
    guard = conjunction([(either([("truth", "a"), both([("truth", "b"), ("compared", "n", ">", 1)])]), True)])
    assert guard is not None and (guard := guard.add(("truth", "a"), False)) is not None
    assert guard.decide(("truth", "b")) is guard.decide(("compared", "n", ">=", 1)) is True
    assert guard.decide(("is", "n", 0)) is False and guard.decide(("compared", "n", ">", 2)) is None


A, B = ("truth", "a"), ("truth", "b")
AND, OR = ("and", A, B), ("or", A, B)


def made(formula: tuple[object, ...]) -> object:
    """Formulas live as long as one entry is interpreted, so each test makes its own."""
    if formula[0] in ("and", "or"):
        return (both if formula[0] == "and" else either)(made(part) for part in formula[1:])  # type: ignore[arg-type]
    return formula


@pytest.mark.parametrize(
    ("literals", "possible"),
    [
        ([(A, True), (A, False)], False),
        ([(("is", "a", 1), True), (("is", "a", 2), True)], False),
        ([(("is", "a", 1), True), (("is", "a", 2), False)], True),
        ([(("is", "a", 1), False), (("is", "a", 2), False)], True),
        ([(("is", "a", None), True), (A, True)], False),
        ([(("is", "a", None), True), (A, False)], True),
        ([(A, True), (("is", "a", None), True)], False),
        ([(("is", "a", "x"), True), (A, False)], False),
        ([(("is", "a", 0), True), (A, True)], False),
        ([(AND, True), (B, False)], False),
        ([(AND, False), (A, True), (B, True)], False),
        ([(A, True), (B, True), (AND, False)], False),
        ([(OR, True), (A, False), (B, False)], False),
        ([(OR, False), (B, True)], False),
        ([(OR, True), (A, False)], True),
        ([(("or", AND, ("is", "c", 1)), True), (A, False), (("is", "c", 2), True)], False),
    ],
)
def test_contradictions(literals: list[tuple[object, bool]], possible: bool) -> None:
    guard = conjunction([(made(formula), truth) for formula, truth in literals])  # type: ignore[arg-type]
    assert (guard is not None) is possible


@pytest.mark.parametrize("value", [1, "on"])
def test_what_is_false_equals_nothing_that_is_true(value: object) -> None:
    """``if not mode: …`` and ``if mode == "fsdp": …`` exclude each other."""
    assert conjunction([(A, False), (("is", "a", value), True)]) is None


def test_decisions() -> None:
    guard = conjunction([(("is", "a", 1), True), (either([B, ("is", "c", 1)]), True)])
    assert guard is not None
    assert guard.decide(("is", "a", 2)) is False
    assert guard.decide(A) is True
    assert guard.decide(B) is None
    assert guard.decide(either([A, B])) is True
    assert guard.decide(negate(both([A, ("is", "a", 1)]))) is False


def test_equality_with_another_unknown_is_never_decided() -> None:
    other = ("some", "unknown")
    guard = TRUE.add(("is", "a", other))
    assert guard is not None
    assert guard.decide(("is", "a", 1)) is None
    assert guard.decide(("is", "a", other)) is True


def test_dropping_what_is_not_asked_for() -> None:
    guard = conjunction([(A, True), (B, False)])
    assert guard is not None
    less = guard.without_literals(frozenset({(intern(B), False)}))
    assert less.decide(A) is True and less.decide(B) is None
    assert guard.without_literals(guard.literal_set) is TRUE


def test_two_sides_of_a_branch_are_one_path() -> None:
    base, fork = conjunction([(A, True)]), ("is", ("fork", 1), 0)
    assert base is not None
    yes, no = base.add(B), base.add(B, False)
    assert yes is not None and no is not None
    assert [guard.literals for guard in merged([yes, no])] == [base.literals]
    assert [guard.literals for guard in merged([yes, base])] == [base.literals], "what another covers goes"
    left, right = conjunction([(B, True), (fork, True)]), conjunction([(B, False), (("is", ("fork", 1), 1), True)])
    assert left is not None and right is not None
    assert len(merged([left, right])) == 2, "two forks may have more arms than these"
    two_sides(left, right)
    assert merged([left, right]) == [TRUE]
    other = conjunction([(B, False), (fork, True)])
    assert other is not None and len(merged([left, right.add(A) or right])) == 2, "one side under a further condition"


def test_large_conditions_become_unknowns_of_their_own() -> None:
    many = [("truth", f"x{number}") for number in range(100)]
    large = both(many)
    assert len(list(atoms(large))) == 1
    guard = TRUE.add(large)
    assert guard is not None and guard.decide(many[0]) is None


def test_one_formula_is_one_object() -> None:
    assert intern(("is", "a", 1)) is intern(("is", "a", 1))
    assert both([A, B]) is both([A, B])
    assert both([A, True]) is intern(A) and either([A, False]) is intern(A)
    assert both([]) is True and either([]) is False
    assert both([A, False]) is False and either([A, True]) is True
    before = intern(A)
    forget()
    assert intern(A) is not before


def test_two_lists_of_constants_may_leave_nothing() -> None:
    first = TRUE.add(either([("is", "model", "a"), ("is", "model", "b")]))
    assert first is not None and first.decide(("is", "model", "c")) is False
    assert first.add(either([("is", "model", "c"), ("is", "model", "d")])) is None
    second = first.add(either([("is", "model", "b"), ("is", "model", "c")]))
    assert second is not None and second.decide(("is", "model", "a")) is False
    assert second.add(("is", "model", "b")) is not None
    other = first.add(either([("is", "model", "c"), ("is", "size", 1)]))
    assert other is not None, "about two unknowns"


@pytest.fixture
def closed() -> Iterator[None]:
    """What "a" may be in the worlds is all that it may be."""
    one_of("a", VALUES)
    yield
    for value in VALUES:
        intern(("is", "a", value)).others = ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LITERALS, FORMULAS)
def test_a_closed_list_leaves_what_can_be(closed: None, literals: list[tuple[object, bool]], asked: object) -> None:
    guard, found = conjunction(literals), models(literals)
    if guard is None:
        assert not found
    elif guard.decide(asked) is not None:
        assert all(holds(asked, world) is guard.decide(asked) for world in found)


def test_the_last_of_a_closed_list(closed: None) -> None:
    *others, last = VALUES
    guard = conjunction([(("is", "a", value), False) for value in others])
    assert guard is not None and guard.decide(("is", "a", last)) is True
    assert guard.add(("is", "a", last), False) is None
    assert not guard.compatible(TRUE.add(("is", "a", last), False) or TRUE)
