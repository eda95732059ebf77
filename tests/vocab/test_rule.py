"""Rules subscribe by annotation; the court keeps verdicts and survives broken rules."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.answers import Closed, many, no, unknown, yes
from fsdp2_lint.vocab.events.forward import Called
from fsdp2_lint.vocab.events.migration import Imported
from fsdp2_lint.vocab.events.plans import PlanSettled
from fsdp2_lint.vocab.events.process import DeviceIndexDiscarded
from fsdp2_lint.vocab.finding import Moment, Severity, Site
from fsdp2_lint.vocab.rule import JUDGED, Court, Outcome, Rule

WHEN = Moment(Site("train.py", 3))
LATER = Moment(Site("train.py", 9))
ALL_FOLLOWED = no(Closed((("sharding call", 5),)))


class Named(Rule):
    code, name, summary = "FSDP999", "some-rule", "a rule for tests"
    severity, witnesses, help = Severity.ERROR, "S", "do it right"


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
            yield JUDGED
            yield self.found(event.when, "message", "label")


class Judges(Named):
    def imported(self, event: Imported) -> Iterator[Outcome]:
        yield JUDGED
        if not event.gated:
            yield self.found(event.when, "message", "label")

    def helper(self, other: Called) -> None:
        raise AssertionError("not a handler: its parameter is not called event")


class Breaks(Named):
    code = "FSDP998"

    def imported(self, event: Imported) -> Iterator[Outcome]:
        yield JUDGED
        raise KeyError("a defect")


def imported(gated: bool = False, when: Moment = WHEN) -> Imported:
    return Imported(when=when, path="a.b", public="a.c", gated=gated)


def settled(answer: object, key: object = None) -> PlanSettled:
    return PlanSettled(when=WHEN, model=Model(answer, key))  # type: ignore[arg-type]


def only(court: Court):  # type: ignore[no-untyped-def]
    (verdict,) = court.verdicts.values()
    return verdict


def test_the_annotation_subscribes() -> None:
    assert set(Asks.handlers) == {PlanSettled}
    assert set(Judges.handlers) == {Imported}
    assert Named.handlers == {}


def test_events_that_nobody_asked_for_leave_no_verdict() -> None:
    court = Court([Judges()])
    court.hear(DeviceIndexDiscarded(when=WHEN, name="device"))
    assert not court.verdicts and not court.broken


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


def test_violated_upheld_and_never_judged() -> None:
    court = Court([Judges()])
    court.hear(imported(gated=True))
    assert only(court).word == "upheld" and list(only(court).judged) == [WHEN.at]
    court.hear(imported(gated=False, when=LATER))
    assert only(court).word == "violated" and len(only(court).findings) == 1
    silent = Court([Asks()])
    silent.hear(settled(ALL_FOLLOWED))
    assert only(silent).word == "unknown", "silence is not upheld: the clause was never judged"


def test_upheld_says_what_it_rests_on() -> None:
    court = Court([JudgesThenAsks()])
    court.hear(settled(ALL_FOLLOWED))
    assert only(court).word == "upheld"
    assert only(court).judged == {WHEN.at: "all 5 sharding calls were followed"}


def test_what_was_not_seen_of_the_object_is_asked_before_anything_is_upheld() -> None:
    court = Court([JudgesThenAsks()], incomplete=lambda rule, event: f"{rule.code}: Net is handed to mystery()")
    court.hear(settled(ALL_FOLLOWED))
    assert only(court).word == "unknown" and list(only(court).unknown) == ["FSDP999: Net is handed to mystery()"]
    court.hear(settled(yes("sharded"), key="other"))
    assert "violated" in {verdict.word for verdict in court.verdicts.values()}, "a proof needs no closed world"


class GoesThrough(Named):
    def settled(self, event: PlanSettled) -> Iterator[Outcome]:
        yield JUDGED
        for item in event.model.sharded():  # type: ignore[attr-defined]
            if item == "wrong":
                yield self.found(event.when, "message", "label")


def test_a_listing_that_may_go_on_upholds_nothing() -> None:
    for end, word in ((ALL_FOLLOWED, "upheld"), (unknown("a list that was not followed"), "unknown")):
        court = Court([GoesThrough()])
        court.hear(settled(many(["right"], end)))
        assert only(court).word == word
    court = Court([GoesThrough()])
    court.hear(settled(many(["right", "wrong"], unknown("a list that was not followed"))))
    assert only(court).word == "violated", "what is in it is proven"


def test_an_unknown_answer_is_the_verdict_with_its_reason() -> None:
    court = Court([Asks()])
    court.hear(settled(unknown("the model escaped")))
    assert only(court).word == "unknown"
    assert only(court).unknown == {"the model escaped": WHEN.at}
    assert not court.broken, "abstaining is not a defect"


def test_one_unknown_spoils_upheld_but_not_violated() -> None:
    court = Court([Asks()])
    court.hear(settled(yes("seen"), key="actor"))
    court.hear(settled(unknown("later on"), key="actor"))
    assert only(court).word == "violated"


class JudgesThenAsks(Named):
    def settled(self, event: PlanSettled) -> Iterator[Outcome]:
        yield JUDGED
        if event.model.sharded():
            yield self.found(event.when, "message", "label")


def test_what_was_judged_is_not_upheld_while_an_answer_is_unknown() -> None:
    court = Court([JudgesThenAsks()])
    court.hear(settled(unknown("nobody knows")))
    assert not only(court).judged and only(court).word == "unknown"


def test_a_broken_rule_costs_only_itself() -> None:
    court = Court([Breaks(), Judges()])
    court.hear(imported())
    ((code, error),) = court.broken
    assert code == "FSDP998" and isinstance(error, KeyError)
    words = {verdict.code: verdict.word for verdict in court.verdicts.values()}
    assert words["FSDP999"] == "violated"


def test_a_broken_rule_does_not_count_as_upheld() -> None:
    court = Court([Breaks()])
    court.hear(imported())
    assert only(court).word != "upheld"


def test_verdicts_are_kept_by_clause_and_model() -> None:
    court = Court([Asks()])
    court.hear(settled(yes("seen"), key="actor"))
    court.hear(settled(ALL_FOLLOWED, key="critic"))
    assert {subject: verdict.word for (_, subject), verdict in court.verdicts.items()} == {
        "actor": "violated",
        "critic": "unknown",
    }


def test_two_handles_of_one_model_share_a_verdict() -> None:
    court = Court([Asks()])
    court.hear(settled(yes("seen"), key="actor"))
    court.hear(settled(yes("seen"), key="actor"))
    assert len(only(court).findings) == 1, "and what is found again is the same finding"
