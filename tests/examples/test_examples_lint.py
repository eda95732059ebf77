"""The bundled examples: those under good/ are clean, those under broken/ are found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.copies import copied
from tests.pages.harness import check_folder, in_source, marks

EXAMPLES = Path(__file__).parents[2] / "examples"


def entries(kind: str) -> list[Path]:
    """Each script, and each folder that is one program."""
    return sorted(path for path in (EXAMPLES / kind).iterdir() if path.is_dir() or path.suffix == ".py")


def texts(path: Path) -> dict[str, str]:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return {file.relative_to(EXAMPLES).as_posix(): file.read_text(encoding="utf-8") for file in files}


@pytest.mark.parametrize("path", entries("broken"), ids=lambda path: path.stem)
def test_broken(path: Path, tmp_path: Path) -> None:
    expected = marks(texts(path))
    assert expected, "an example of a fault must mark it"
    assert check_folder(copied(path, tmp_path / path.parent.name), in_source(expected), tmp_path) == []


@pytest.mark.parametrize("path", entries("good"), ids=lambda path: path.stem)
def test_good(path: Path, tmp_path: Path) -> None:
    assert not marks(texts(path))
    assert check_folder(copied(path, tmp_path), (), tmp_path) == []
