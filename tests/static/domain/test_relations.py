"""Only SAME proves identity; whatever may be another module is MAY."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.static.domain.relations import Relation, address, covers, relation
from fsdp2_lint.static.domain.values import BELOW, EACH, PICK, SOME, AbstractObject, Obj

SAME, CONTAINS, INSIDE, MAY, NONE = Relation
MODEL, OTHER = AbstractObject("parameter", origin="model"), AbstractObject("parameter", origin="other")
STEPS = ["layers", "head", "[0]", "[1]", EACH, "[*2]", SOME, "[:]", BELOW, (PICK, 0), (PICK, 1), (PICK, None)]
PATHS = st.lists(st.sampled_from(STEPS), max_size=4)
FLIPPED = {SAME: SAME, MAY: MAY, NONE: NONE, CONTAINS: INSIDE, INSIDE: CONTAINS}


def at(*steps: object, atom: AbstractObject = MODEL) -> Obj:
    obj = atom.root
    for step in steps:
        obj = obj.child(step)
    return obj


def between(mine: Obj, other: Obj) -> Relation:
    return relation(address(mine, {}), address(other, {}))


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        ((), (), SAME),
        ((), ("layers",), CONTAINS),
        (("layers", "[0]"), (), INSIDE),
        (("layers",), ("head",), NONE),
        (("layers", "[0]"), ("layers", "[1]"), NONE),
        (("layers", EACH), ("layers", EACH), SAME),
        (("layers", EACH), ("layers", "[1]"), MAY),
        (("layers", EACH), ("layers", "[*2]"), NONE),
        (("layers", SOME), ("layers", SOME), MAY),
        (("layers", SOME), ("layers", "[0]"), MAY),
        (("layers", "[:]"), ("layers", "[0]"), MAY),
        ((), ("layers", SOME), CONTAINS),  # whichever it is
        ((), (BELOW,), MAY),
        ((), (BELOW, EACH, (PICK, None)), CONTAINS),
        ((), (("()", "get", ()),), MAY),
        (("layers", EACH), ("layers", EACH, (PICK, None)), MAY),
        ((BELOW,), (BELOW,), MAY),
        (("layers", (PICK, 0)), ("layers", (PICK, 1)), NONE),
        (("layers", (PICK, 0)), ("layers", (PICK, 0)), SAME),
        (("layers", (PICK, 0)), ("layers", (PICK, None)), MAY),
    ],
)
def test_relations(mine: tuple[object, ...], other: tuple[object, ...], expected: Relation) -> None:
    assert between(at(*mine), at(*other)) is expected


@given(PATHS, PATHS)
def test_the_other_way_round(mine: list[object], other: list[object]) -> None:
    assert between(at(*other), at(*mine)) is FLIPPED[between(at(*mine), at(*other))]


@given(PATHS, PATHS)
def test_two_models_have_nothing_in_common(mine: list[object], other: list[object]) -> None:
    assert between(at(*mine), at(*other, atom=OTHER)) is NONE


@given(PATHS)
def test_a_path_is_never_apart_from_itself(path: list[object]) -> None:
    found = between(at(*path), at(*path))
    certain = not {SOME, "[:]", BELOW, (PICK, None)} & set(path)
    assert found is SAME if certain else found in (SAME, MAY)


CONCRETE = st.lists(st.sampled_from(["layers", "head", "[0]", "[1]"]), max_size=4)


@given(CONCRETE, CONCRETE)
def test_concrete_paths_are_decided(mine: list[str], other: list[str]) -> None:
    shared = min(len(mine), len(other))
    if mine[:shared] != other[:shared]:
        expected = NONE
    else:
        expected = SAME if len(mine) == len(other) else CONTAINS if len(mine) == shared else INSIDE
    assert between(at(*mine), at(*other)) is expected


@given(CONCRETE, st.integers(0, 3))
def test_a_wildcard_never_makes_proof_out_of_a_part(path: list[str], position: int) -> None:
    """A path with "some element" in place of an index is never SAME as the concrete one."""
    if position < len(path):
        vague = [*path[:position], SOME, *path[position + 1 :]]
        assert between(at(*vague), at(*path)) in (MAY, NONE)


def test_what_a_module_adopted_is_a_part_of_it() -> None:
    layers, block = (
        AbstractObject("external", origin="ModuleList").root,
        AbstractObject("instance", origin="Block").root,
    )
    parents = {layers: (MODEL.root, "layers"), block: (layers, EACH)}
    assert address(block, parents) == (MODEL, ("layers", EACH))
    assert relation(address(MODEL.root, parents), address(block.child("up"), parents)) is CONTAINS
    assert relation(address(at("layers", EACH), parents), address(block, parents)) is SAME


def test_adoption_in_a_circle_ends() -> None:
    left, right = AbstractObject("instance").root, AbstractObject("instance").root
    found, _ = address(left, {left: (right, "a"), right: (left, "b")})
    assert found in (left.atom, right.atom)


def test_a_pick_from_each_is_one_of_them() -> None:
    assert address(at("layers", EACH, (PICK, 0)), {}) == (MODEL, ("layers", "[0]"))
    assert address(at("layers", EACH, (PICK, None)), {}) == (MODEL, ("layers", SOME))


def test_covering_each() -> None:
    def covered(mine: Obj, other: Obj) -> bool:
        return covers(address(mine, {}), address(other, {}))

    assert covered(at("layers", EACH), at("layers", "[3]"))
    assert covered(at("layers", EACH), at("layers", SOME))
    assert not covered(at("layers", "[3]"), at("layers", EACH))
    assert not covered(at("layers", EACH), at("layers"))
    assert not covered(at("layers", EACH), at("blocks", "[3]"))


def test_endless_paths_end() -> None:
    obj = MODEL.root
    for _ in range(100):
        obj = obj.child("next")
    assert obj.depth < 40 and obj.child("next") is obj
