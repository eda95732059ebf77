"""Reports of ranks that agree: what they have in common is read and compared once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.many_ranks import FINDINGS, STEPS, Job
from fsdp2_lint.catalogue import registry
from fsdp2_lint.report import execution_order, job, lines, sequences, statements
from fsdp2_lint.report.codec import digest_of, fact_as_json, fact_in_short, finding_as_json
from fsdp2_lint.report.job import read_job
from fsdp2_lint.vocab.finding import Observed
from tests.report.ranks import fact, write

RULES = registry.rules()
OWN = ("start", "joined", "end", *["fact"] * (1 + STEPS))  # the device, and a batch for each step


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often what is dear is done."""
    count: Counter[str] = Counter()

    def watch(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*given: Any) -> Any:
            count[name] += 1
            return original(*given)

        monkeypatch.setattr(module, name, call)

    watch(lines, "record_in")
    watch(sequences, "sequences")
    watch(execution_order, "_differ")
    watch(statements, "_join")
    return count


def merged(folder: Path, ranks: int, astray: int | None = None) -> job.JobReport:
    folder.mkdir()
    Job(ranks, 2, astray).write(folder)
    return read_job(folder, RULES)


def test_ranks_that_agree_are_read_once(tmp_path: Path, counted: Counter[str]) -> None:
    report = merged(tmp_path / "few", 8)
    few = counted.copy()
    assert len(report.findings) == FINDINGS and report.notes == [] and report.all_judged
    counted.clear()
    report = merged(tmp_path / "many", 72)
    assert {each.observed.ranks for each in report.findings if each.observed} == {tuple(range(72))}
    assert counted["record_in"] - few["record_in"] == 64 * (len(OWN) + 1)  # and once to see which rank it is
    assert counted["sequences"] == 1 and counted["_differ"] == counted["_join"] == 0


def test_one_rank_of_many_differs(tmp_path: Path, counted: Counter[str]) -> None:
    report = merged(tmp_path / "job", 72, astray=71)
    (found,) = [each for each in report.findings if each.code == "FSDP203"]
    assert "ranks 0-70 and rank 71 start from different values" in found.message
    assert counted["_join"] == 0


# A plan that many ranks have is in the report of one of them.

PLAN = fact({"layers.0": "weight"}, ranks=(0, 1, 2))
OTHER = fact({"layers.0": "weight, bias"}, ranks=(0, 1, 2))


def in_full(each: Any) -> tuple[str, dict[str, Any]]:
    return "fact", {**fact_as_json(each), "digest": digest_of(each)}


def test_a_digest_stands_for_what_another_rank_wrote(tmp_path: Path) -> None:
    write(tmp_path, 0, in_full(PLAN), world_size=3)
    write(tmp_path, 1, ("fact", fact_in_short(PLAN)), world_size=3)
    write(tmp_path, 2, in_full(OTHER), world_size=3)
    report = read_job(tmp_path, RULES)
    assert report.notes == []
    (found,) = report.findings
    assert found.message.startswith("layers.0 holds other parameters on ranks 0-1 than on rank 2")


@pytest.mark.parametrize("others", [[("fact", fact_in_short(PLAN))], [in_full(OTHER)]], ids=["the same", "another"])
def test_a_digest_that_no_report_explains(tmp_path: Path, others: list[Any]) -> None:
    """The file of who wrote it in full is lost: that is no difference."""
    write(tmp_path, 1, ("fact", fact_in_short(PLAN)), world_size=3)
    write(tmp_path, 2, *others, world_size=3)
    report = read_job(tmp_path, RULES)
    assert report.findings == []
    assert any(note.startswith("not compared: the plan of rank") for note in report.notes), report.notes


def test_what_all_ranks_differ_in_is_said_rather_than_what_one_saw(tmp_path: Path) -> None:
    """Before the first forward a rank knew of one other."""
    write(tmp_path, 0, in_full(PLAN), world_size=3)
    write(tmp_path, 1, ("fact", fact_in_short(PLAN)), world_size=3)
    write(tmp_path, 2, in_full(OTHER), world_size=3)
    (found,) = read_job(tmp_path, RULES).findings
    early = replace(found, message="on rank 0 than on rank 2", observed=Observed((2,), 1))
    said = [("finding", finding_as_json(early)), ("said", {"key": list(early.key)})]
    write(tmp_path, 2, in_full(OTHER), *said, world_size=3)
    report = read_job(tmp_path, RULES)
    assert [each.message for each in report.findings] == [found.message]
    assert report.said == {found.key}
