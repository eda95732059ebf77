"""Rules subscribe by annotation; the dispatcher keeps verdicts and survives broken rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fsdp2_lint.vocab.answers import Closed, many, no, unknown, yes
from fsdp2_lint.vocab.events.forward import Called
from fsdp2_lint.vocab.events.launch import DeviceIndexDiscarded
from fsdp2_lint.vocab.events.migration import Imported
from fsdp2_lint.vocab.events.sharding import PlanSettled
from fsdp2_lint.vocab.finding import Moment, Place, Severity, Site
from fsdp2_lint.vocab.rule import APPLIES, Dispatcher, Outcome, Rule

WHEN = Moment(Site("train.py", 3))
LATER = Moment(Site("train.py", 9))
ALL_FOLLOWED = no(Closed((("sharding call", 5),)))


class Named(Rule):
    code, name, summary = "FSDP999", "some-rule", "a rule for tests"
    severity, judged_by, help = Severity.ERROR, "S", "do it right"


class Model:
    """A model that answers one question as it is told."""

    label = "model"

    def __init__(self, answer: object = None, key: object = None) -> None:
        self.answer = answer
        if key is not None:
            self.model_key = key

    def sharded(self) -> object:
        return self.answer


class Asks(Named):
    def settled(self, event: PlanSettled) -> Iterator[Outcome]:
        sharded = event.model.sharded()
        if sharded:
            yield APPLIES
            yield self.found(event.when, "message", "label")


class Judges(Named):
    def imported(self, event: Imported) -> Iterator[Outcome]:
        yield APPLIES
        if not event.gated:
            yield self.found(event.when, "message", "label")

    def helper(self, other: Called) -> None:
        raise AssertionError("not a handler: its parameter is not called event")


class Breaks(Named):
    code = "FSDP998"

    def imported(self, event: Imported) -> Iterator[Outcome]:
        yield APPLIES
        raise KeyError("a defect")


def imported(gated: bool = False, when: Moment = WHEN) -> Imported:
    return Imported(when=when, path="a.b", public="a.c", gated=gated)


def settled(answer: object, key: object = None) -> PlanSettled:
    return PlanSettled(when=WHEN, model=Model(answer, key))  # type: ignore[arg-type]


def only(dispatcher: Dispatcher):  # type: ignore[no-untyped-def]
    (verdict,) = dispatcher.verdicts.values()
    return verdict


def test_the_annotation_subscribes() -> None:
    assert set(Asks.handlers) == {PlanSettled}
    assert set(Judges.handlers) == {Imported}
    assert Named.handlers == {}


def test_events_that_nobody_asked_for_leave_no_verdict() -> None:
    dispatcher = Dispatcher([Judges()])
    dispatcher.dispatch(DeviceIndexDiscarded(when=WHEN, name="device"))
    assert not dispatcher.verdicts and not dispatcher.broken


def test_found_fills_in_what_the_rule_is() -> None:
    rule = Judges()
    made = rule.found(LATER, "message", "label", (WHEN, "because"), (LATER, "the same place"), severity=Severity.INFO)
    assert (made.code, made.name, made.help) == (rule.code, rule.name, rule.help)
    assert made.severity is Severity.INFO
    assert made.primary.site == LATER.at
    assert [label.message for label in made.related] == ["because"]
    assert rule.found(WHEN, "message", "label").severity is Severity.ERROR


def test_a_fault_of_order_is_told_from_the_side_that_is_to_blame() -> None:
    main, helper = Site("train.py", 20), Site("helper.py", 2)
    early, late = (Moment(helper, (main,)), "read here"), (LATER, "replaced here")
    first = Judges().found_order(early, late, "message", blame="early")
    assert first.primary.site == main, "the statement that decided the order, not the helper's"
    assert {label.site for label in first.related} == {helper, LATER.at}
    last = Judges().found_order(early, late, "message", blame="late")
    assert last.primary.site == LATER.at
    assert {label.site for label in last.related} == {main, helper}


def test_what_is_not_known_counts_also_where_the_same_line_was_judged_before() -> None:
    """A helper that two loops call makes both of their events there; a listing may be open in the second alone."""

    class Lists(Named):
        def settled(self, event: PlanSettled) -> Iterator[Outcome]:
            yield APPLIES
            for _ in event.model.sharded():  # type: ignore[attr-defined]
                yield self.found(event.when, "message", "label")

    dispatcher = Dispatcher([Lists()])
    key = "one model"
    dispatcher.dispatch(settled(many((), ALL_FOLLOWED), key))
    assert only(dispatcher).word == "upheld"
    dispatcher.dispatch(settled(many((), unknown("who knows")), key))
    assert only(dispatcher).word == "unknown" and list(only(dispatcher).unknown) == ["who knows"]


def test_violated_upheld_and_never_judged() -> None:
    dispatcher = Dispatcher([Judges()])
    dispatcher.dispatch(imported(gated=True))
    assert only(dispatcher).word == "upheld" and list(only(dispatcher).judged) == [WHEN.at]
    dispatcher.dispatch(imported(gated=False, when=LATER))
    assert only(dispatcher).word == "violated" and len(only(dispatcher).findings) == 1
    silent = Dispatcher([Asks()])
    silent.dispatch(settled(ALL_FOLLOWED))
    assert only(silent).word == "unknown", "silence is not upheld: the clause was never judged"


def test_upheld_says_what_it_rests_on() -> None:
    dispatcher = Dispatcher([JudgesThenAsks()])
    dispatcher.dispatch(settled(ALL_FOLLOWED))
    assert only(dispatcher).word == "upheld"
    assert only(dispatcher).judged == {WHEN.at: "all 5 sharding calls were followed"}


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (WHEN, "what the rule asks for is seen here"),
        (LATER, "seen at train.py:9"),
        (Place(WHEN), "what the rule asks for is seen here"),
        (Place(WHEN, "it is moved"), "it is moved"),
        (Place(LATER, "it is moved"), "it is moved (train.py:9)"),
        ("train.py:3 does it, and train.py:33", "this line does it, and train.py:33"),
    ],
)
def test_a_place_is_not_repeated_in_what_upholds_a_rule_there(evidence: object, words: str) -> None:
    class Needs(Named):
        def settled(self, event: PlanSettled) -> Iterator[Outcome]:
            yield APPLIES
            if not event.model.sharded():
                yield self.found(event.when, "message", "label")

    dispatcher = Dispatcher([Needs()])
    dispatcher.dispatch(settled(yes(evidence)))
    assert only(dispatcher).judged == {WHEN.at: words}


def test_what_was_not_seen_of_the_object_is_asked_before_anything_is_upheld() -> None:
    dispatcher = Dispatcher(
        [JudgesThenAsks()], incomplete=lambda rule, event: f"{rule.code}: Net is handed to mystery()"
    )
    dispatcher.dispatch(settled(ALL_FOLLOWED))
    assert only(dispatcher).word == "unknown" and list(only(dispatcher).unknown) == [
        "FSDP999: Net is handed to mystery()"
    ]
    dispatcher.dispatch(settled(yes("sharded"), key="other"))
    assert "violated" in {verdict.word for verdict in dispatcher.verdicts.values()}, "a proof needs no closed world"


class GoesThrough(Named):
    def settled(self, event: PlanSettled) -> Iterator[Outcome]:
        yield APPLIES
        for item in event.model.sharded():  # type: ignore[attr-defined]
            if item == "wrong":
                yield self.found(event.when, "message", "label")


def test_a_listing_that_may_go_on_upholds_nothing() -> None:
    for end, word in ((ALL_FOLLOWED, "upheld"), (unknown("a list that was not followed"), "unknown")):
        dispatcher = Dispatcher([GoesThrough()])
        dispatcher.dispatch(settled(many(["right"], end)))
        assert only(dispatcher).word == word
    dispatcher = Dispatcher([GoesThrough()])
    dispatcher.dispatch(settled(many(["right", "wrong"], unknown("a list that was not followed"))))
    assert only(dispatcher).word == "violated", "what is in it is proven"


def test_an_unknown_answer_is_the_verdict_with_its_reason() -> None:
    dispatcher = Dispatcher([Asks()])
    dispatcher.dispatch(settled(unknown("the model escaped")))
    assert only(dispatcher).word == "unknown"
    assert only(dispatcher).unknown == {"the model escaped": WHEN.at}
    assert not dispatcher.broken, "abstaining is not a defect"


def test_one_unknown_spoils_upheld_but_not_violated() -> None:
    dispatcher = Dispatcher([Asks()])
    dispatcher.dispatch(settled(yes("seen"), key="actor"))
    dispatcher.dispatch(settled(unknown("later on"), key="actor"))
    assert only(dispatcher).word == "violated"


class JudgesThenAsks(Named):
    def settled(self, event: PlanSettled) -> Iterator[Outcome]:
        yield APPLIES
        if event.model.sharded():
            yield self.found(event.when, "message", "label")


def test_what_was_judged_is_not_upheld_while_an_answer_is_unknown() -> None:
    dispatcher = Dispatcher([JudgesThenAsks()])
    dispatcher.dispatch(settled(unknown("nobody knows")))
    assert not only(dispatcher).judged and only(dispatcher).word == "unknown"


def test_a_broken_rule_costs_only_itself() -> None:
    dispatcher = Dispatcher([Breaks(), Judges()])
    dispatcher.dispatch(imported())
    ((code, error),) = dispatcher.broken
    assert code == "FSDP998" and isinstance(error, KeyError)
    words = {verdict.code: verdict.word for verdict in dispatcher.verdicts.values()}
    assert words["FSDP999"] == "violated"


def test_a_broken_rule_does_not_count_as_upheld() -> None:
    dispatcher = Dispatcher([Breaks()])
    dispatcher.dispatch(imported())
    assert only(dispatcher).word != "upheld"


def test_verdicts_are_kept_by_clause_and_model() -> None:
    dispatcher = Dispatcher([Asks()])
    dispatcher.dispatch(settled(yes("seen"), key="actor"))
    dispatcher.dispatch(settled(ALL_FOLLOWED, key="critic"))
    assert {subject: verdict.word for (_, subject), verdict in dispatcher.verdicts.items()} == {
        "actor": "violated",
        "critic": "unknown",
    }


def test_two_handles_of_one_model_share_a_verdict() -> None:
    dispatcher = Dispatcher([Asks()])
    dispatcher.dispatch(settled(yes("seen"), key="actor"))
    dispatcher.dispatch(settled(yes("seen"), key="actor"))
    assert len(only(dispatcher).findings) == 1, "and what is found again is the same finding"
