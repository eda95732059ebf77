"""The project installs completely, in each of the ways in which people install it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import fsdp2_lint
from fsdp2_lint.catalogue import registry

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "*.egg-info", "build", "dist", "__pycache__", ".*_cache", "tests")
pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path, code: int = 0, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert ran.returncode == code, f"{command} gave {ran.returncode}:\n{ran.stdout}"
    return ran.stdout


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain checkout: builds leave files behind, which must not land in this one."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("checkout") / "fsdp2-lint", ignore=LEFT_OUT))


@pytest.fixture(scope="session")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--outdir", out, checkout, cwd=out)
    return out


def package_files() -> set[str]:
    """What an installation must hold: both source folders, under the names they are imported by."""
    found = set()
    for folder, name in ((ROOT / "fsdp2_lint", "fsdp2_lint"), (ROOT / "rules", "fsdp2_lint/rules")):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found.add(f"{name}/{path.relative_to(folder).as_posix()}")
    return found


def test_wheel_is_complete(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"fsdp2_lint-{fsdp2_lint.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    info = f"fsdp2_lint-{fsdp2_lint.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == package_files()
    assert f"{info}licenses/LICENSE" in names


def test_sdist_is_complete(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    top = sdist.name.removesuffix(".tar.gz")
    names = set(tarfile.open(sdist).getnames())
    assert {f"{top}/{name}".replace("/fsdp2_lint/rules/", "/rules/") for name in package_files()} <= names


def check_installation(python: Path, cwd: Path) -> None:
    """The console script and the module work from anywhere, with all clauses and pages."""
    script = python.with_name("fsdp2-lint")
    codes = [line.split()[0] for line in run(script, "rules", cwd=cwd).splitlines()]
    assert codes == [rule.code for rule in registry.rules()]
    for code in codes:
        assert run(script, "explain", code, cwd=cwd).startswith(f"# {code}: ")
    version = f"fsdp2-lint {fsdp2_lint.__version__} (torch 2.5 to 2.15)\n"
    assert run(python, "-m", "fsdp2_lint", "--version", cwd=cwd) == version
    (cwd / "bad.py").write_text("def f(:\n")
    assert "FSDP000" in run(script, "check", "bad.py", cwd=cwd, code=1)


def fresh_python(folder: Path) -> Path:
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def test_wheel_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    python = fresh_python(tmp_path / "venv")
    (wheel,) = built.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    installed = run(python, "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    packages = {line.partition("==")[0].lower() for line in installed.splitlines() if "==" in line}
    small = {"astroid", "click", "fsdp2-lint", "tomli", "typing-extensions", "typing_extensions"}
    assert packages <= small | {"pip", "setuptools"}, "the base installation stays small"
    check_installation(python, tmp_path)


def test_editable_install(checkout: Path, tmp_path: Path) -> None:
    python = fresh_python(tmp_path / "venv")
    run(python, "-m", "pip", "install", "--quiet", "-e", checkout, cwd=tmp_path)
    check_installation(python, tmp_path)
    # In the checkout itself, the folder at hand is found before anything that is installed.
    assert run(python, "-m", "fsdp2_lint", "rules", cwd=checkout) == run(
        python.with_name("fsdp2-lint"), "rules", cwd=tmp_path
    )
