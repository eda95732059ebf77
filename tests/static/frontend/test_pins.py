"""FSDP901 is about projects whose oldest torch has the public path."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.lint import lint
from fsdp2_lint.static.frontend.pins import oldest_torch

PRIVATE = "from torch.distributed._composable.fsdp import fully_shard\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.5", "torchvision>=0.1"]\n', (2, 5)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.7"\n', (2, 7)),
        ("pyproject.toml", '[project]\ndependencies = ["torchtitan>=0.1", "pytorch-lightning>=2.0"]\n', None),
        ("setup.py", 'setup(install_requires=["torch>=2.4.0,<3"], extras_require={"x": ["torch>=2.6"]})\n', (2, 4)),
        ("requirements.txt", "numpy\ntorch==2.6.0\n", (2, 6)),
        ("requirements/base.txt", "torch >=2.1.0, <2.9\n", (2, 1)),
        ("requirements.txt", "torch\n", None),
    ],
)
def test_the_oldest_torch(tmp_path: Path, name: str, text: str, found: tuple[int, int] | None) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    assert oldest_torch(str(tmp_path / "pkg/a.py"), tmp_path) == found


def test_a_folder_may_say_it() -> None:
    root = Path("/checkout/torch2.1")
    assert oldest_torch(str(root / "examples/torch2.5.1/a.py"), root) == (2, 5)
    assert oldest_torch(str(root / "examples/a.py"), root) is None, "what lies above the project says nothing"


@pytest.mark.parametrize(("pin", "codes"), [("2.5", []), ("2.6", ["FSDP901"])])
def test_the_private_path_is_all_there_is(tmp_path: Path, pin: str, codes: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\ndependencies = ["torch>={pin}"]\n')
    (tmp_path / "a.py").write_text(PRIVATE)
    assert [finding.code for finding in lint([str(tmp_path)]).findings] == codes
