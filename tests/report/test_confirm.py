"""What a job says to findings and verdicts from the source."""

from __future__ import annotations

from fsdp2_lint.report.confirm import confirm, settle
from fsdp2_lint.report.job import JobReport, JobVerdict
from fsdp2_lint.static.result import ClauseVerdict, ModelVerdicts
from fsdp2_lint.vocab.finding import Finding, Label, Observed
from tests.report.ranks import finding, site

EXTENT = "3 steps, ranks 0-3"


def job(*findings: Finding, verdicts: tuple[JobVerdict, ...] = ()) -> JobReport:
    ranks = tuple(range(4))
    return JobReport(list(findings), list(verdicts), ranks=ranks, world_size=4, steps=3, sharded=True)


def upheld(code: str = "FSDP601", model: str = "Net", row: int = 9) -> JobVerdict:
    return JobVerdict(code, model, "upheld", (), site(row))


def test_confirmed() -> None:
    seen = finding(ranks=(0, 2), step=4, fqn="head", message="said otherwise")
    (told,) = confirm([finding()], job(seen, verdicts=(JobVerdict("FSDP601", "Net", "violated"),)))
    assert told.standing == "confirmed at run time"
    assert told.observed == Observed((0, 2), 4, "head")
    assert told.message == "it is wrong"  # the source's own words stay


def test_not_reproduced() -> None:
    (told,) = confirm([finding()], job(verdicts=(upheld(),)))
    assert (told.standing, told.observed) == (f"not reproduced at run time ({EXTENT})", None)


def test_extent_in_words() -> None:
    report = JobReport(verdicts=[upheld()], ranks=(0,), steps=1)
    assert confirm([finding()], report)[0].standing == "not reproduced at run time (1 step, rank 0)"
    report = JobReport(verdicts=[upheld()], steps=0)
    assert confirm([finding()], report)[0].standing == "not reproduced at run time (0 steps, no rank)"


def test_left_alone() -> None:
    """The clause was never judged in the job, or could not be."""
    unknown = JobVerdict("FSDP601", "Net", "unknown", ("the model is not seen",))
    for verdicts in ((), (unknown,), (upheld("FSDP301"),)):
        assert confirm([finding()], job(verdicts=verdicts)) == [finding()]


def test_left_alone_where_the_clause_is_violated_elsewhere() -> None:
    """One model upholds it and another one does not: neither is said of this finding."""
    elsewhere = finding(row=8, ranks=(0,))
    told = confirm([finding()], job(elsewhere, verdicts=(upheld(),)))
    assert [(each.primary.site.row, each.standing) for each in told] == [(3, ""), (8, "seen only at run time")]


def test_seen_only_at_run_time() -> None:
    told = confirm([finding(row=7)], job(finding("FSDP808", ranks=(0, 1)), finding(row=9, ranks=(1,))))
    assert [(each.code, each.primary.site.row, each.standing, each.observed) for each in told] == [
        ("FSDP808", 3, "seen only at run time", Observed((0, 1), 1)),
        ("FSDP601", 7, "", None),
        ("FSDP601", 9, "seen only at run time", Observed((1,), 1)),
    ]


def test_nothing_to_say() -> None:
    assert confirm([], job(verdicts=(upheld(),))) == []


# Verdicts

UNKNOWN = ClauseVerdict("FSDP601", "unknown", (), ("the model comes from a library",), "runtime")


def settled(report: JobReport, clause: ClauseVerdict = UNKNOWN, model: str = "Net") -> ClauseVerdict:
    ((after,),) = [each.clauses for each in settle([ModelVerdicts(model, site(1), (clause,))], report)]
    return after


def test_settled_to_upheld() -> None:
    assert settled(job(verdicts=(upheld(row=9), upheld(row=9)))) == ClauseVerdict(
        "FSDP601", "upheld", (Label(site(9), "judged here"),), (), f"the job ({EXTENT})"
    )


def test_settled_to_violated() -> None:
    found = finding(ranks=(0,))
    verdicts = (JobVerdict("FSDP601", "Net", "violated"), upheld(model="Head"))
    assert settled(job(found, verdicts=verdicts)) == ClauseVerdict(
        "FSDP601", "violated", (Label(site(3), "here"),), (), f"the job ({EXTENT})"
    )


def test_only_unknown_verdicts_are_settled() -> None:
    for word in ("upheld", "violated"):
        known = ClauseVerdict("FSDP601", word, (Label(site(2), "judged here"),), (), "")  # type: ignore[arg-type]
        report = job(finding(ranks=(0,)), verdicts=(upheld(), JobVerdict("FSDP601", "Net", "violated")))
        assert settled(report, known) == known


def test_ambiguous_stays_unknown() -> None:
    """Other models of the job disagree, and none of them has the label of this one."""
    still = JobVerdict("FSDP601", "Net", "unknown", ("not seen",))
    for report in (
        job(),
        job(verdicts=(upheld("FSDP301"),)),
        job(verdicts=(still,)),
        job(verdicts=(still, upheld(model="Net"))),
        job(verdicts=(JobVerdict("FSDP601", "A", "violated"), upheld(model="B"))),  # its finding is a consequence
    ):
        assert settled(report) == UNKNOWN


def test_own_label_goes_before_others() -> None:
    verdicts = (upheld(model="Net"), JobVerdict("FSDP601", "Other", "violated"))
    assert settled(job(finding(ranks=(0,)), verdicts=verdicts)).word == "upheld"


def test_another_label_counts_where_there_is_no_other() -> None:
    """The source calls it by another name: a function that builds it, for example."""
    assert settled(job(verdicts=(upheld(model="LanguageModel"),))).word == "upheld"


def test_models_keep_their_order_and_other_clauses() -> None:
    other = ClauseVerdict("FSDP301", "upheld", (), (), "")
    models = [ModelVerdicts("B", site(5), (other, UNKNOWN)), ModelVerdicts("A", site(1), ())]
    after = settle(models, job(verdicts=(upheld(),)))
    assert [(each.label, [clause.word for clause in each.clauses]) for each in after] == [
        ("B", ["upheld", "upheld"]),
        ("A", []),
    ]


def test_evidence_is_that_of_the_model() -> None:
    """Findings carry no model; with two models of one job those of the other are shown too."""
    mine, others = finding(row=3, ranks=(0,)), finding(row=30, ranks=(0,))
    verdicts = (JobVerdict("FSDP601", "Net", "violated"), upheld(model="Other"))
    assert settled(job(mine, verdicts=verdicts)).evidence == (mine.primary,)
    assert settled(job(mine, others, verdicts=verdicts)).word == "violated"
