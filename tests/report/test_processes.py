"""Which files of a folder belong together, and who is which rank."""

from __future__ import annotations

import os
from pathlib import Path

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.codec import finding_as_json
from fsdp2_lint.report.folders import choose, job_id
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.report.rank_file import VERSION, RankFile
from tests.report.ranks import finding, site, write

NOW = 1_700_000_000.0


def process(
    folder: Path,
    claims: int = 0,
    of: int = 1,
    *,
    joined: tuple[int, int] | None = None,
    token: str = "t",
    began: float = 0.0,
    last: float = 60.0,
    launch: str = "",
    attempt: int = 0,
    agent: str = "",
    row: int = 3,
    end: int | None = 0,
) -> Path:
    """A process that lives from ``began`` to ``last``, in seconds, and found something in ``row``."""
    file = RankFile(folder, claims, attempt)
    start = {"version": VERSION, "run": "job", "host": "here", "agent": agent, "launch": launch or str(file.path)}
    file.write("start", **start, rank=claims, world_size=of, attempt=attempt, time=NOW + began)
    if joined is not None:
        file.write("joined", rank=joined[0], world_size=joined[1], token=token)
    file.write("sharded")
    rank = claims if joined is None else joined[0]
    file.write("finding", **finding_as_json(finding(row=row, ranks=(rank,))))
    if end is not None:
        file.write("end", code=end, time=NOW + last)
    file.close()
    os.utime(file.path, (NOW + last, NOW + last))
    return file.path


def read(folder: Path) -> JobReport:
    return read_job(folder, registry.rules())


def rows(report: JobReport) -> dict[int, tuple[int, ...]]:
    return {each.primary.site.row: each.observed.ranks for each in report.findings if each.observed is not None}


def test_the_process_group_says_who_is_who(tmp_path: Path) -> None:
    """Nothing in the environment, as with a script that is told its rank, and each in a file of its own."""
    for rank in range(3):
        process(tmp_path, joined=(rank, 3), row=10 + rank)
    report = read(tmp_path)
    assert (report.ranks, report.world_size, report.complete, report.notes) == ((0, 1, 2), 3, True, [])
    assert rows(report) == {10: (0,), 11: (1,), 12: (2,)}


def test_who_started_the_ranks_is_none(tmp_path: Path) -> None:
    """PyTorchJob says rank 0 of 1 to a script that then starts ranks of its own."""
    process(tmp_path, 0, 1, launch="a", began=-5, last=70, row=2, end=None)
    for rank in range(2):
        process(tmp_path, 0, 1, joined=(rank, 2), launch="a", row=10 + rank)
    report = read(tmp_path)
    assert (report.ranks, report.world_size, report.complete, report.notes) == ((0, 1), 2, True, [])
    assert rows(report) == {10: (0,), 11: (1,)}


def test_two_processes_with_one_rank(tmp_path: Path) -> None:
    """Both live at one time: that is said, they are not merged, and the report is not clean."""
    first = process(tmp_path, 0, 2, row=4)
    process(tmp_path, 1, 2, row=5)
    second = process(tmp_path, 0, 2, began=1, row=6)
    report = read(tmp_path)
    assert rows(report) == {5: (1,), 6: (0,)} and not report.complete
    assert report.notes == [f"2 processes say that they are rank 0: this is {second.name} without {first.name}"]


def test_two_jobs_of_one_name_at_once(tmp_path: Path) -> None:
    for number, token in enumerate("ab"):
        for rank in range(2):
            process(tmp_path, rank, 2, joined=(rank, 2), token=token, began=number, row=10 * number + 10)
    report = read(tmp_path)
    assert rows(report) == {20: (0, 1)} and not report.complete
    assert [note[:39] for note in report.notes] == [
        f"2 processes say that they are rank {rank}: t" for rank in range(2)
    ]


def test_an_earlier_job_of_the_same_name(tmp_path: Path) -> None:
    """Without an id of its own, or with one that the user made up once: it is not of this job, and not lost either."""
    for rank in range(3):
        process(tmp_path, rank, 3, joined=(rank, 3), token="a", row=4)
    for rank in range(2):
        process(tmp_path, rank, 2, joined=(rank, 2), token="b", began=100, last=160, row=5)
    report = read(tmp_path)
    assert (rows(report), report.complete, report.earlier, report.notes) == ({5: (0, 1)}, True, 3, [])
    assert len(list(tmp_path.iterdir())) == 5


def test_an_earlier_job_does_not_stand_in_for_a_rank_that_is_missing(tmp_path: Path) -> None:
    """None of them made a process group; who started them tells them apart."""
    for rank in range(2):
        process(tmp_path, rank, 2, agent="a", row=4)
    process(tmp_path, 0, 2, agent="b", began=100, last=160, row=5)
    report = read(tmp_path)
    assert (rows(report), report.notes) == ({5: (0,)}, ["no report of rank 1"])


