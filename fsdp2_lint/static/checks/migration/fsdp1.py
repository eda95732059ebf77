"""FSDP1 in the syntax of a project: where its class is used, and whether the program knows FSDP2's too."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping

from astroid import nodes

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.declared import record
from ....vocab.events.migration import Fsdp1Wrapped
from ....vocab.finding import Moment, Place, Site
from ...frontend.gates import use_falls_back
from ...frontend.module import Unreadable
from ...frontend.project import Project
from ..shared.closure import excluded
from ..shared.loops import enclosing
from ..shared.source_edits import site_of

CLASS = "FullyShardedDataParallel"
# What a program asks for that can tell a module of FSDP2 from others.
_FSDP2_NAMES = frozenset({"FSDPModule", "unshard", "reshard", "set_requires_gradient_sync", "set_is_last_backward"})
_ASKING = frozenset({"isinstance", "issubclass", "hasattr", "getattr"})


WITHOUT_ERROR = "summon_full_params"  # on a model of FSDP2; the others fail,
_FAILS_WITH = (AttributeError, IndexError, KeyError)  # in 2.13: their pages have measured which with which
_PARAMETERS = (
    "module", "process_group", "sharding_strategy", "cpu_offload", "auto_wrap_policy", "backward_prefetch",
    "mixed_precision", "ignored_modules", "param_init_fn", "device_id", "sync_module_states", "forward_prefetch",
    "limit_all_gathers", "use_orig_params", "ignored_states", "device_mesh",
)  # fmt: skip


@record
class Fsdp1Call:
    """One call of the class. ``fsdp2``: a file of the same program that speaks of FSDP2, or nothing."""

    path: str
    node: ast.Call
    fsdp2: str

    def alternative(self) -> Answer[Place]:
        if self.fsdp2:
            return yes(Place(Moment(Site(self.fsdp2, 1)), "FSDP2 is used here"))
        return excluded("no file of the program speaks of FSDP2")

    def arguments(self) -> Many[Place]:
        given = [*zip(_PARAMETERS, self.node.args), *((each.arg, each.value) for each in self.node.keywords)]
        whole = all(name for name, _ in given)
        end = excluded("all its arguments are written here") if whole else unknown("**keywords that were not followed")
        return many((self._argument(name, value) for name, value in given if name not in (None, "module")), end)

    def _argument(self, name: str | None, value: ast.expr) -> Place:
        literal = f"={value.attr}" if isinstance(value, ast.Attribute) else ""
        return Place(Moment(site_of(self.path, value)), f"{name}{literal}")


def failure_is_caught(project: Project, at: Site) -> bool:
    """Does a ``try`` around this use of FSDP1's class catch what it fails with, and go on?"""
    module = project.module(at.path)
    return module is not None and any(
        use_falls_back(attempt, attempt.body[0]) and any(map(_catches, attempt.handlers))
        for attempt in enclosing(module.tree, at, nodes.Try)
    )


def _catches(handler: nodes.ExceptHandler) -> bool:
    """An error that is not one of Python's own may be any."""
    caught = handler.type.elts if isinstance(handler.type, nodes.Tuple) else [handler.type]
    classes = [
        getattr(builtins, each.name, Exception) if isinstance(each, nodes.Name) else Exception for each in caught
    ]
    return any(issubclass(error, cls) for cls in classes for error in _FAILS_WITH)


def wrapped_events(project: Project, path: str) -> Iterator[Fsdp1Wrapped]:
    """Every call of the class in a file, by a name that it imports."""
    for _, tree in _files(project, CLASS, [path]):
        names = {CLASS, *_aliases(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) in names:
                call = Fsdp1Call(path, node, _speaks_of_fsdp2(project, path))
                yield Fsdp1Wrapped(when=Moment(site_of(path, node)), wrapper=call)


def _speaks_of_fsdp2(project: Project, path: str) -> str:
    """The file itself, one that it reaches by imports, or one that imports it and reaches FSDP2 some other way."""
    return next((at for at in _reached([path], project.imported_by) if at in project.relevant), "")


def _reached(paths: Iterable[str], edges: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """These files, and all that one comes to from them."""
    queue = [*paths]
    seen = {*queue}
    while queue:
        at = queue.pop()
        yield at
        more = [other for other in edges.get(at, ()) if other not in seen]
        seen.update(more)
        queue += more


def wraps_with_fsdp1(project: Project, files: Collection[str]) -> bool:
    """Does any of these files call the class, or hand it on to something that may?"""
    trees = [tree for _, tree in _files(project, CLASS, files)]
    names = {CLASS, *(alias for tree in trees for alias in _aliases(tree))}
    others = [tree for name in names - {CLASS} for _, tree in _files(project, name, files)]
    return any(_is_used(tree, names) for tree in (*trees, *others))


def asks_for_fsdp2(project: Project, files: Collection[str]) -> bool:
    """Does any of these files test for a module of FSDP2, by its class or by a method that only it has?"""
    return any(
        isinstance(node, ast.Call) and _name(node.func) in _ASKING and _FSDP2_NAMES & set(_mentioned(node))
        for word in _FSDP2_NAMES
        for _, tree in _files(project, word, files)
        for node in ast.walk(tree)
    )


def files_around(project: Project, path: str) -> set[str]:
    """The file, what imports it, directly or not, and all that those import: the programs that it is a part of."""
    imports: dict[str, list[str]] = {}
    for target, importers in project.imported_by.items():
        for importer in importers:
            imports.setdefault(importer, []).append(target)
    return set(_reached(_reached([path], project.imported_by), imports))


def _files(project: Project, word: str, among: Collection[str]) -> Iterator[tuple[str, ast.Module]]:
    """Files that mention a word."""
    for path in among:
        try:
            data = project.data(path)
        except Unreadable:
            continue
        if word.encode() in data and (tree := project.ast(path)) is not None:
            yield path, tree


def _aliases(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.name == CLASS and alias.asname)


def _is_used(tree: ast.Module, names: set[str]) -> bool:
    """As a value: not as the class of a test, the owner of a static method, or an annotation."""
    idle: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            idle.add(id(node.value))
        elif isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
            idle.update(id(part) for given in node.args[1:] for part in ast.walk(given))
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            idle.update(id(part) for part in ast.walk(node.annotation))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            idle.update(id(part) for part in ast.walk(node.returns))
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and _name(node) in names
        and id(node) not in idle
        for node in ast.walk(tree)
    )


def _mentioned(call: ast.Call) -> Iterator[str]:
    """Names and texts in the arguments."""
    for part in (part for given in call.args for part in ast.walk(given)):
        yield part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else _name(part)


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
