"""Who may import what, and that nothing which is checked is ever run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fsdp2_lint"
# Who may import a third-party package; nobody imports any other.
ALLOWED = {
    "astroid": ("static",),
    "click": ("cli",),
    "torch": ("runtime", "preflight"),
    "matplotlib": ("preflight",),
    "pytest": ("pytest_plugin.py",),
    "tomli": ("settings",),  # before Python 3.11
    "tomllib": ("settings",),  # since then, and unknown to the standard library of 3.10
    "lsprotocol": ("servers",),
    "pygls": ("servers",),
    "mcp": ("servers",),
    "pydantic": ("servers",),  # of which mcp's errors about arguments are
}
SOURCES = [*sorted(PACKAGE.rglob("*.py")), *sorted((ROOT / "rules").rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def imported(path: Path) -> Iterator[str]:
    """The absolute names that a file imports, anywhere in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def test_third_party_imports() -> None:
    known = {*sys.stdlib_module_names, "fsdp2_lint"}
    named = {(path, name.partition(".")[0]) for path in SOURCES for name in imported(path)}
    assert len({top for _, top in named} - known) > 5
    layer = {path: path.relative_to(ROOT).parts[1] for path in SOURCES}
    assert not [(path, top) for path, top in named if top not in known and layer[path] not in ALLOWED.get(top, ())]


def test_the_vocabulary_stands_alone() -> None:
    named = {(path, name) for path in sorted((PACKAGE / "vocab").rglob("*.py")) for name in imported(path)}
    assert named and not [each for each in named if each[1].partition(".")[0] not in sys.stdlib_module_names]


def module_name(path: Path) -> str:
    parts = [*path.relative_to(ROOT).with_suffix("").parts]
    parts = ["fsdp2_lint", *parts] if parts[0] == "rules" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


def top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements but those in functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            yield from top_level(node)


def own_imports(name: str) -> set[str]:
    """The modules of ours that a module imports at its top, also those that are there for its types only."""
    path, found = MODULES[name], set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in top_level(tree(path)):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            found |= {full if (full := f"{source}.{alias.name}") in MODULES else source for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & MODULES.keys()) - {name}


@cache
def imports() -> dict[str, set[str]]:
    return {name: own_imports(name) for name in MODULES}


def test_no_two_files_import_each_other_by_any_way() -> None:
    """Not even for types: whoever reads a file reads those below it, and no more."""
    left = {name: set(own) for name, own in imports().items()}
    while ready := [name for name, own in left.items() if not own]:
        for name in ready:
            del left[name]
        for own in left.values():
            own.difference_update(ready)
    assert not left, f"these import each other, or one that does: {sorted(left)}"


def test_no_two_rooms_know_each_other() -> None:
    rooms = {
        (name.split(".")[1], other.split(".")[1])
        for name, own in imports().items()
        for other in own
        if name.count(".") and other.count(".") and name.split(".")[1] != other.split(".")[1]
    }
    assert len(rooms) > 20 and not {pair for pair in rooms if pair[::-1] in rooms}


# The rooms of the static analysis, from the bottom: each knows those below it only.
ROOMS = ("frontend", "domain", "interpreter", "libraries", "checks")


@pytest.mark.parametrize("room", ROOMS[:-1])
def test_arrows_point_downwards_only(room: str) -> None:
    for name in [name for name in MODULES if name.startswith(f"fsdp2_lint.static.{room}.")]:
        above = [f"fsdp2_lint.static.{other}." for other in ROOMS[ROOMS.index(room) + 1 :]]
        assert not [other for other in imports()[name] if f"{other}.".startswith(tuple(above))], name


def test_all_models_of_libraries_register() -> None:
    rooms = tuple(f"fsdp2_lint.static.libraries.{room}." for room in ("python", "torch"))
    models = {name for name, path in MODULES.items() if name.startswith(rooms) and path.name != "__init__.py"}
    assert models and models <= imports()["fsdp2_lint.static.libraries.registered"]


def test_python_s_semantics_name_no_package() -> None:
    """The interpreter asks ``Libraries`` for all that is not Python's own."""
    sources = [path for path in SOURCES if "interpreter" in path.parts]
    texts = {path.name: path.read_text(encoding="utf-8") for path in sources}
    named = {name for name, text in texts.items() if re.search(r'"(torch|argparse|transformers|omegaconf)\b', text)}
    assert sources and not named


# What of other objects is private by its name and is not torch's.
OWN = {"_exit", "_getframe", "_current_frames", "_fsdp2_lint", "_findings", "_target", "_args"}


