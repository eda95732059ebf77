"""Which files are looked at, and which of them matter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsdp2_lint.files.discovery import common_folder, discover

FSDP2 = "fully_shard(model)\n"


def write(path: Path, text: str = FSDP2) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_only_python_files_and_only_those_with_the_words_are_candidates(tmp_path: Path) -> None:
    write(tmp_path / "b.py")
    write(tmp_path / "a.py", "x = 1\n")
    write(tmp_path / "sub" / "c.py", "isinstance(m, FSDPModule)\n")
    write(tmp_path / "notes.txt")
    found = discover([str(tmp_path)])
    assert found.files == [str(tmp_path / name) for name in ("a.py", "b.py", "sub/c.py")]
    assert found.candidates == [str(tmp_path / name) for name in ("b.py", "sub/c.py")]
    assert not found.explicit and not found.errors


def test_folders_that_hold_no_code_of_the_project(tmp_path: Path) -> None:
    skipped = [
        ".git",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        "build",
        "dist",
        "site-packages",
        ".tox",
        ".eggs",
    ]
    for name in skipped:
        write(tmp_path / "pkg" / name / "a.py")
    write(tmp_path / "env" / "lib" / "a.py")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    kept = write(tmp_path / "pkg" / "builder" / "a.py")
    assert discover([str(tmp_path)]).files == [str(kept)]


def test_packages_that_are_called_like_the_output_of_a_build(tmp_path: Path) -> None:
    for name in ("dist", "build"):
        write(tmp_path / name / "__init__.py")
        write(tmp_path / name / "inner" / "a.py")
        write(tmp_path / "made" / name / "lib" / "__init__.py")
    left = write(tmp_path / "made" / "dist" / "a.py")
    found = discover([str(tmp_path)])
    inside = [str(tmp_path / name) for name in ("build/__init__.py", "build/inner/a.py", "dist/__init__.py")]
    assert found.files == [*inside, str(tmp_path / "dist" / "inner" / "a.py")]
    assert found.left_out == [str(left.parent)]
    forced = discover([str(tmp_path / "dist" / "__init__.py"), str(left)], root=str(tmp_path), force_exclude=True)
    assert forced.files == [str(tmp_path / "dist" / "__init__.py")]


def test_a_folder_that_is_named_is_walked_whatever_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "build" / "a.py")
    assert discover([str(file.parent)]).files == [str(file)]


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "train")
    found = discover([str(file), str(file), str(tmp_path)])
    assert found.files == [str(file)] == found.candidates
    assert list(found.explicit) == [str(file)]


def test_links(tmp_path: Path) -> None:
    file = write(tmp_path / "real" / "a.py")
    (tmp_path / "real" / "same.py").symlink_to(file)
    (tmp_path / "real" / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "real" / "round").symlink_to(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = discover([str(tmp_path / "link"), str(tmp_path)])
    assert found.files == [str(file)] and not found.errors


def test_odd_entries(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path / "folder.py" / "a.py")  # a folder with the name of a file
    write(tmp_path / os.fsdecode(b"\xff.py"))
    found = discover([str(tmp_path)])
    assert len(found.files) == 1 and not found.errors


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, FSDP2.encode())
    os.close(write)
    found = discover([f"/dev/fd/{read}"])
    os.close(read)
    assert found.overlay == {f"/dev/fd/{read}": FSDP2.encode()}
    assert found.candidates == [f"/dev/fd/{read}"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    write(tmp_path / "a.py").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    found = discover([str(tmp_path)])
    assert {path for path, _ in found.errors} == {str(tmp_path / "a.py"), str(tmp_path / "closed")}


def test_a_path_that_does_not_exist_is_said(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.py")
    assert discover([missing]).errors == [(missing, "cannot be read: No such file or directory")]


def test_the_root_is_the_project_around_all_paths(tmp_path: Path) -> None:
    a, b = write(tmp_path / "src" / "a" / "a.py"), write(tmp_path / "src" / "b" / "b.py")
    # A checkout ends the project; where there is none, its outermost pyproject.toml does.
    (tmp_path / "src" / "pyproject.toml").touch()
    assert discover([str(a)]).root == str(tmp_path / "src")
    assert discover([str(a), str(b.parent)]).root == str(tmp_path / "src")
    (tmp_path / "src" / "a" / ".git").mkdir()
    assert discover([str(a)]).root == str(tmp_path / "src" / "a")
    new = str(a.parent / "new.py")
    assert discover([new], overlay={new: b""}).root == str(tmp_path / "src" / "a")


def test_without_a_project_the_root_is_the_common_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsdp2_lint.files.discovery.ROOT_MARKERS", ("no-such-marker",))
    a, b = write(tmp_path / "x" / "a.py"), write(tmp_path / "x" / "y" / "b.py")
    assert discover([str(a), str(b)]).root == str(tmp_path / "x")


def test_the_innermost_folder_of_all_paths(tmp_path: Path) -> None:
    a, b = write(tmp_path / "x" / "y" / "a.py"), write(tmp_path / "x" / "z" / "b.py")
    (tmp_path / "link").symlink_to(b.parent)
    assert common_folder([str(a)]) == str(a.parent) == common_folder([str(a.parent)])
    assert common_folder([str(a), str(b)]) == str(tmp_path / "x")
    assert common_folder([str(tmp_path / "link")]) == str(b.parent)
    assert common_folder([]) == os.getcwd()


def test_other_words_make_a_file_a_candidate_too(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "FullyShardedDataParallel(model)\n")
    assert discover([str(tmp_path)]).candidates == []
    found = discover([str(tmp_path)], words=["FullyShardedDataParallel"])
    assert found.candidates == found.files == [str(tmp_path / "a.py")]


def test_an_overlay_stands_in_for_what_is_on_disk(tmp_path: Path) -> None:
    a, b, c = (str(write(tmp_path / name, "x = 1\n")) for name in ("a.py", "b.py", "c.py"))
    overlay = {a: FSDP2.encode(), b: b""}
    for paths in ([str(tmp_path)], [a, b, c]):
        found = discover(paths, overlay=overlay)
        assert (found.files, found.candidates) == ([a, b, c], [a])


def test_a_file_that_goes_away_while_it_is_listed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.py")

    def gone(path: str, most: int) -> bytes:
        raise FileNotFoundError(2, "No such file or directory", path)

    for name in ("read", "read_given"):
        monkeypatch.setattr(f"fsdp2_lint.files.discovery.{name}", gone)
    walked, named = discover([str(tmp_path)]), discover([str(file)])
    assert (walked.files, walked.errors) == ([], []), "nobody asked for it"
    assert named.errors == [(str(file), "cannot be read: No such file or directory")]