def test_attempts_of_an_elastic_job(tmp_path: Path) -> None:
    """What an attempt found stays found, also where the ranks were given out anew."""
    process(tmp_path, 0, 2, joined=(0, 2), token="a", row=4, end=None)
    process(tmp_path, 1, 2, joined=(1, 2), token="a", row=5, end=1)
    process(tmp_path, 1, 2, joined=(0, 2), token="b", attempt=1, began=61, last=90, row=6)
    process(tmp_path, 0, 2, joined=(1, 2), token="b", attempt=1, began=61, last=90, row=7)
    report = read(tmp_path)
    assert rows(report) == {4: (0,), 5: (1,), 6: (0,), 7: (1,)}
    assert (report.ended, report.failed, report.complete, report.notes) == ({0: 0, 1: 0}, 0, True, [])


def test_attempts_of_an_earlier_job_are_not_of_this_one(tmp_path: Path) -> None:
    for attempt in range(3):
        process(tmp_path, 0, 1, joined=(0, 1), token=f"a{attempt}", attempt=attempt, began=attempt * 100, row=4)
    process(tmp_path, 0, 1, joined=(0, 1), token="b", began=500, last=600, row=5)
    process(tmp_path, 0, 1, joined=(0, 1), token="c", attempt=1, began=700, last=800, row=6)
    report = read(tmp_path)
    assert (rows(report), report.earlier) == ({5: (0,), 6: (0,)}, 3)


def test_a_restart_that_no_attempt_counts(tmp_path: Path) -> None:
    """Torchrun does so when machines come or go; the store, and with it the token, may stay the same."""
    for number in range(2):
        for rank in range(2):
            times = {"began": 100.0 * number, "last": 100.0 * number + 60}
            process(tmp_path, rank, 2, joined=(rank, 2), agent="a", end=0 if number else None, row=number + 4, **times)  # type: ignore[arg-type]
    report = read(tmp_path)
    assert (rows(report), report.earlier, report.notes) == ({4: (0, 1), 5: (0, 1)}, 0, [])


def test_a_script_that_starts_ranks_twice(tmp_path: Path) -> None:
    process(tmp_path, launch="a", last=300, row=2)
    for number, token in enumerate("ab"):
        for rank in range(2):
            times = {"began": 100.0 * number, "last": 100.0 * number + 60}
            process(tmp_path, joined=(rank, 2), token=token, launch="a", row=number + 4, **times)  # type: ignore[arg-type]
    report = read(tmp_path)
    assert (rows(report), report.complete, report.notes) == ({4: (0, 1), 5: (0, 1)}, True, [])


def test_a_rank_that_never_joined(tmp_path: Path) -> None:
    """It started when the others did, and was killed before it came to the process group."""
    process(tmp_path, 0, 2, joined=(0, 2), row=4)
    process(tmp_path, 1, 2, last=2, row=5, end=None)
    report = read(tmp_path)
    assert (rows(report), report.notes) == ({4: (0,), 5: (1,)}, ["the report of rank 1 has no end"])


def test_exit_code_of_a_report_that_is_cut(tmp_path: Path) -> None:
    """A finding that was not said is not a finding that is not there."""
    folder = tmp_path / "killed"
    file = RankFile(folder, 0)
    file.write("start", version=VERSION, run="job", rank=0, world_size=1)
    file.write("sharded")
    assert read(folder).exit_code == 2
    file.write("cut")
    file.write("end", code=0)
    assert read(folder).exit_code == 2
    file.write("finding", **finding_as_json(finding(ranks=(0,))))
    assert read(folder).exit_code == 1
    assert site(3) == read(folder).findings[0].primary.site


def test_whether_all_watched_steps_were_judged(tmp_path: Path) -> None:
    """A job that trains on has been; one that was started again has to come so far again."""
    write(tmp_path, 0, end=None)
    write(tmp_path, 1, end=None, steps=None)
    assert not read(tmp_path).all_judged
    for rank in range(2):
        write(tmp_path, rank, end=None)
    assert read(tmp_path).all_judged and not read(tmp_path).complete
    for rank in range(2):
        write(tmp_path, rank, attempt=1, end=None, steps=None)
    assert not read(tmp_path).all_judged


# Folders


def test_the_name_of_a_job() -> None:
    elastic, slurm = {"TORCHELASTIC_RUN_ID": "a/../b c"}, {"SLURM_JOB_ID": "17"}
    meet = {"MASTER_ADDR": "node-1.cluster", "MASTER_PORT": "29500"}
    assert job_id(elastic | slurm | meet) == "a_.._b_c"
    assert job_id({"TORCHELASTIC_RUN_ID": "none"} | slurm | meet) == "slurm-17"
    assert job_id(slurm | {"SLURM_STEP_ID": "2"} | meet) == "slurm-17.2"
    assert job_id(meet) == "node-1.cluster-29500"
    assert job_id(elastic | {"FSDP2_LINT_JOB": "mine"}) == "mine"
    assert job_id({"FSDP2_LINT_JOB": "../.."}) == "_"
    assert str(os.getpid()) in job_id({}) and job_id({}) == job_id({"MASTER_ADDR": "localhost"})


def test_the_newest_job_is_chosen(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "c", "a")):
        process(tmp_path / name, began=100.0 * number)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    assert choose(tmp_path).folder == tmp_path / "a" and choose(tmp_path).others == ("c", "b")
    assert choose(tmp_path / "b").folder == tmp_path / "b" and choose(tmp_path / "b").others == ()
