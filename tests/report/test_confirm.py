"""What a job says to findings and verdicts from the source."""

from __future__ import annotations

from fsdp2_lint.report.confirm import confirm, settle
from fsdp2_lint.report.outcome import JobReport, JobVerdict
from fsdp2_lint.static.result import ModelVerdicts, RuleVerdict
from fsdp2_lint.vocab.finding import Finding, Label, Observed
from tests.report.ranks import finding, site

EXTENT = "3 steps, ranks 0-3"


FILES = {"/job/train.py"}


def job(*findings: Finding, verdicts: tuple[JobVerdict, ...] = ()) -> JobReport:
    ranks = tuple(range(4))
    return JobReport(list(findings), list(verdicts), ranks=ranks, world_size=4, steps=3, sharded=True, files=FILES)


def verdict(word: str, code: str = "FSDP601", model: str = "Net", row: int = 9, at: int = 1) -> JobVerdict:
    """Of a model that is sharded first in row ``at``, judged in ``row``."""
    return JobVerdict(code, model, word, (), site(row), site(at))


def upheld(code: str = "FSDP601", model: str = "Net", row: int = 9, at: int = 1) -> JobVerdict:
    return verdict("upheld", code, model, row, at)


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
    report = JobReport(verdicts=[upheld()], ranks=(0,), steps=1, files=FILES)
    assert confirm([finding()], report)[0].standing == "not reproduced at run time (1 step, rank 0)"
    report = JobReport(verdicts=[upheld()], steps=0, files=FILES)
    assert confirm([finding()], report)[0].standing == "not reproduced at run time (0 steps, no rank)"


def test_left_alone() -> None:
    """The clause was never judged in the job, or could not be."""
    unknown = JobVerdict("FSDP601", "Net", "unknown", ("the model is not seen",))
    for verdicts in ((), (unknown,), (upheld("FSDP301"),)):
        assert confirm([finding()], job(verdicts=verdicts)) == [finding()]


def test_a_file_that_the_job_never_loaded() -> None:
    """The report is of another program, in which the clause holds: that says nothing of this one."""
    elsewhere = finding(path="/other/train.py")
    assert confirm([elsewhere], job(verdicts=(upheld(),))) == [elsewhere]


def test_a_report_that_is_cut_does_not_deny_anything() -> None:
    report = job(verdicts=(upheld(),))
    report.all_judged = False
    assert confirm([finding()], report) == [finding()]
    assert settled(report) == UNKNOWN


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

UNKNOWN = RuleVerdict("FSDP601", "unknown", (), ("the model comes from a library",), "runtime")


def model(label: str = "Net", row: int = 1, *clauses: RuleVerdict) -> ModelVerdicts:
    """A model that is built in row 100, and sharded in ``row``."""
    return ModelVerdicts(label, site(100), clauses or (UNKNOWN,), frozenset({("/job/train.py", row)}))


def settled(report: JobReport, clause: RuleVerdict = UNKNOWN, *others: ModelVerdicts) -> RuleVerdict:
    after, *_ = settle([model("Net", 1, clause), *others], report)
    return after.rules[0]


def test_settled_to_upheld() -> None:
    assert settled(job(verdicts=(upheld(row=9), upheld(row=9)))) == RuleVerdict(
        "FSDP601", "upheld", (Label(site(9), "judged here"),), (), f"the job ({EXTENT})"
    )


SEEN = finding(row=1, ranks=(0,))


def test_settled_to_violated() -> None:
    verdicts = (verdict("violated"), upheld(model="Head", at=5))
    assert settled(job(SEEN, verdicts=verdicts)) == RuleVerdict(
        "FSDP601", "violated", (Label(site(1), "here"),), (), f"the job ({EXTENT})"
    )


def test_only_unknown_verdicts_are_settled() -> None:
    for word in ("upheld", "violated"):
        known = RuleVerdict("FSDP601", word, (Label(site(2), "judged here"),), (), "")  # type: ignore[arg-type]
        assert settled(job(SEEN, verdicts=(upheld(), verdict("violated"))), known) == known


def test_what_does_not_settle() -> None:
    still = verdict("unknown")
    for report in (
        job(),
        job(verdicts=(upheld("FSDP301"),)),
        job(verdicts=(still,)),
        job(verdicts=(still, upheld(model="Other"))),
        job(SEEN, verdicts=(verdict("violated"), upheld(model="Other"))),  # sharded by one helper
        job(verdicts=(verdict("violated"),)),  # its finding is a consequence
        job(finding(row=30, ranks=(0,)), verdicts=(verdict("violated"),)),  # that is about something else
    ):
        assert settled(report) == UNKNOWN


def test_a_name_joins_nothing() -> None:
    """Neither of another program, nor of another model of this one; and no name keeps apart what one place joins."""
    assert settled(job(verdicts=(upheld(model="Net", at=7),))) == UNKNOWN
    elsewhere = JobVerdict("FSDP601", "Net", "upheld", (), site(9), site(1, "/other/train.py"))
    assert settled(job(verdicts=(elsewhere,))) == UNKNOWN
    assert settled(job(verdicts=(upheld(model="functools.partial"),))).word == "upheld"


def test_models_that_one_helper_shards() -> None:
    """All are upheld if all are; which of them is violated is not known."""
    twin = model("Net", 1)
    assert settled(job(verdicts=(upheld(),)), UNKNOWN, twin).word == "upheld"
    assert settled(job(SEEN, verdicts=(verdict("violated"),)), UNKNOWN, twin) == UNKNOWN


def test_models_keep_their_order_and_other_clauses() -> None:
    other = RuleVerdict("FSDP301", "upheld", (), (), "")
    models = [model("B", 1, other, UNKNOWN), ModelVerdicts("A", site(1), ())]
    after = settle(models, job(verdicts=(upheld(),)))
    assert [(each.label, [clause.word for clause in each.rules]) for each in after] == [
        ("B", ["upheld", "upheld"]),
        ("A", []),
    ]
