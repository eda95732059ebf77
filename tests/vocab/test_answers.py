"""Answers are three-valued, carry what they rest on, and an unknown one cannot be used by accident."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.vocab.answers import (
    Answer,
    CannotTell,
    Closed,
    Many,
    No,
    Truth,
    in_words,
    listening,
    many,
    no,
    unknown,
    yes,
)

Y, N, U = Truth.YES, Truth.NO, Truth.UNKNOWN
PAIRS = list(itertools.product((Y, N, U), repeat=2))
FIVE, TWO = Closed((("sharding call", 5),)), Closed((("optimizer", 2),))
CLOSURES = st.builds(Closed, st.just(()), st.text("ab", min_size=1))
ANSWERS = st.one_of(
    st.builds(yes, st.integers()), st.builds(no, CLOSURES), st.builds(unknown, st.text("ab", min_size=1))
)


def answer(truth: Truth, tag: str = "") -> Answer[str]:
    made = {Y: yes(f"proof {tag}"), N: no(Closed(fact=f"closure {tag}")), U: unknown(f"reason {tag}")}
    return made[truth]


def kleene_and(left: Truth, right: Truth) -> Truth:
    return N if N in (left, right) else U if U in (left, right) else Y


def kleene_or(left: Truth, right: Truth) -> Truth:
    return Y if Y in (left, right) else U if U in (left, right) else N


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_the_tables_of_kleene(left: Truth, right: Truth) -> None:
    assert (answer(left) & answer(right)).truth is kleene_and(left, right)
    assert (answer(left) | answer(right)).truth is kleene_or(left, right)


@given(ANSWERS, ANSWERS)
def test_a_combined_answer_rests_on_the_side_that_decides(left: Answer[int], right: Answer[int]) -> None:
    for combined in (left & right, left | right):
        assert combined in (left, right) or isinstance(left, No) and isinstance(right, No)


def test_a_no_of_two_rests_on_both() -> None:
    combined = no(FIVE) | no(TWO)
    assert isinstance(combined, No) and combined.closed.followed == (*FIVE.followed, *TWO.followed)


@given(ANSWERS, ANSWERS)
def test_less_knowledge_never_gives_another_truth(left: Answer[int], right: Answer[int]) -> None:
    for known, less in ((left & right, left & unknown("?")), (left | right, left | unknown("?"))):
        assert less.truth in (known.truth, U)


@pytest.mark.parametrize(("truth", "surely", "possibly"), [(Y, True, True), (N, False, False), (U, False, True)])
def test_the_two_ways_to_look_at_an_unknown(truth: Truth, surely: bool, possibly: bool) -> None:
    assert answer(truth).surely is surely
    assert answer(truth).possibly is possibly


def test_a_known_answer_reads_as_a_truth() -> None:
    assert yes("here")
    assert not no(FIVE)


@pytest.mark.parametrize(
    "ask",
    [bool, lambda it: not it, lambda it: it and True, lambda it: it or True, lambda it: 1 if it else 2],
    ids=["bool", "not", "and", "or", "if"],
)
def test_using_an_unknown_as_a_truth_abstains(ask: object) -> None:
    with pytest.raises(CannotTell, match="^the model escaped$"):
        ask(unknown("the model escaped"))  # type: ignore[operator]


def test_each_answer_carries_what_it_rests_on() -> None:
    assert yes("proof").what == "proof"
    assert no(FIVE).closed is FIVE
    assert unknown("why").why == "why"
    with pytest.raises(AttributeError):
        _ = no(FIVE).what


def test_a_closure_must_say_something() -> None:
    with pytest.raises(ValueError, match="closes the world"):
        Closed()


def test_who_listens_hears_which_answers_were_used() -> None:
    with listening() as used:
        assert yes("proof") and not no(FIVE)
        assert [item for item in many([1], unknown("more"))] == [1]  # noqa: C416
        with listening() as inner:
            assert not no(TWO)
    assert (used.evidence, list(used.closures), list(used.incomplete)) == (["proof"], [FIVE], ["more"])
    assert list(inner.closures) == [TWO], "and only what was asked inside"


@pytest.mark.parametrize(
    ("closures", "words"),
    [
        ([FIVE, TWO], "all 5 sharding calls and both optimizers were followed"),
        ([Closed((("optimizer", 1),))], "the only optimizer was followed"),
        ([Closed((("write to parameters", 4),))], "all 4 writes to parameters were followed"),
        ([Closed((("wrapper", 0),)), FIVE], "all 5 sharding calls were followed; no wrapper was met"),
        ([Closed(fact="an optimizer trains it"), TWO], "both optimizers were followed; an optimizer trains it"),
        (
            [Closed((("switch of gradient synchronisation", 3),))],
            "all 3 switches of gradient synchronisation were followed",
        ),
    ],
)
def test_closures_in_words(closures: list[Closed], words: str) -> None:
    assert in_words(closures) == words


ITEMS = st.lists(st.integers(), max_size=4)


@given(ITEMS)
def test_a_closed_listing_is_a_sequence(items: list[int]) -> None:
    listing = many(items, no(FIVE))
    assert list(listing) == items
    assert len(listing) == len(items)
    assert bool(listing) is bool(items)


@given(ITEMS, st.text("ab", min_size=1))
def test_an_open_listing_proves_its_items_and_nothing_else(items: list[int], why: str) -> None:
    listing: Many[int] = many(items, unknown(why))
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
        unknown("why").reason = "changed"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        many([1], no(FIVE)).items = ()  # type: ignore[misc]


# Where the world is closed: one place for each analysis.
MAKERS = {"vocab/answers.py", "static/checks/shared/closure.py", "runtime/closure.py"}


@pytest.mark.slow
def test_closures_are_made_in_one_place_of_each_analysis() -> None:
    package = Path(__file__).parents[2] / "fsdp2_lint"
    made = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Closed", "No", "no")
            ):
                made.add(path.relative_to(package).as_posix())
    assert made == MAKERS
