"""What the files of several ranks say together."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.codec import fact_as_json, fact_from_json, finding_as_json, finding_from_json
from fsdp2_lint.report.findings import disagreements, merge
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import Crash, JobReport, JobVerdict
from fsdp2_lint.report.rank_file import VERSION
from fsdp2_lint.report.view import view
from fsdp2_lint.vocab.facts import Fact, ranges
from fsdp2_lint.vocab.finding import Finding, Label, Moment, Observed, Severity
from fsdp2_lint.vocab.finding import Site as Place
from tests.report.ranks import fact, finding, site, write

RULES = registry.rules()


def job(folder: Path) -> JobReport:
    return read_job(folder, RULES)


# Findings


def test_one_finding_for_one_code_and_line(tmp_path: Path) -> None:
    for rank in range(6):
        said = [finding(ranks=(rank,), step=rank + 2, fqn="layers.0")] if rank not in (3, 4) else []
        write(tmp_path, rank, *said, world_size=6)
    (found,) = job(tmp_path).findings
    assert found.observed == Observed((0, 1, 2, 5), 2, "layers.0")
    assert finding_as_json(found)["ranks"] == "0-2, 5"


def test_other_lines_and_other_codes_are_other_findings(tmp_path: Path) -> None:
    write(tmp_path, 0, finding(row=7, ranks=(0,)), finding("FSDP407", ranks=(0,)), finding(ranks=(0,)))
    write(tmp_path, 1, finding(path="/job/model.py", ranks=(1,)), finding(row=7, ranks=(1,)))
    found = [
        (each.code, each.primary.site.path, each.primary.site.row, each.observed and each.observed.ranks)
        for each in job(tmp_path).findings
    ]
    assert found == [
        ("FSDP601", "/job/model.py", 3, (1,)),
        ("FSDP407", "/job/train.py", 3, (0,)),
        ("FSDP601", "/job/train.py", 3, (0,)),
        ("FSDP601", "/job/train.py", 7, (0, 1)),
    ]


@pytest.mark.parametrize("milder_on", [0, 1])
def test_the_milder_severity_wins(tmp_path: Path, milder_on: int) -> None:
    for rank in range(2):
        severity = Severity.WARNING if rank == milder_on else Severity.ERROR
        write(tmp_path, rank, finding("FSDP701", severity=severity, ranks=(rank,), message=severity.value))
    (found,) = job(tmp_path).findings
    assert (found.severity, found.message) == (Severity.WARNING, "warning")
    assert found.observed == Observed((0, 1), 1)


def test_a_cause_hides_its_consequence(tmp_path: Path) -> None:
    """Also where only another rank has seen the cause: it is one job."""
    write(tmp_path, 0, finding("FSDP611", row=9, severity=Severity.WARNING, ranks=(0,)))
    write(tmp_path, 1, finding("FSDP601", ranks=(1,)))
    assert [each.code for each in job(tmp_path).findings] == ["FSDP601"]
    write(tmp_path, 1)
    assert [each.code for each in job(tmp_path).findings] == ["FSDP611"]


def test_merge_without_observations() -> None:
    """A finding that does not say which rank saw it is that of the rank that said it."""
    (found,) = merge([(2, finding()), (0, finding())])
    assert found.observed == Observed((0, 2))


# Which files count


def test_files_of_another_run(tmp_path: Path) -> None:
    write(tmp_path, 2, finding(ranks=(2,)), run="earlier/localhost", world_size=4, age=60)
    write(tmp_path, 3, finding(ranks=(3,)), run="earlier/localhost", world_size=4, age=60)
    write(tmp_path, 0)
    write(tmp_path, 1)
    report = job(tmp_path)
    assert (report.findings, report.ranks, report.world_size, report.notes) == ([], (0, 1), 2, [])


def test_files_of_a_larger_run_of_the_same_name(tmp_path: Path) -> None:
    """Without torchrun there is no id of a run (srun, mpirun), or it is always the same (--rdzv-id)."""
    write(tmp_path, 2, finding(ranks=(2,)), world_size=4, age=3600)
    write(tmp_path, 3, finding(ranks=(3,)), world_size=4, age=3600)
    write(tmp_path, 0)
    write(tmp_path, 1)
    report = job(tmp_path)
    assert (report.findings, report.ranks, report.world_size, report.notes) == ([], (0, 1), 2, [])


def test_files_of_another_version(tmp_path: Path) -> None:
    write(tmp_path, 0)
    write(tmp_path, 1, finding(ranks=(1,)), version=VERSION + 1)
    report = job(tmp_path)
    assert (report.findings, report.notes) == ([], ["no report of rank 1"])


def test_other_files(tmp_path: Path) -> None:
    write(tmp_path, 0, world_size=1)
    for name in ("rank1.jsonl.bak", "rankx.jsonl", "notes.txt", "rank.jsonl"):
        (tmp_path / name).write_text('{"record":"finding"}\n')
    assert job(tmp_path).ranks == (0,)


def test_no_folder_and_no_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no reports of ranks in here"):
        job(tmp_path)
    with pytest.raises(FileNotFoundError):
        job(tmp_path / "none")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(""),
        pytest.param('{"record":"sta'),
    ],
)
def test_a_rank_that_died_before_it_said_anything(tmp_path: Path, text: str) -> None:
    """Its file is the newest, and what the others found is not lost."""
    write(tmp_path, 0, finding(ranks=(0,)), age=5)
    (tmp_path / "rank1.jsonl").write_text(text)
    report = job(tmp_path)
    assert [each.code for each in report.findings] == ["FSDP601"]
    assert report.notes == ["no report of rank 1"]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "null",
        "[1]",
        '"record"',
        "\udcff",
        '{"no":"record"}',
        '{"record":"of another kind"}',
        *(
            pytest.param(line)
            for line in ('{"record":"finding"}', '{"record":"closed"}', '{"record":"end"}', '{"record":"fact","key":1}')
        ),
    ],
)
def test_damaged_lines(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, 0, world_size=1)
    first, *rest = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, line.encode(errors="surrogateescape"), *rest]) + b"\n")
    report = job(tmp_path)
    assert (report.steps, report.ended, report.sharded) == (3, {0: 0}, True)


# Attempts of an elastic job


def test_attempts(tmp_path: Path) -> None:
    """What an attempt found stays found; how the job ended is up to the last one."""
    for rank in range(2):
        write(tmp_path, rank, finding(ranks=(rank,)), end=1 if rank else None, steps=None)
        write(tmp_path, rank, finding(row=8, ranks=(rank,)), attempt=1)
    report = job(tmp_path)
    assert [each.primary.site.row for each in report.findings] == [3, 8]
    assert (report.ended, report.notes, report.ranks) == ({0: 0, 1: 0}, [], (0, 1))


def test_a_restart_that_went_well(tmp_path: Path) -> None:
    write(tmp_path, 0, end=1, world_size=1)
    write(tmp_path, 0, attempt=1, world_size=1)
    assert job(tmp_path).failed == 0


def test_an_attempt_without_end(tmp_path: Path) -> None:
    write(tmp_path, 0, end=1, world_size=1)
    write(tmp_path, 0, end=None, attempt=1, world_size=1)
    assert job(tmp_path).notes == ["the report of rank 0 has no end"]


# How a job ended


def test_exit_codes(tmp_path: Path) -> None:
    write(tmp_path, 0)
    write(tmp_path, 1)
    assert job(tmp_path).exit_code == 0
    write(tmp_path, 1, finding(severity=Severity.WARNING, ranks=(1,)))
    assert job(tmp_path).exit_code == 1
    for rank in range(2):
        write(tmp_path, rank, sharded=False)
    assert job(tmp_path).exit_code == 3
    write(tmp_path, 1, finding("FSDP106", ranks=(1,)), sharded=False)
    assert job(tmp_path).exit_code == 1


def test_ranks_without_end_and_without_file(tmp_path: Path) -> None:
    for rank in (0, 2, 5):
        write(tmp_path, rank, world_size=6, end=None if rank else 0)
    assert job(tmp_path).notes == ["no report of ranks 1, 3-4", "the report of ranks 2, 5 has no end"]
    write(tmp_path, 2, world_size=6)
    assert job(tmp_path).notes[1] == "the report of rank 5 has no end"


def test_many_ranks_without_file(tmp_path: Path) -> None:
    """As on a node that does not share the folder with the others."""
    write(tmp_path, 0, world_size=512)
    assert job(tmp_path).notes == ["no report of ranks 1-511"]


def test_notes(tmp_path: Path) -> None:
    missing = ("missing", {"what": "FSDPState.init", "codes": ["FSDP301", "FSDP302"]})
    compared = ("not_compared", {"kind": "plan", "key": "Net"})
    defect = ("defect", {"where": "FSDP601", "error": "KeyError: 'x'"})
    for rank in range(2):
        write(tmp_path, rank, missing, compared, defect)
    assert job(tmp_path).notes == [
        "not checked, since this torch has no FSDPState.init: FSDP301, FSDP302",
        "not compared before the first forward, since some ranks said nothing: plan",
        "a check broke down in FSDP601: KeyError: 'x' (please report it)",
    ]


def test_crashes(tmp_path: Path) -> None:
    """One error on several ranks is one crash."""
    explained = ("crash", {"error": "E: x\ny", "code": "FSDP305", "why": "it is sharded twice", "fix": "remove one"})
    for rank in (0, 1, 3):
        write(tmp_path, rank, explained, world_size=4, end=1)
    write(tmp_path, 2, ("crash", {"error": "F: connection"}), world_size=4, end=1)
    report = job(tmp_path)
    assert report.crashes == [
        Crash("E: x\ny", (0, 1, 3), "FSDP305", "it is sharded twice", "remove one"),
        Crash("F: connection", (2,)),
    ]
    shown = view(report, registry.Selection())
    assert [shown.crash(each) for each in report.crashes] == [
        "ranks 0-1, 3 failed: E: x\n  FSDP305: it is sharded twice\n  fix: remove one",
        "rank 2 failed: F: connection",
    ]


@pytest.mark.parametrize(
    "error",
    [
        "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: No CUDA GPUs are available",
    ],
)
def test_a_script_for_gpus_where_there_is_none(error: str) -> None:
    shown = view(JobReport(ranks=(0,)), registry.Selection()).crash(Crash(error, (0,)))
    assert shown.startswith(f"rank 0 failed: {error}\n  There is no GPU here. `fsdp2-lint preflight`")


def test_verdicts(tmp_path: Path) -> None:
    def verdict(word: str, row: int = 0, *reasons: str, model: str = "Net") -> tuple[str, dict[str, object]]:
        judged = [fact_as_json(fact({}, row=row))["at"]] if row else []
        at = fact_as_json(fact({}, row=1))["at"]
        said = {"code": "FSDP301", "model": model, "at": at, "word": word, "reasons": list(reasons), "judged": judged}
        return "verdict", said

    write(tmp_path, 0, verdict("unknown", 0, "not seen yet"), verdict("upheld", 4), verdict("upheld", 5, model="Head"))
    write(tmp_path, 1, verdict("violated", 6), verdict("unknown", 0, "no parameters", model="Head"))
    assert job(tmp_path).verdicts == [
        JobVerdict("FSDP301", "Head", "unknown", ("no parameters",), site(5), site(1)),
        JobVerdict("FSDP301", "Net", "violated", (), site(4), site(1)),
    ]


def test_verdicts_on_two_models_of_one_class(tmp_path: Path) -> None:
    """A teacher and a student, for example. The place of the sharding tells them apart."""

    def verdict(word: str, row: int) -> tuple[str, dict[str, object]]:
        at = fact_as_json(fact({}, row=row))["at"]
        return "verdict", {"code": "FSDP304", "model": "Net", "at": at, "word": word, "reasons": [], "judged": [at]}

    write(tmp_path, 0, verdict("violated", 4), verdict("upheld", 5), world_size=1)
    assert "violated" in {each.word for each in job(tmp_path).verdicts}


@pytest.mark.parametrize(
    ("report", "counted", "summary"),
    [
        (JobReport(ranks=(0,), steps=1, sharded=True), "", "No findings on 1 rank in 1 training step."),
        (JobReport(ranks=(0, 1)), "", "Nothing was checked: no fully_shard was seen on 2 ranks."),
        (
            JobReport(findings=[finding(ranks=(0,))], ranks=(0, 1, 2), steps=3, sharded=True),
            "1 error",
            "Found 1 error on 3 ranks in 3 training steps.",
        ),
    ],
)
def test_summary(report: JobReport, counted: str, summary: str) -> None:
    assert view(report, registry.Selection()).summary(counted) == summary


# Facts


def test_facts_are_compared_where_two_ranks_have_them(tmp_path: Path) -> None:
    write(tmp_path, 0, fact({"the root Net": "a", "layers.0": "b"}, row=5))
    write(tmp_path, 1)
    assert job(tmp_path).findings == []
    write(tmp_path, 1, fact({"the root Net": "a, b"}, row=5))
    (found,) = job(tmp_path).findings
    assert (found.code, found.observed) == ("FSDP316", Observed((0, 1), 1))
    assert found.message == (
        "layers.0 is a group of its own on rank 0 and not on rank 1: their collectives do not match"
    )


def test_facts_of_other_keys_are_not_compared(tmp_path: Path) -> None:
    write(tmp_path, 0, fact({"a": "1"}), fact({"a": "1"}, "batch"))
    write(tmp_path, 1, fact({"a": "2"}, key="Other"), fact({"a": "1"}, "no such kind"))
    assert job(tmp_path).findings == []


def test_ranks_that_disagree_on_the_mesh(tmp_path: Path) -> None:
    write(tmp_path, 0, fact({"the root Net": "a; over 2 ranks"}, ranks=(0, 1)))
    write(tmp_path, 1, fact({"the root Net": "a; over 1 ranks"}, ranks=(1,)))
    assert [each.code for each in job(tmp_path).findings] == ["FSDP316"]


def test_what_a_rank_says_in_several_facts_is_put_together() -> None:
    """One model gives one disagreement, however many of its groups differ."""
    said = [
        (rank, fact({name: f"{rank}"}, "starting-weights", places={name: site(row)}, traits=TRAITS))
        for rank in range(2)
        for row, name in enumerate(("a", "b"), start=4)
    ]
    ((first, found),), broken = disagreements(said, RULES)
    assert (first, found.code, found.primary.site, found.observed, broken) == (
        0,
        "FSDP203",
        site(4),
        Observed((0, 1), 1),
        [],
    )


TRAITS = {"mesh": "shards", "loaded": "no"}


def test_a_rule_that_breaks_over_facts(tmp_path: Path) -> None:
    """It costs itself only."""
    for rank in range(2):
        weights = fact({"w": str(rank)}, "starting-weights")  # without the traits that the rule needs
        write(tmp_path, rank, weights, fact({"w": str(rank)}))
    report = job(tmp_path)
    assert [each.code for each in report.findings] == ["FSDP316"]
    assert report.notes == ["a check broke down in FSDP203: 'mesh' (please report it)"]


@pytest.mark.slow
def test_512_ranks(tmp_path: Path) -> None:
    names = [f"layers.{number}" for number in range(32)]
    for rank in range(512):
        values = {name: f"{name}.weight [4096, 4096] torch.float32 S(0) over 512 ranks" for name in names}
        weights = {f"{name}.weight": "0123456789abcdef" for name in names}
        all_ranks = tuple(range(512))
        said = [
            finding(ranks=(rank,)),
            fact(values, ranks=all_ranks),
            fact(weights, "starting-weights", ranks=all_ranks, traits=TRAITS),
            *(fact(dict.fromkeys(names, "yes"), "group-gradients", f"step {n}", all_ranks) for n in range(3)),
            *(fact({f"batch {n}": f"{rank} {n}"}, "batch", ranks=all_ranks) for n in range(3)),
        ]
        write(tmp_path, rank, *said, world_size=512)
    started = time.process_time()  # and not by the clock: other work on this machine does not count
    report = job(tmp_path)
    assert time.process_time() - started < 5
    (found,) = report.findings
    assert finding_as_json(found)["ranks"] == "0-511" and report.notes == []


# The codec

TEXT = st.text(max_size=12)
ROWS = st.integers(1, 10_000)
SITES = st.builds(Place, st.text(min_size=1, max_size=12), ROWS, ROWS, ROWS, ROWS)
LABELS = st.builds(Label, SITES, TEXT)
RANKS = st.sets(st.integers(0, 2000), min_size=1, max_size=20).map(lambda each: tuple(sorted(each)))
STEPS = st.none() | ROWS
CODES = st.from_regex(r"[A-Za-z0-9_.-]+", fullmatch=True)
FINDINGS = st.builds(
    Finding,
    CODES,
    CODES,
    st.sampled_from(Severity),
    TEXT,
    LABELS,
    TEXT,
    st.lists(LABELS, max_size=3).map(tuple),
    st.builds(Observed, RANKS, STEPS, TEXT),
)
WORDS = st.dictionaries(TEXT, TEXT, max_size=3)
FACTS = st.builds(
    Fact,
    TEXT,
    TEXT,
    st.builds(Moment, SITES, st.lists(SITES, max_size=3).map(tuple)),
    RANKS,
    WORDS,
    st.dictionaries(TEXT, SITES, max_size=3),
    WORDS,
    STEPS,
)


@given(FINDINGS)
def test_findings_come_back(each: Finding) -> None:
    assert finding_from_json(finding_as_json(each)) == each


@given(FACTS)
def test_facts_come_back(each: Fact) -> None:
    assert fact_from_json(fact_as_json(each)) == each


@given(RANKS)
def test_ranges_name_each_rank_once(ranks: tuple[int, ...]) -> None:
    named = [part.split("-") for part in ranges(ranks).split(", ")]
    assert tuple(rank for part in named for rank in range(int(part[0]), int(part[-1]) + 1)) == ranks
    assert all(int(later[0]) - int(earlier[-1]) > 1 for earlier, later in zip(named, named[1:]))


def test_a_site_without_end_comes_back_at_its_start() -> None:
    at = Place("train.py", 4, 5)
    once = finding_from_json(finding_as_json(replace(finding(ranks=(0,)), primary=Label(at, "here"))))
    assert once.primary == Label(Place("train.py", 4, 5, 4, 5), "here")
    assert finding_from_json(finding_as_json(once)) == once
