"""What is left out of a walk, and of what is named: ``exclude``, ``.gitignore``, and patterns per file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsdp2_lint.files.discovery import discover
from fsdp2_lint.files.patterns import Exclusion, Patterns, PerFile

Tree = Callable[..., Path]
Rows = Sequence[tuple[str, list[str]]]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Makes files below one folder, which is a repository."""

    def make(*names: str) -> Path:
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x = 1\n")
        return tmp_path

    return make


def walked(
    root: Path, *paths: str, exclude: Sequence[str] = (), gitignore: bool = True, force: bool = False
) -> list[str]:
    """The files that are taken, from the root."""
    exclusion = Exclusion(str(root), exclude, gitignore=gitignore)
    named = [str(root / path) for path in paths or (".",)]
    found = discover(named, root=str(root), exclusion=exclusion, force_exclude=force)
    assert not found.errors
    return [os.path.relpath(path, root).replace(os.sep, "/") for path in found.files]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*\n!*/\n!a.py", ["a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("/*\n!/pkg/", ["pkg/a.py", "pkg/legacy/a.py"]),
        ("/legacy/**\n!a.py", ["a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("legacy", ["a.py", "pkg/a.py"]),
        ("legacy/", ["a.py", "pkg/a.py"]),
        ("/legacy", ["a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("pkg/*.py", ["a.py", "legacy/a.py", "pkg/legacy/a.py"]),
        ("a.py", []),
        ("/a.py", ["legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("**/legacy/*", ["a.py", "pkg/a.py"]),
        ("[z-b].py", ["a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("[a-c].py", []),
        ("[", ["a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("/p**\n!*/", ["a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py"]),
        ("/p**/a.py", ["a.py", "legacy/a.py", "pkg/legacy/a.py"]),
        ("/**/a.py\n!/pkg/**", ["pkg/a.py", "pkg/legacy/a.py"]),
    ],
)
def test_patterns_are_those_of_gitignore(tree: Tree, pattern: str, left: list[str]) -> None:
    root = tree("a.py", "legacy/a.py", "pkg/a.py", "pkg/legacy/a.py")
    assert sorted(walked(root, exclude=pattern.split("\n"))) == left
    (root / ".gitignore").write_text(f"{pattern}\n")
    assert sorted(walked(root)) == left


def test_a_file_that_is_named_is_taken_unless_exclusion_is_forced(tree: Tree) -> None:
    root = tree("legacy/a.py", "b.py")
    assert walked(root, "legacy/a.py", "b.py", exclude=["legacy"]) == ["legacy/a.py", "b.py"]
    assert walked(root, "legacy/a.py", "b.py", exclude=["legacy"], force=True) == ["b.py"]


def test_all_may_be_excluded(tree: Tree) -> None:
    assert walked(tree("a.py", "b/a.py"), exclude=["*"]) == []


def test_a_folder_that_is_named_is_walked_but_for_what_is_excluded_in_it(tree: Tree) -> None:
    root = tree("legacy/a.py", "legacy/old/b.py", "legacy/c_gen.py")
    assert walked(root, "legacy", exclude=["legacy", "*_gen.py"]) == ["legacy/a.py", "legacy/old/b.py"]
    assert walked(root, "legacy/old", exclude=["legacy"]) == ["legacy/old/b.py"]
    assert walked(root, "legacy", exclude=["legacy"], force=True) == []
    (root / ".gitignore").write_text("legacy/\n")
    (root / "legacy" / ".gitignore").write_text("old\n")
    assert walked(root, "legacy") == ["legacy/a.py", "legacy/c_gen.py"]
    (root / ".gitignore").write_text("*\n")
    assert walked(root) == []
    assert walked(root, "legacy") == ["legacy/a.py", "legacy/c_gen.py"]


@pytest.mark.parametrize("folder", [".hidden", "build", "venv", "environment"])
def test_forced_exclusion_leaves_out_what_a_walk_would_leave_out(tree: Tree, folder: str) -> None:
    root = tree(f"{folder}/inner/a.py", "pkg/b.py")
    (root / "environment").mkdir(exist_ok=True)
    (root / "environment" / "pyvenv.cfg").touch()
    assert walked(root, f"{folder}/inner/a.py", "pkg/b.py", force=True) == ["pkg/b.py"]
    assert walked(root, f"{folder}/inner/a.py") == [f"{folder}/inner/a.py"]


def test_what_comes_from_stdin_may_have_a_name_that_is_excluded(tmp_path: Path) -> None:
    new = str(tmp_path / "build" / "new.py")
    found = discover([new], root=str(tmp_path), overlay={new: b"x = 1\n"}, force_exclude=True)
    assert found.files == [] == found.errors


def test_the_project_itself_may_lie_in_a_hidden_folder(tmp_path: Path) -> None:
    root = tmp_path / ".cache" / "build" / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").touch()
    assert walked(root, "pkg/a.py", force=True) == ["pkg/a.py"], "pre-commit checks out into such folders"


def test_the_nearest_gitignore_decides(tree: Tree) -> None:
    root = tree("gen/a.py", "gen/keep.py", "gen/sub/b.py")
    (root / ".gitignore").write_text("# made by a tool\n*.py\n")
    (root / "gen" / ".gitignore").write_text("!keep.py\n")
    assert walked(root) == ["gen/keep.py"]
    assert walked(root, gitignore=False) == ["gen/a.py", "gen/keep.py", "gen/sub/b.py"]


def test_a_repository_inside_has_only_its_own_gitignore(tree: Tree) -> None:
    root = tree("gen/a.py", "inner/gen/a.py", "inner/own/a.py")
    (root / ".gitignore").write_text("gen\n")
    (root / "inner" / ".git").write_text("gitdir: ../.git/modules/inner\n")  # as a submodule has it
    (root / "inner" / ".gitignore").write_text("own\n")
    assert walked(root) == ["inner/gen/a.py"]


def test_without_a_repository_gitignore_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / ".gitignore").write_text("*.py\n")
    # What lies above tmp_path is not ours, so the answer is asked of a folder that no repository can be above.
    exclusion = Exclusion(str(tmp_path), (), gitignore=True)
    exclusion._scopes[str(tmp_path.parent)] = None
    assert not exclusion.skips(str(tmp_path / "a.py"))


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbfgen\n", b"gen\r\n", b"\\\n!\n[z-a]\n[[a-]b\ngen", b"\xff\xfe\ngen   \n"]
)
def test_odd_gitignore_files_are_read_as_git_reads_them(tree: Tree, text: bytes) -> None:
    root = tree("a.py", "gen/b.py")
    (root / ".gitignore").write_bytes(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert walked(root) == ["a.py"]


def test_a_link_is_left_out_by_its_own_name_and_by_that_of_its_target(tree: Tree) -> None:
    root = tree("gen/a.py", "b.py")
    (root / "link.py").symlink_to(root / "gen" / "a.py")
    assert walked(root) == ["b.py", "gen/a.py"]
    assert walked(root, exclude=["gen"]) == ["b.py"]
    (root / "second.py").symlink_to(root.parent / "outside.py")
    (root.parent / "outside.py").touch()
    assert walked(root, exclude=["gen"]) == ["b.py", "../outside.py"]
    assert walked(root, exclude=["gen", "second.py"]) == ["b.py"]


@given(st.lists(st.text(alphabet="ab/*?[]!\\# .-^", max_size=6), max_size=4), st.sampled_from(["a", "a/b", "b/a.py"]))
def test_no_pattern_breaks_a_run(lines: list[str], path: str) -> None:
    folder = os.sep + "project"
    assert Patterns(folder, lines).says(f"{folder}{os.sep}{path}") in (True, False, None)
    assert Patterns(folder, lines).says(f"{os.sep}projects{os.sep}{path}") is None, "of another folder it says nothing"


LINES = st.lists(
    st.from_regex(
        r"!?/?(\*\*/)?(\*|(\*{0,3}([abc?]|\[[!^]?([ab]|a-b|\[:lower:]|\\b)\]|\\[ab])){1,3}\*{0,3})"
        r"(/|/\*\*|/\*?[abc]?)? ?",
        fullmatch=True,
    ),
    max_size=4,
)
# Where ``**`` follows other characters, git 2.39 lets it stand for folders too, if what comes before has no wildcard.
# The documentation says that it is a regular asterisk, and so does git 2.55.
_AS_FOLDERS = re.compile(r"!?[^*?\[\\]*[^*?\[\\/!]\*\*+( |/|\Z)")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=80, deadline=None)
@given(LINES, LINES)
@example(["/b/**", "!/b/c/**"], ["/[ab]**", "!*/"])
def test_git_says_the_same(tmp_path_factory: pytest.TempPathFactory, outer: list[str], inner: list[str]) -> None:
    outer, inner = ([line for line in lines if not _AS_FOLDERS.match(line)] for lines in (outer, inner))
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    for name in ("a.py", "b/a.py", "b/c/a.py", "b/ab/b.py", "ab/b.py", "c/ab/c.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".gitignore").write_text("\n".join(outer))
    (root / "b" / ".gitignore").write_text("\n".join(inner))
    listing = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    taken = discover([str(root)], root=str(root), exclusion=Exclusion(gitignore=True)).files
    assert sorted(os.path.relpath(path, root) for path in taken) == sorted(listed)


# The wrong way these take 2 ** 60 steps and more, so a failure is a test that does not end.
SLOW = ["*a" * 99 + "b", "**/" * 99 + "b", "*/**/" * 60 + "b", "**/a*" * 60 + "/b", "*?" * 99 + "b", "*[!b]" * 90 + "b"]


@pytest.mark.parametrize("pattern", [*SLOW, "*a" * 40_000, "*" * 100_000 + "b", "**/" * 30_000 + "b", "?" * 100_000])
def test_a_pattern_takes_time_by_its_length(pattern: str) -> None:
    patterns = Patterns("/project", [pattern])
    for path in ("a" * 250, "/".join(["a"] * 120), "a/" * 60 + "a" * 60):
        assert patterns.says(f"/project/{path}") is None
    assert PerFile(Path("/project"), [(pattern, ("ALL",))]).ignores("FSDP601", f"/project/{'a' * 60}") is False


@pytest.mark.parametrize(
    ("rows", "code", "path", "ignored"),
    [
        ([("legacy/*", ["FSDP9"])], "FSDP901", "legacy/a.py", True),
        ([("legacy/*", ["FSDP9"])], "FSDP901", "legacy/deep/a.py", True),
        ([("legacy/*", ["FSDP9"])], "FSDP601", "legacy/a.py", False),
        ([("legacy/*", ["FSDP9"])], "FSDP901", "src/legacy/a.py", False),
        ([("*_test.py", ["ALL"])], "FSDP601", "src/a_test.py", True),
        ([("a.py", ["FSDP9"]), ("*.py", ["FSDP6"])], "FSDP601", "a.py", True),
        ([("!src/", ["FSDP6"])], "FSDP601", "src/a.py", False),
        ([("!src/", ["FSDP6"])], "FSDP601", "scripts/a.py", True),
        ([("!src/", ["FSDP6"])], "FSDP601", "../other/a.py", True),
        ([], "FSDP601", "a.py", False),
    ],
)
def test_codes_are_ignored_per_file(rows: Rows, code: str, path: str, ignored: bool) -> None:
    folder = Path(os.sep) / "project"
    table = PerFile(folder, [(pattern, tuple(codes)) for pattern, codes in rows])
    assert table.ignores(code, os.path.normpath(folder / path)) is ignored
