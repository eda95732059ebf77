"""One rank's file: what was recorded survives whatever ends the rank."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.report import rank_file
from fsdp2_lint.report.rank_file import RankFile, Unwritten, first_record, last_record, rank_files, records


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_for_each_record(tmp_path: Path) -> None:
    file = RankFile(tmp_path / "new" / "folder", 3)
    file.write("start", run="a\nb", name="größer \u2028 \udcff")
    file.write("end", code=0)
    file.close()
    assert file.path == tmp_path / "new" / "folder" / "rank3.jsonl"
    assert file.path.read_bytes().isascii() and file.path.read_bytes().count(b"\n") == 2
    expected = [{"record": "start", "run": "a\nb", "name": "größer \u2028 \udcff"}, {"record": "end", "code": 0}]
    assert list(records(file.path)) == lines(file.path) == expected


def test_written_at_once(tmp_path: Path) -> None:
    """Nothing waits in a buffer: a process that is killed has said what it said."""
    if (child := os.fork()) == 0:
        RankFile(tmp_path, 0).write("start", run="x")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert lines(tmp_path / "rank0.jsonl") == [{"record": "start", "run": "x"}]


def test_append_only(tmp_path: Path) -> None:
    """What another process appends meanwhile is not written over."""
    file = RankFile(tmp_path, 0)
    file.write("start")
    with open(file.path, "ab") as other:
        other.write(b'{"record":"other"}\n')
    file.write("end")
    assert [each["record"] for each in lines(file.path)] == ["start", "other", "end"]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_last_line(tmp_path: Path, cut: int) -> None:
    file = RankFile(tmp_path, 0)
    file.write("start", name="größer")
    file.write("end", code=0)
    file.path.write_bytes(file.path.read_bytes()[: -cut - 1])
    assert [each["record"] for each in records(file.path)] == ["start"]


def test_damaged_lines(tmp_path: Path) -> None:
    path = tmp_path / "rank0.jsonl"
    damaged = [b"\xff\xfe", b"{", b"[]", b"null", b"1", b'"record"', b"{}", b"", b"\x00" * 9, b'{"record":"start"']
    path.write_bytes(b'{"record":"start"}\n' + b"\n".join(damaged) + b'\n{"record":"end"}\n')
    assert [each["record"] for each in records(path)] == ["start", "end"]


def test_a_line_that_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "rank0.jsonl"
    path.write_bytes(b"[" * 100_000 + b'\n{"record":"end"}\n')
    assert [each["record"] for each in records(path)] == ["end"]


def test_nobody_shares_a_file(tmp_path: Path) -> None:
    """Whatever a process believes to be: neither a second one nor a later job takes what another has written."""
    files = [RankFile(tmp_path, 0) for _ in range(3)]
    for number, file in enumerate(files):
        file.write("start", number=number)
    assert files[0].path == tmp_path / "rank0.jsonl"
    assert sorted(lines(path)[0]["number"] for path in rank_files(tmp_path)) == [0, 1, 2]
    assert len({path.with_suffix(".ring") for path in rank_files(tmp_path)}) == 3


def test_a_restart_keeps_the_earlier_attempts(tmp_path: Path) -> None:
    for attempt in (0, 1, 2, 10):
        RankFile(tmp_path, 0, attempt).write("start", attempt=attempt)
    assert [path.name for path in rank_files(tmp_path)] == [
        "rank0.jsonl",
        "rank0.attempt1.jsonl",
        "rank0.attempt2.jsonl",
        "rank0.attempt10.jsonl",
    ]
    assert [lines(path) for path in rank_files(tmp_path)] == [
        [{"record": "start", "attempt": attempt}] for attempt in (0, 1, 2, 10)
    ]


def test_files_in_the_order_of_ranks(tmp_path: Path) -> None:
    for rank in (10, 9, 0):
        RankFile(tmp_path, rank)
    for name in ("rank1.txt", "rank-1.jsonl", "xrank1.jsonl", "rank1.ring"):
        (tmp_path / name).touch()
    assert [path.name for path in rank_files(tmp_path)] == ["rank0.jsonl", "rank9.jsonl", "rank10.jsonl"]


def test_a_forked_child_does_not_write(tmp_path: Path) -> None:
    """Nor does it close what is not its own."""
    file = RankFile(tmp_path, 0)
    file.write("start")
    if (child := os.fork()) == 0:
        file.write("of a data loader worker")
        file.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    file.write("end")
    assert [each["record"] for each in lines(file.path)] == ["start", "end"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The job goes on; what was written before is kept, and it is said once that no more can be."""
    lost: list[OSError] = []

    def fail(descriptor: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    file = RankFile(tmp_path, 0, lost=lost.append)
    file.write("start")
    with monkeypatch.context() as patched:
        patched.setattr(rank_file.os, "write", fail)
        file.write("lost")
        file.write("lost too")
    file.write("after")  # there may be room again, but what comes now would seem to follow what came before
    file.close()
    file.close()
    assert [each["record"] for each in lines(file.path)] == ["start"]
    assert [error.errno for error in lost] == [code]


def test_a_line_that_is_written_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.write
    file = RankFile(tmp_path, 0)
    with monkeypatch.context() as patched:
        patched.setattr(rank_file.os, "write", lambda descriptor, data: really(descriptor, data[:20]))
        file.write("finding", message="a line of more than 20 bytes")
    file.write("end", code=0)
    assert [each["record"] for each in records(file.path)][-1:] == ["end"]


@pytest.mark.parametrize("name", ["file/report", "file"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        RankFile(tmp_path / name, 0)


def test_after_closing(tmp_path: Path) -> None:
    file = RankFile(tmp_path, 0)
    file.close()
    file.write("late")
    file.close()
    assert file.path.read_bytes() == b""
    Unwritten().write("start", run="x")
    Unwritten().close()


def test_the_first_and_the_last_record(tmp_path: Path) -> None:
    file = RankFile(tmp_path, 0)
    assert first_record(file.path) == last_record(file.path) == {}
    file.write("start", arguments=["x" * 20_000])
    file.write("fact", text="y" * 20_000)
    assert first_record(file.path)["record"] == "start" and last_record(file.path) == {}
    file.write("end", code=1)
    assert last_record(file.path) == {"record": "end", "code": 1}
    assert last_record(tmp_path / "none.jsonl") == {}
