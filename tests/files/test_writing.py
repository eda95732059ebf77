"""Files are written as a whole or not at all, of several all or none, and nobody's edit is written over."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.files import writing
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.files.writing import Change, NotWritten, put, write

OLD, NEW = b"old = 1\n", b"new = 1\n"
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_bytes(OLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changes(folder: Path, *names: str) -> list[Change]:
    return [Change(str(folder / name), OLD, NEW) for name in names or ("a.py", "b.py", "c.py")]


def texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def failing(
    patch: pytest.MonkeyPatch, name: str, at: int, error: BaseException = FULL, *, for_good: bool = True
) -> None:
    """From now on the call number ``at`` of a function of the system fails, and perhaps those after it."""
    works: Callable[..., Any] = getattr(os, name)
    calls = 0

    def call(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at or for_good and calls > at:
            raise error
        return works(*given, **named)

    patch.setattr(writing.os, name, call)


def test_all_are_written_and_nothing_else_is_left(folder: Path) -> None:
    write(changes(folder))
    assert texts(folder) == dict.fromkeys(("a.py", "b.py", "c.py"), NEW)


def test_what_is_not_the_content_stays_but_for_the_time(folder: Path) -> None:
    file = folder / "a.py"
    file.chmod(0o751)
    os.utime(file, (1, 1))
    try:
        os.setxattr(file, "user.kept", b"yes")
    except OSError:
        pass  # not every file system has them
    before = file.stat()
    write(changes(folder, "a.py"))
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_mtime > 1 and file.read_bytes() == NEW
    assert not os.listxattr(file) or os.getxattr(file, "user.kept") == b"yes"


def test_another_name_of_the_same_file_is_another_file_from_now_on(folder: Path) -> None:
    os.link(folder / "a.py", folder / "elsewhere.py")
    write(changes(folder, "a.py"))
    assert (folder / "elsewhere.py").read_bytes() == OLD, "that name may lie anywhere"


@pytest.mark.parametrize("at", range(1, 7))  # each of three files has a new content and the old one
@pytest.mark.parametrize("name", ["open", "write", "fsync"])
def test_a_failure_before_all_is_ready_changes_nothing(
    name: str, at: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, name, at)
    with pytest.raises(NotWritten, match=r"^[abc]\.py: cannot be written: No space left .*; nothing was changed$"):
        write(changes(folder))
    monkeypatch.undo()
    assert texts(folder) == dict.fromkeys(("a.py", "b.py", "c.py"), OLD)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_what_is_done_by_then_is_put_back(at: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "replace", at, for_good=False)
    with pytest.raises(NotWritten, match=r"^[abc]\.py: cannot be written: No space left .*; nothing was changed$"):
        write([*changes(folder), Change(str(folder / "new.py"), None, NEW)])
    assert texts(folder) == dict.fromkeys(("a.py", "b.py", "c.py"), OLD)


def test_a_new_file_is_taken_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "replace", 2, for_good=False)
    with pytest.raises(NotWritten):
        write([Change(str(folder / "new.py"), None, NEW), *changes(folder)])
    assert texts(folder) == dict.fromkeys(("a.py", "b.py", "c.py"), OLD)


def test_what_cannot_be_put_back_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "replace", 3)
    with pytest.raises(NotWritten) as raised:
        write(changes(folder))
    assert (
        str(raised.value) == "c.py: cannot be written: No space left on device; nothing was changed, but for a.py, b.py"
    )
    assert texts(folder) == {"a.py": NEW, "b.py": NEW, "c.py": OLD}


def test_an_interruption_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works = os.replace

    def call(source: str, target: str) -> None:
        works(source, target)
        if target.endswith("b.py") and Path(target).read_bytes() == NEW:
            raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", call)
    with pytest.raises(KeyboardInterrupt):
        write(changes(folder))
    assert texts(folder) == dict.fromkeys(("a.py", "b.py", "c.py"), OLD)


def meanwhile(folder: Path, name: str, how: Callable[[Path], object]) -> None:
    how(folder / name)
    before = texts_with_links(folder)
    with pytest.raises(NotWritten) as raised:
        write(changes(folder))
    assert str(raised.value).startswith(f"{name}: ") and "\n" not in str(raised.value)
    assert texts_with_links(folder) == before


def texts_with_links(folder: Path) -> dict[str, object]:
    return {
        path.name: os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in folder.iterdir()
    }


@pytest.mark.parametrize(
    "how",
    [
        lambda path: path.write_bytes(b"mine = 1\n"),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.rename(path.with_suffix(".txt")), path.symlink_to("b.txt")),
        lambda path: path.chmod(0o444),
    ],
    ids=["saved", "deleted", "a folder", "a pipe", "a link", "read-only"],
)
def test_what_was_changed_meanwhile_stays(how: Callable[[Path], object], folder: Path) -> None:
    meanwhile(folder, "b.py", how)


def test_a_file_that_came_meanwhile_stays(folder: Path) -> None:
    with pytest.raises(NotWritten, match=r"^a\.py: was changed meanwhile; nothing was written$"):
        write([Change(str(folder / "a.py"), None, NEW)])
    assert texts(folder)["a.py"] == OLD


def test_a_folder_in_which_nothing_may_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "open", 1, PermissionError(errno.EACCES, "Permission denied"))
    with pytest.raises(NotWritten, match=r"^a\.py: cannot be written: Permission denied; nothing was changed$"):
        write(changes(folder))


def test_a_new_file_is_as_readable_as_others(folder: Path) -> None:
    put("new.json", NEW)
    (folder / "other").touch()
    assert stat.S_IMODE((folder / "new.json").stat().st_mode) == stat.S_IMODE((folder / "other").stat().st_mode)


def test_results_go_through_a_link_and_into_what_is_no_file(folder: Path) -> None:
    (folder / "link").symlink_to("a.py")
    put("link", NEW)
    assert (folder / "link").is_symlink() and (folder / "a.py").read_bytes() == NEW
    put(os.devnull, NEW)
    with pytest.raises(OSError):
        put(str(folder), NEW)
    with pytest.raises(NotWritten):
        put(str(folder / "none" / "new.json"), NEW)


def test_what_a_killed_run_left_is_no_source(folder: Path) -> None:
    before = discover(["."]).files
    (folder / f"{writing.PREFIX}0123456789abcdef{writing.SUFFIX}").write_bytes(b"fully_shard(\n")
    assert discover(["."]).files == before
