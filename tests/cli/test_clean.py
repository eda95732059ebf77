"""``fsdp2-lint clean``, and the options that say where answers are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ran

Cli = Callable[..., Ran]


def test_answers_are_kept_where_the_user_says(cli: Cli, tree: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = cli("check", "--cache-dir", kept)
    assert [*kept.glob("*.entry")]
    assert cli("check", "--cache-dir", kept) == first
    assert cli("check", "--no-cache", "--cache-dir", tmp_path / "other") == first and not (tmp_path / "other").exists()
    ran = cli("clean", "--cache-dir", kept)
    assert ran.code == 0 and ran.err.startswith("removed ") and not kept.exists()
    assert cli("clean", "--cache-dir", kept).err == "no answers are kept here\n"


def test_a_folder_that_is_no_project_has_no_cache(cli: Cli, tree: Path) -> None:
    assert cli("clean").err == "no answers are kept here\n"
