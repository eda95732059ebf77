"""What the files of a project define, and who mentions whom, read off names alone.

That overestimates who can reach a sharding call, which costs time and never a finding.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .lookup import imports_of
from .module import Unreadable
from .project import Project

# Names that say nothing about which function is meant; they count within one file only.
GENERIC = frozenset(
    """main run train forward setup build apply init __init__ __call__ wrapper get load save step fit call
    create make wrap prepare execute start launch configure update test eval evaluate inner decorator func fn
    from_config from_pretrained __enter__ __post_init__ model wrapped to initialize process""".split()
)  # fmt: skip
SEED = "fully_shard"


@dataclass(slots=True)
class Definition:
    """A top-level function, a method, or a module's own statements (name empty)."""

    path: str
    name: str
    owner: str  # class of a method
    row: int
    mentions: set[str]
    bound: dict[str, set[str]] = field(default_factory=dict)  # name -> keywords and names it is stored under

    @property
    def callable_names(self) -> set[str]:
        names = {self.name} if self.name and self.name not in GENERIC else set()
        return names | ({self.owner} if self.owner else set())


def mentions_seed(project: Project, path: str) -> bool:
    """Does code (not only a comment or a string) speak of ``fully_shard``?"""
    try:
        data = project.data(path)
    except Unreadable as error:
        project.unreadable.setdefault(path, error)
        return False
    if SEED.encode() not in data:
        return False
    tree = project.ast(path)
    return tree is not None and any(map(_speaks, walked(tree)))


def _speaks(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == SEED
    if isinstance(node, ast.Attribute):
        return node.attr == SEED
    return isinstance(node, ast.alias) and (node.name.split(".")[-1] == SEED or node.asname == SEED)


def importers_of(project: Project, seeds: list[str]) -> list[str]:
    """Files that import a seed, directly or not."""
    for path in project.scope if not project.imported_by else ():
        if path not in project.unreadable:
            for target in imports_of(project, path, project.data(path)):
                project.imported_by.setdefault(target, []).append(path)
    return _above(project, seeds)


def importers_of_one(project: Project, seed: str) -> list[str]:
    """The same of one file, when all imports are known."""
    return _above(project, [seed])


def _above(project: Project, files: list[str]) -> list[str]:
    found: dict[str, None] = {}
    queue = list(files)
    while queue:
        for importer in project.imported_by.get(queue.pop(), ()):
            if importer not in found and importer not in files and project.in_scope(importer):
                found[importer] = None
                queue.append(importer)
    return list(found)


def definitions_in(project: Project, path: str) -> Iterator[Definition]:
    """The functions of a file, methods too, each with the names that it mentions and binds."""
    tree = project.ast(path)
    if tree is None:
        return
    parts = [(node, walked(node)) for node in tree.body]
    whole = [part for _, inside in parts for part in inside]
    own: set[str] = set()
    aliases = _aliases(whole)
    for node, inside in parts:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(path, node.name, "", node.lineno, _names(inside, aliases), _bound(inside))
            own |= {name for decorator in node.decorator_list for name in _names(walked(decorator), aliases)}
        elif isinstance(node, ast.ClassDef):
            own |= {name for decorator in node.decorator_list for name in _names(walked(decorator), aliases)}
            for child in inside:
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    code = walked(child)
                    yield Definition(path, child.name, node.name, child.lineno, _names(code, aliases), _bound(code))
        elif isinstance(node, (ast.If, ast.Try)):
            for child in inside:
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield Definition(path, child.name, "", child.lineno, _names(walked(child), aliases))
            own |= _names(inside, aliases)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            own |= _names(inside, aliases)
    yield Definition(path, "", "", 1, own, _bound(whole))


def inheritance(project: Project, path: str) -> Iterator[tuple[str, str]]:
    tree = project.ast(path)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                yield _last(base), node.name


def walked(tree: ast.AST) -> list[ast.AST]:
    """``ast.walk``, which is dear: a node and all below it, outer ones first."""
    found = [tree]
    for node in found:
        for value in node.__dict__.values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found


def _bound(code: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Function values that travel: ``spec(fn=apply)``, ``self.fn = apply``, ``TABLE["x"] = apply``.

    So do names that other files import from this one: ``from .trainer import Trainer as DistillationTrainer``.
    """
    found: dict[str, set[str]] = {}
    for node in code:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname:
                    found.setdefault(alias.name, set()).add(alias.asname)
        elif isinstance(node, ast.keyword) and node.arg and isinstance(node.value, (ast.Name, ast.Attribute)):
            found.setdefault(_last(node.value), set()).add(node.arg)
        elif isinstance(node, ast.Assign):
            names = {_last(target) for target in node.targets} - {""}
            several = isinstance(node.value, (ast.Dict, ast.List, ast.Tuple))
            for value in walked(node.value) if several else [node.value]:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    found.setdefault(_last(value), set()).update(names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    found.setdefault(_last(value), set()).add(_last(node.target))
    return found


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names(code: Iterable[ast.AST], aliases: dict[str, set[str]]) -> set[str]:
    """Names and attributes that code mentions; for an alias also what it stands for."""
    found: set[str] = set()
    for node in code:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    for name in found & aliases.keys():
        found = found | aliases[name]
    return found


def _aliases(code: Iterable[ast.AST]) -> dict[str, set[str]]:
    """``from util import shard as apply``, anywhere in the file."""
    found: dict[str, set[str]] = {}
    for node in code:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname and alias.asname != alias.name:
                    found.setdefault(alias.asname, set()).add(alias.name.split(".")[-1])
    return found


def reaching(
    definitions: list[Definition], sharding: list[Definition], importers: dict[str, list[str]]
) -> list[Definition]:
    """All definitions from which a sharding call may be reached, by name."""
    mentioned_by: dict[str, list[Definition]] = {}
    for definition in definitions:
        for name in definition.mentions:
            mentioned_by.setdefault(name, []).append(definition)
    stored_as: dict[str, set[str]] = {}
    for definition in definitions:
        for name, others in definition.bound.items():
            stored_as.setdefault(name, set()).update(others - GENERIC)
    reached: dict[int, Definition] = {id(each): each for each in sharding}
    queue = deque(sharding)  # breadth first: the closest callers come first
    while queue:
        callee = queue.popleft()
        names = set(callee.callable_names)
        for name in list(names):
            names |= stored_as.get(name, set())
        callers = [caller for name in sorted(names) for caller in mentioned_by.get(name, ())]
        if callee.name in GENERIC:
            users = {callee.path, *importers.get(callee.path, ())}
            callers += [caller for caller in mentioned_by.get(callee.name, ()) if caller.path in users]
        for caller in callers:
            if id(caller) not in reached:
                reached[id(caller)] = caller
                queue.append(caller)
    return list(reached.values())
