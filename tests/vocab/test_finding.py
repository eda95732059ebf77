"""A finding has a place, and it can tell a story over several places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.vocab.finding import Finding, Label, Moment, Severity, Site, part, story

HERE = Label(Site("train.py", 7), "here")


def finding(primary: object, *related: Label) -> Finding:
    return Finding("FSDP601", "some-name", Severity.ERROR, "message", primary, "help", related)  # type: ignore[arg-type]


@pytest.mark.parametrize("nothing", [None, "train.py:7", Site("train.py", 7), Label(Site("", 7), "nowhere")])
def test_a_finding_without_a_primary_label_cannot_exist(nothing: object) -> None:
    with pytest.raises(ValueError, match="FSDP601.*primary"):
        finding(nothing)


def test_leaving_the_primary_label_out_is_an_error_too() -> None:
    with pytest.raises(TypeError):
        Finding("FSDP601", "some-name", Severity.ERROR, "message", help="help")  # type: ignore[call-arg]


def test_what_a_finding_knows() -> None:
    there = Label(Site("model.py", 3), "there")
    made = finding(HERE, there)
    assert made.sites == (HERE.site, there.site)
    assert made.key == ("FSDP601", "train.py", 7)
    assert made.url.endswith("/rules/some-name/")
    with pytest.raises(AttributeError):
        made.message = "another"  # type: ignore[misc]


def test_the_key_forgets_columns_and_words() -> None:
    other = Finding("FSDP601", "n", Severity.WARNING, "other", Label(Site("train.py", 7, 20), "x"), "")
    assert other.key == finding(HERE).key


def test_a_site_reads_as_path_and_row() -> None:
    assert str(Site("a/b.py", 12, 4)) == "a/b.py:12"
    assert Site("a.py", 2) < Site("a.py", 10) < Site("b.py", 1)


A, B, C, D = (Site("main.py", row) for row in (10, 20, 30, 40))


@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [
        (Moment(A), Moment(B), (A, B)),  # both in one function
        (Moment(C, (A,)), Moment(D, (B,)), (A, B)),  # two helpers that one function calls
        (Moment(C, (A,)), Moment(D, (A,)), (C, D)),  # two statements of one helper
        (Moment(C, (A,)), Moment(B), (A, B)),  # one in a helper, one beside its call
        (Moment(D, (A, B)), Moment(D, (A, C)), (B, C)),  # the same line, reached by two ways
        (Moment(D, (A, B)), Moment(C, (A, B)), (D, C)),
    ],
)
def test_where_two_call_chains_part(early: Moment, late: Moment, expected: tuple[Site, Site]) -> None:
    assert part(early, late) == expected


def test_chains_that_never_part_end_at_their_own_places() -> None:
    assert part(Moment(A), Moment(A)) == (A, A)
    assert part(Moment(A), Moment(B, (A,))) == (A, B), "one chain is the beginning of the other"


CHAINS = st.lists(st.sampled_from([A, B, C, D]), min_size=1, max_size=4)


@given(CHAINS, CHAINS)
def test_the_parting_places_lie_on_their_own_chains(left: list[Site], right: list[Site]) -> None:
    early, late = Moment(left[-1], tuple(left[:-1])), Moment(right[-1], tuple(right[:-1]))
    here, there = part(early, late)
    assert here in early.chain and there in late.chain
    assert part(late, early) == (there, here)


def test_a_story_keeps_order_and_names_each_place_once() -> None:
    told = story((Moment(B, (A,)), "first"), (C, "second"), (B, "again"), (A, "last"))
    assert told == (Label(B, "first"), Label(C, "second"), Label(A, "last"))


def test_an_empty_story_has_no_labels() -> None:
    assert story() == ()
