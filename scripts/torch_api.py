"""Write down what FSDP2's part of torch looks like in each version, from its sources alone.

    python scripts/torch_api.py TREE ...

Each TREE is a folder that holds ``torch/``: a checkout, or an unpacked wheel or sdist. Nothing in it is imported. The
versions join those that fsdp2_lint/static/frontend/torch_api.json knows already:

    {"modules":   {"torch.distributed.fsdp": [["2.5", []], ["2.6", ["FSDPModule", ...]], ...]},
     "callables": {"torch.distributed.fsdp.fully_shard": [["2.5", ["module", "mesh", ...]], ...]}}

A row says what changed with a version: what a module exports, or the parameters of a function, a class or a method
(null: it is gone; "*" and "**": it takes any). Run it for each minor version of torch that comes out, and set NEWEST
in fsdp2_lint/vocab/target.py.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "fsdp2_lint" / "static" / "frontend" / "torch_api.json"
FSDP, FSDP_BEFORE = "torch.distributed.fsdp", "torch.distributed._composable.fsdp"  # private until torch 2.6
MODULES = (
    FSDP,
    "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.tensor",
    "torch.distributed.device_mesh",
)
FSDP1_FILE = "fully_sharded_data_parallel"
Signature = list[str]
Surface = dict[str, dict[str, Any]]  # "modules" and "callables", as in the table, of one version


def version_of(tree: Path) -> str:
    """Major and minor, from a build's version.py or a checkout's version.txt."""
    for name in ("torch/version.py", "version.txt"):
        if (tree / name).is_file() and (found := re.search(r"(\d+\.\d+)\.\d+", (tree / name).read_text())):
            return found[1]
    raise SystemExit(f"{tree}: no torch/version.py and no version.txt")


def surface(tree: Path) -> Surface:
    """What one version exports, and the parameters of that."""
    modules: dict[str, list[str]] = {}
    callables: dict[str, Signature] = {}
    for module in MODULES:
        exported = dict(_exports(tree, module))
        modules[module] = sorted(exported)
        if module == FSDP and not exported:
            exported = dict(_exports(tree, FSDP_BEFORE))
        for name, definition in exported.items():
            callables.update(_callables(f"{module}.{name}", definition, methods=module == FSDP))
    return {"modules": modules, "callables": dict(sorted(callables.items()))}


def _exports(tree: Path, module: str) -> Iterator[tuple[str, ast.AST | None]]:
    """Public functions and classes, each with its definition if it is Python; those of FSDP1 are another affair."""
    file = _file(tree, module)
    if file is None:
        return
    body = ast.parse(file.read_text(encoding="utf-8")).body
    listed = next(
        (ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign) and _target(node) == "__all__"),
        None,
    )
    for node in _statements(body):
        if isinstance(node, ast.ImportFrom) and FSDP1_FILE not in (node.module or ""):
            for alias in node.names:
                name = alias.asname or alias.name
                if not name.startswith("_") and (listed is None or name in listed):
                    found = _definition(tree, _absolute(module, file, node), alias.name)
                    if found is not None or listed is not None:
                        yield name, found
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if listed is None or node.name in listed:
                yield node.name, node


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, also below ``if is_available():``; of several definitions the last."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.orelse, *node.body])  # the stand-ins for other builds come first
        else:
            yield node


def _target(node: ast.Assign) -> str:
    return getattr(node.targets[0], "id", "")


def _file(tree: Path, module: str) -> Path | None:
    base = tree.joinpath(*module.split("."))
    return next((file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()), None)


def _absolute(module: str, file: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _definition(tree: Path, module: str, name: str, depth: int = 0) -> ast.AST | None:
    """Where a name is defined, through re-exports."""
    file = _file(tree, module)
    if file is None or depth > 5:
        return None
    found: ast.AST | None = None
    for node in _statements(ast.parse(file.read_text(encoding="utf-8")).body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name and not _is_overload(node):
            found = node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    inner = _definition(tree, _absolute(module, file, node), alias.name, depth + 1)
                    found = inner if inner is not None else found
    return found


def _callables(name: str, node: ast.AST | None, *, methods: bool) -> Iterator[tuple[str, Signature]]:
    if node is None:
        yield name, ["*", "**"]
    elif isinstance(node, ast.FunctionDef):
        yield name, _parameters(node)
    elif isinstance(node, ast.ClassDef):
        defined = {
            each.name: each for each in node.body if isinstance(each, ast.FunctionDef) and not _is_overload(each)
        }
        fields = [
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield name, fields
        elif "__init__" in defined:
            yield name, _parameters(defined["__init__"], bound=True)
        else:
            yield name, ["*", "**"]
        for each in defined.values() if methods else ():
            if not each.name.startswith("_"):
                decorators = [ast.unparse(decorator) for decorator in each.decorator_list]
                yield f"{name}.{each.name}", _parameters(each, bound="staticmethod" not in decorators)


def _parameters(node: ast.FunctionDef, bound: bool = False) -> Signature:
    given = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][bound:]
    given += [each.arg for each in node.args.kwonlyargs]
    public = [each for each in given if not each.startswith("_")]
    return [*public, *(["*"] if node.args.vararg else []), *(["**"] if node.args.kwarg else [])]


def _is_overload(node: ast.AST) -> bool:
    return any("overload" in ast.unparse(each) for each in getattr(node, "decorator_list", ()))


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def at(table: Surface, version: str) -> Surface:
    """What the table says of one version."""
    found: Surface = {kind: {} for kind in table}
    for kind, names in table.items():
        for name, rows in names.items():
            known = [value for since, value in rows if number(since) <= number(version)]
            if known and known[-1] is not None:
                found[kind][name] = known[-1]
    return found


def merged(surfaces: dict[str, Surface]) -> Surface:
    """Rows where something changes, of all versions."""
    table: Surface = {"modules": {}, "callables": {}}
    for kind, names in table.items():
        for name in sorted({name for each in surfaces.values() for name in each[kind]}):
            rows: list[list[Any]] = []
            for version in sorted(surfaces, key=number):
                value = surfaces[version][kind].get(name)
                if value != (rows[-1][1] if rows else None):
                    rows.append([version, value])
            names[name] = rows
    return table


def text(table: Surface) -> str:
    """One line a name."""
    parts = []
    for kind, names in table.items():
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows)}" for name, rows in names.items())
        parts.append(f" {json.dumps(kind)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(trees: list[str]) -> None:
    known = json.loads(TABLE.read_text()) if TABLE.is_file() else {}
    versions = {since for names in known.values() for rows in names.values() for since, _ in rows}
    surfaces = {version: at(known, version) for version in versions}
    surfaces.update({version_of(Path(tree)): surface(Path(tree)) for tree in trees})
    TABLE.write_text(text(merged(surfaces)))


if __name__ == "__main__":
    main(sys.argv[1:])
