"""A branch is run and undone, and only what it wrote is joined, each value under its path."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.static.domain.choices import choose
from fsdp2_lint.static.domain.path_conditions import TRUE, PathCondition
from fsdp2_lint.static.domain.store import Entries, Items, Store
from fsdp2_lint.static.domain.values import NONE, Const, GuardedUnion

FRAME = 1


def path(name: str, truth: bool = True) -> PathCondition:
    guard = TRUE.add(("truth", name), truth)
    assert guard is not None
    return guard


YES, NO = path("flag"), path("flag", False)


def under(guard: PathCondition, value: Any) -> Any:
    """What a value is on one path."""
    if isinstance(value, GuardedUnion):
        (found,) = {leaf for option, leaf in value.options if guard.join(option) is not None}
        return found
    return value


def branch(store: Store, *arms: tuple[PathCondition, dict[Any, Any]]) -> None:
    written = []
    for guard, writes in arms:
        mark = store.mark()
        for key, value in writes.items():
            store.put(key, value)
        written.append((guard, store.undo(mark, FRAME)))
    store.join(written, lambda key: None)


KEYS = st.sampled_from([(FRAME, name) for name in "abc"])
WRITES = st.dictionaries(KEYS, st.integers(0, 3).map(Const), max_size=3)


@given(WRITES, st.lists(WRITES, max_size=4))
def test_undo_restores_everything(before: dict[Any, Any], later: list[dict[Any, Any]]) -> None:
    store = Store()
    for key, value in before.items():
        store.put(key, value)
    state, mark = dict(store.state), store.mark()
    last: dict[Any, Any] = {}
    for writes in later:
        for key, value in writes.items():
            store.put(key, value)
        last.update(writes)
    assert store.undo(mark, FRAME) == last, "the last value of each key that was written"
    assert store.state == state


@given(WRITES, WRITES, WRITES)
def test_two_arms_are_joined_under_their_paths(before: dict[Any, Any], left: Any, right: Any) -> None:
    store = Store()
    for key, value in before.items():
        store.put(key, value)
    branch(store, (YES, left), (NO, right))
    for key in {*before, *left, *right}:
        for guard, arm in ((YES, left), (NO, right)):
            expected = arm.get(key, before.get(key))
            if expected is not None:
                assert under(guard, store.get(key)) == expected


def test_nested_branches() -> None:
    store, key = Store(), (FRAME, "x")
    store.put(key, Const(0))
    inner, outer = path("inner"), path("outer")
    mark = store.mark()
    branch(store, (inner, {key: Const(1)}), (path("inner", False), {}))
    written = store.undo(mark, FRAME)
    store.join([(outer, written), (path("outer", False), {})], lambda key: None)
    assert store.get(key).options  # three ways, one value each
    both = outer.join(inner)
    assert both is not None and under(both, store.get(key)) == Const(1)
    assert under(path("outer", False), store.get(key)) == Const(0)


def test_an_attribute_that_one_arm_never_assigned_is_what_it_stood_for() -> None:
    store = Store()
    mark = store.mark()
    store.put(("args", "device"), Const("cpu"))
    written = store.undo(mark, FRAME)
    store.join([(YES, written), (NO, {})], lambda key: Const("derived"))
    assert under(YES, store.get(("args", "device"))) == Const("cpu")
    assert under(NO, store.get(("args", "device"))) == Const("derived")


def test_locals_of_a_finished_call_are_forgotten_unless_captured() -> None:
    store = Store()
    store.captured.add(3)
    mark = store.mark()
    for frame in (2, 3):
        store.put((frame, "x"), Const(frame), local=True)
    assert store.undo(mark, FRAME) == {(3, "x"): Const(3)}


def test_what_a_module_s_import_wrote_stays() -> None:
    store = Store()
    mark = store.mark()
    store.lasting += 1
    store.put(("module", "name"), Const(1))
    store.lasting -= 1
    assert store.undo(mark, FRAME) == {}
    assert store.get(("module", "name")) == Const(1)


def test_only_shared_writes_are_counted() -> None:
    store = Store()
    store.put((FRAME, "x"), Const(1), local=True)
    assert store.shared_writes == 0
    store.put(("object", "x"), Const(1))
    assert store.shared_writes == 1


def items(*values: int, exact: bool = True, why: str = "") -> Items:
    return Items(tuple((TRUE, Const(value)) for value in values), exact, why)


def test_lists_that_grew_in_one_arm() -> None:
    joined = items(1, 2).joined(YES, items(1), NO)
    assert [value for _, value in joined.items] == [Const(1), Const(2)]
    assert joined.items[0][0] is TRUE and joined.items[1][0] is YES, "the second is there on one path only"
    assert not joined.exact


def test_an_open_list_stays_open() -> None:
    for left, right in ((items(1, why="?"), items(1)), (items(1), items(1, why="?"))):
        assert left.joined(YES, right, NO).open_why == "?"
    assert items(1).joined(YES, items(1), NO) == items(1)


def test_an_element_that_is_one_of_two_keeps_its_place() -> None:
    joined = items(1, 2).joined(YES, items(1, 3), NO)
    assert joined.exact and joined.items[0] == (TRUE, Const(1))
    assert joined.items[1] == (TRUE, choose([(YES, Const(2)), (NO, Const(3))]))
    assert not items(1).joined(YES, items(2, exact=False), NO).exact


def test_dicts_by_key() -> None:
    held = Entries().put(Const("a"), Const(1)).put(Const("b"), Const(2)).put(Const("a"), Const(3))
    assert held.get(Const("a")) == Const(3) and len(held.entries) == 2
    assert held.get(Const("c")) is None
    joined = held.joined(YES, held.put(Const("c"), Const(4)), NO)
    assert joined.get(Const("a")) == Const(3)
    assert [guard for key, guard, _ in joined.entries if key == Const("c")] == [NO]


def test_choosing_among_values() -> None:
    assert choose([]) == NONE
    assert choose([(YES, Const(1)), (NO, Const(1))]) == Const(1)
    assert under(NO, choose([(YES, Const(1)), (NO, Const(2))])) == Const(2)
    inner = choose([(YES, Const(1)), (NO, Const(2))])
    assert choose([(YES, inner), (NO, Const(3))]).options == ((YES, Const(1)), (NO, Const(3))), "impossible ones go"


def test_too_many_values_are_one_unknown() -> None:
    value = choose([(path(f"c{number}"), Const(number)) for number in range(40)])
    assert value.atom.kind == "opaque"  # type: ignore[union-attr]