def private(path: Path) -> Iterator[str]:
    """What a file names of others that is private by its name."""
    yield from (name for name in imported(path) if name.startswith("torch") and "._" in name)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not mine and node.attr not in OWN:
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_only_the_adapter_knows_private_names_of_torch() -> None:
    of_torch = {path: [*private(path)] for path in SOURCES if "runtime" in path.parts}
    assert any(of_torch.values())
    assert not {path: names for path, names in of_torch.items() if names and "adapter" not in path.parts}


def modules_after(code: str, *arguments: str) -> set[str]:
    """The modules that are loaded once a fresh interpreter has run ``code``."""
    script = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.splitlines()[-1].split())


CHECK = "from fsdp2_lint.cli import invoke\ninvoke(['check', *sys.argv[1:]])"


def test_importing_the_package_is_cheap() -> None:
    loaded = modules_after("import fsdp2_lint")
    assert loaded.isdisjoint({"click", "astroid", "torch", "dataclasses", "re"} - modules_after(""))


def test_a_tree_without_fsdp2_loads_no_engine(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    loaded = modules_after(CHECK, str(tmp_path))
    assert loaded.isdisjoint({"astroid", "torch", "fsdp2_lint.catalogue.registry", "fsdp2_lint.rules"})


TRACE = """\
import pathlib
pathlib.Path({trace!r}).write_text("this module was run")
from torch.distributed.fsdp import fully_shard
import neighbour

@neighbour.leave
class Net:
    neighbour.leave(0)

def main(model=neighbour.leave(1)):
    fully_shard(model)

main(eval("neighbour.leave(2)"))
"""
NEIGHBOUR = """\
import pathlib
def leave(x):
    pathlib.Path({trace!r}).write_text("a function was called")
    return x
leave(3)
"""


@pytest.mark.parametrize("command", ["check", "contract"])
def test_nothing_that_is_checked_is_executed(tmp_path: Path, command: str) -> None:
    project, trace = tmp_path / "project", tmp_path / "trace"
    project.mkdir()
    for name, text in [("train.py", TRACE), ("neighbour.py", NEIGHBOUR)]:
        (project / name).write_text(text.format(trace=str(trace)))
    for name in ("conftest.py", "sitecustomize.py", "torch.py", "astroid.py", "click.py", "__init__.py"):
        (project / name).write_text(NEIGHBOUR.format(trace=str(trace)))
    # As the console script does: the current folder is not on Python's path.
    start = "import sys; sys.path.pop(0); from fsdp2_lint.__main__ import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", start, command, "."],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert not trace.exists(), trace.read_text()
    assert ran.returncode in (0, 1, 2) and "Traceback" not in ran.stderr


def test_a_check_imports_no_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
        "def main():\n    model = torch.nn.Linear(2, 2)\n    fully_shard(model)\n    model(torch.zeros(2))\n"
        "main()\n"
    )
    loaded = modules_after(CHECK, str(tmp_path))
    assert "torch" not in loaded and "astroid" in loaded


# Who writes files besides ``writing.py``: in a job each rank writes its records as it goes.
IN_JOBS = ("runtime", "report")
OF_PATHS = {"write_text", "write_bytes"}
OF_OS = {f"os.{name}" for name in ("rename", "replace", "renames", "truncate", "unlink", "remove")}


# Of users' files; and of what the tool keeps in a folder of its own, where nothing is lost with an entry.
WRITERS = {
    PACKAGE / "files" / "writing.py",
    PACKAGE / "static" / "cache" / "store.py",
    PACKAGE / "servers" / "revisions.py",
}


def writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    mode = next((each.value for each in node.keywords if each.arg == "mode"), node.args[1] if node.args[1:] else None)
    for_writing = isinstance(mode, ast.Constant) and bool(set(str(mode.value)) & set("wxa+"))
    return called in OF_OS or called.rpartition(".")[2] in OF_PATHS or called == "open" and for_writing


def test_one_module_writes_files() -> None:
    """The others write with fsdp2_lint.files.writing."""
    others = {each for each in PACKAGE.rglob("*.py") if each.relative_to(PACKAGE).parts[0] not in IN_JOBS} - WRITERS
    found = {path: [node for node in ast.walk(tree(path)) if writes(node)] for path in others}
    assert not [f"{path}:{node.lineno}" for path, nodes in found.items() for node in nodes]  # type: ignore[attr-defined]


def test_what_writes_is_recognised() -> None:
    found = [node for node in ast.walk(ast.parse((PACKAGE / "files" / "writing.py").read_bytes())) if writes(node)]
    assert len(found) == 5
