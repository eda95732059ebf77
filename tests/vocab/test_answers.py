"""Answers are three-valued, and an unknown one cannot be used by accident."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.vocab.answers import Answer, CannotTell, Many, Truth, many, no, unknown, yes

Y, N, U = Truth.YES, Truth.NO, Truth.UNKNOWN
PAIRS = list(itertools.product((Y, N, U), repeat=2))
ANSWERS = st.one_of(
    st.builds(yes, st.integers()), st.builds(no, st.integers()), st.builds(unknown, st.text("ab", min_size=1))
)


def answer(truth: Truth, tag: str = "") -> Answer:
    return Answer(truth, what=f"proof {tag}", why=f"reason {tag}")


def kleene_and(left: Truth, right: Truth) -> Truth:
    return N if N in (left, right) else U if U in (left, right) else Y


def kleene_or(left: Truth, right: Truth) -> Truth:
    return Y if Y in (left, right) else U if U in (left, right) else N


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_the_tables_of_kleene(left: Truth, right: Truth) -> None:
    assert (answer(left) & answer(right)).truth is kleene_and(left, right)
    assert (answer(left) | answer(right)).truth is kleene_or(left, right)


@pytest.mark.parametrize(("truth", "flipped"), [(Y, N), (N, Y), (U, U)])
def test_negation_keeps_proof_and_reason(truth: Truth, flipped: Truth) -> None:
    assert ~answer(truth, "x") == Answer(flipped, "proof x", "reason x")


@given(ANSWERS, ANSWERS)
def test_de_morgan(left: Answer, right: Answer) -> None:
    assert (~(left & right)).truth is (~left | ~right).truth
    assert (~(left | right)).truth is (~left & ~right).truth


@given(ANSWERS, ANSWERS)
def test_a_combined_answer_is_one_of_the_two(left: Answer, right: Answer) -> None:
    """So its proof, or its reason, is that of the side that decides."""
    assert (left & right) in (left, right)
    assert (left | right) in (left, right)


@given(ANSWERS, ANSWERS)
def test_less_knowledge_never_gives_another_truth(left: Answer, right: Answer) -> None:
    for known, less in ((left & right, left & unknown("?")), (left | right, left | unknown("?"))):
        assert less.truth in (known.truth, U)


@pytest.mark.parametrize(("truth", "surely", "possibly"), [(Y, True, True), (N, False, False), (U, False, True)])
def test_the_two_ways_to_look_at_an_unknown(truth: Truth, surely: bool, possibly: bool) -> None:
    assert answer(truth).surely is surely
    assert answer(truth).possibly is possibly


def test_a_known_answer_reads_as_a_truth() -> None:
    assert yes("here")
    assert not no()


@pytest.mark.parametrize(
    "ask",
    [bool, lambda it: not it, lambda it: it and True, lambda it: it or True, lambda it: 1 if it else 2],
    ids=["bool", "not", "and", "or", "if"],
)
def test_using_an_unknown_as_a_truth_abstains(ask: object) -> None:
    with pytest.raises(CannotTell, match="^the model escaped$"):
        ask(unknown("the model escaped"))  # type: ignore[operator]


def test_a_yes_carries_its_proof_and_an_unknown_its_reason() -> None:
    assert yes("proof").what == "proof"
    assert no("where it was switched off").what == "where it was switched off"
    assert unknown("why").why == "why"
    assert yes().what is True, "a yes without a proof is still true when asked"


ITEMS = st.lists(st.integers(), max_size=4)


@given(ITEMS)
def test_a_closed_listing_is_a_sequence(items: list[int]) -> None:
    listing = many(items)
    assert list(listing) == items
    assert len(listing) == len(items)
    assert bool(listing) is bool(items)


@given(ITEMS, st.text("ab", min_size=1))
def test_an_open_listing_proves_its_items_and_nothing_else(items: list[int], why: str) -> None:
    listing: Many[int] = many(items, why)
    assert [item for item in listing] == items, "what was seen is proven"  # noqa: C416
    with pytest.raises(CannotTell, match=why):
        len(listing)
    if items:
        assert listing, "there is at least one"
    else:
        with pytest.raises(CannotTell, match=why):
            bool(listing)


def test_answers_and_listings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        yes().why = "changed"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        many([1]).items = ()  # type: ignore[misc]


@pytest.mark.xfail(strict=True, raises=CannotTell, reason="list() asks for a length first, so it abstains")
@pytest.mark.parametrize("read", [list, tuple, sorted, lambda it: [*it]])
def test_every_way_of_iterating_over_an_open_listing_is_safe(read: object) -> None:
    assert read(many(["a", "b"], "there may be more")) is not None  # type: ignore[operator]
