"""Does code allow for a torch that lacks something: does it ask what this torch has, or go on where that failed?

Behind a test the code never runs there. A ``try`` around it is only a gate where its handler goes on: one that raises
again tells of the same failure in other words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from astroid import nodes

from ..budget import BUDGET
from .module import Module
from .origins import full_name
from .project import Project

ASKS = re.compile(
    r"version|hasattr|getattr|signature|inspect|importlib|find_spec|parameters\b.*\bin\b|_available|AttributeError|"
    r"TypeError|ImportError",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(r"\bsys\.version|\b(?!torch\b)\w+\.__version__")  # Python's version, or that of another package
_OF_NAMES = frozenset({"ImportError", "Exception", "BaseException"})  # what catches that a module lacks a name,
_OF_MODULES = _OF_NAMES | {"ModuleNotFoundError"}  # and that there is no such module
_STARTED_WITH = ("os.environ", "os.getenv", "sys.argv", "sys.platform", "sys.version_info")
_CONVERSIONS = frozenset(f"builtins.{name}" for name in ("int", "str", "bool", "float", "len"))
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit"})
_JUMPS = (nodes.Return, nodes.Continue, nodes.Break)
_BLOCKS = ("body", "orelse", "finalbody")
FallsBack = Callable[[nodes.Try, nodes.NodeNG], bool]
"""Does a program go on where this part of a ``try`` fails?"""


def stands_gated(project: Project, module: Module, node: nodes.NodeNG, falls_back: FallsBack) -> bool:
    """Is it written in a ``try`` that falls back, or under a test of what this torch has?"""
    at, later = node, False  # later: in a function, which does not run where it is defined
    while (parent := at.parent) is not None:
        if isinstance(parent, nodes.Try) and not later and falls_back(parent, at):
            return True
        if isinstance(parent, (nodes.If, nodes.IfExp)) and at is not parent.test and asks(project, module, parent.test):
            return True
        at, later = parent, later or isinstance(parent, (nodes.FunctionDef, nodes.Lambda))
    return False


def import_is_gated(project: Project, module: Module, node: nodes.NodeNG, *, of_module: bool = False) -> bool:
    """The same of an import; a test may also stand before it, and turn away from it.

    ``of_module``: is it the module that may be missing, and not a name in it?
    """
    caught = _OF_MODULES if of_module else _OF_NAMES
    line = [node, *node.node_ancestors()]
    before = (each for at, parent in zip(line, line[1:]) for each in _before(parent, at))
    return stands_gated(project, module, node, partial(_import_falls_back, caught)) or any(
        _turns_away(project, module, each) for each in before
    )


def use_falls_back(attempt: nodes.Try, at: nodes.NodeNG) -> bool:
    """What a use fails with depends on what is used: any handler may be for it."""
    return at in attempt.body and any(not _gives_up(handler.body) for handler in attempt.handlers)


def is_conditional(module: Module, node: nodes.NodeNG) -> bool:
    """Does it stand under a condition that may hang on the torch that there is, though it does not speak of it?"""
    line = [node, *node.node_ancestors()]
    return any(
        isinstance(parent, nodes.If) and (_never_runs(parent, at) or not _is_settled(module, parent.test, frozenset()))
        for at, parent in zip(line, line[1:])
    )


def _never_runs(branch: nodes.If, at: nodes.NodeNG) -> bool:
    return isinstance(branch.test, nodes.Const) and bool(branch.test.value) != (at in branch.body)


def _is_settled(module: Module, node: nodes.NodeNG, seen: frozenset[str]) -> bool:
    """Is it made of constants and of what the job is started with, which are the same with any torch?"""
    full = full_name(node)
    if full in _CONVERSIONS or any(f"{full}.".startswith(f"{each}.") for each in _STARTED_WITH):
        return True
    if isinstance(node, nodes.Name):
        if node.name == "__name__":
            return True
        if node.name in seen or node.scope() is not module.tree and node.name in node.scope().locals:
            return False
        bound = module.bindings.get(node.name, ())
        return bool(bound) and all(
            isinstance(each, nodes.Assign) and _is_settled(module, each.value, seen | {node.name}) for each in bound
        )
    parts = list(node.get_children())
    return isinstance(node, nodes.Const) or bool(parts) and all(_is_settled(module, each, seen) for each in parts)


def _import_falls_back(caught: frozenset[str], attempt: nodes.Try, at: nodes.NodeNG) -> bool:
    """A handler may be the fallback itself: it runs where another import failed."""
    handler = next((each for each in attempt.handlers if _catches(each, caught)), None)
    if handler is None or at in attempt.finalbody:
        return False
    return isinstance(at, nodes.ExceptHandler) or not _gives_up(handler.body)


def comes_gated(project: Project, path: str) -> bool:
    """Does every way from a script to a file lead through an import behind a gate?

    A way begins in a file that nobody imports, or that has a main guard.
    """
    open_files, gates = [path], 0
    for at in open_files:  # which grows
        loads = [load for importer in project.loaders_of(at) for load in _loads(project, importer, at)]
        if not loads or _is_run(project, at):
            return False
        for module, node in loads:
            if import_is_gated(project, module, node):
                gates += 1
            elif module.path not in open_files:
                open_files.append(module.path)
    return gates > 0


def loaded_by(project: Project, importer: str, node: nodes.NodeNG) -> Iterator[str]:
    """The files of the project that an import names."""
    if isinstance(node, nodes.Import):
        wanted = [(name, 0) for name, _ in node.names]
    else:
        base, level = node.modname or "", node.level or 0
        wanted = [(base, level), *((f"{base}.{name}" if base else name, level) for name, _ in node.names)]
    for name, level in wanted:
        if (name or level) and (found := project.resolve(importer, name, level)):
            yield found


def _loads(project: Project, importer: str, path: str) -> Iterator[tuple[Module, nodes.NodeNG]]:
    """The imports by which a file loads another one; of a package, all that name something in it."""
    module = project.module(importer)
    folder, name = os.path.split(path)
    for node in module.tree.nodes_of_class((nodes.Import, nodes.ImportFrom)) if module is not None else ():
        found = [*loaded_by(project, importer, node)]
        inside = name == "__init__.py" and any(each.startswith(folder + os.sep) for each in found)
        if module is not None and (path in found or inside) and not _is_for_types(node):
            yield module, node


def _is_run(project: Project, path: str) -> bool:
    """Has it a main guard?"""
    module = project.module(path)
    guards = [each.test for each in module.tree.body if isinstance(each, nodes.If)] if module is not None else ()
    return any(name.name == "__name__" for test in guards for name in test.nodes_of_class(nodes.Name))


def _is_for_types(node: nodes.NodeNG) -> bool:
    """``if TYPE_CHECKING:``, which no program runs."""
    tests = [at.test for at in node.node_ancestors() if isinstance(at, nodes.If)]
    return any(full_name(test) == "typing.TYPE_CHECKING" for test in tests)


def _catches(handler: nodes.ExceptHandler, errors: frozenset[str]) -> bool:
    named = handler.type.elts if isinstance(handler.type, nodes.Tuple) else [handler.type]
    return any(each is None or getattr(each, "name", "") in errors for each in named)


def _gives_up(body: Sequence[nodes.NodeNG]) -> bool:
    """Does it raise, or end the program, whichever way it takes?"""
    for statement in body:
        if isinstance(statement, nodes.Raise) or _ends_program(statement):
            return True
        if isinstance(statement, nodes.If) and _gives_up(statement.body) and _gives_up(statement.orelse):
            return True
        if next(statement.nodes_of_class(_JUMPS), None) is not None:
            return False
    return False


def _ends_program(statement: nodes.NodeNG) -> bool:
    call = statement.value if isinstance(statement, nodes.Expr) else None
    return isinstance(call, nodes.Call) and full_name(call.func) in _EXITS


def _before(parent: nodes.NodeNG, at: nodes.NodeNG) -> Sequence[nodes.NodeNG]:
    """The statements of the same block that come first."""
    for block in (getattr(parent, name, ()) for name in _BLOCKS):
        if isinstance(block, list) and at in block:
            return block[: block.index(at)]
    return ()


def _turns_away(project: Project, module: Module, statement: nodes.NodeNG) -> bool:
    """``if not HAS_FSDP2: return``: what comes behind it runs where this torch has what was asked for."""
    if isinstance(statement, nodes.If) and statement.body:
        leaves = isinstance(statement.body[-1], (nodes.Raise, *_JUMPS)) or _ends_program(statement.body[-1])
    else:
        leaves = isinstance(statement, nodes.Assert)
    return leaves and not _OF_OTHERS.search(statement.test.as_string()) and asks(project, module, statement.test)


def asks(project: Project, module: Module, test: nodes.NodeNG) -> bool:
    """Does a condition speak of versions, of what there is, or of flags for them?"""
    if any(ASKS.search(part.as_string()) for part in (test, *_called_in(project, module, test))):
        return True
    names = {name.name for name in test.nodes_of_class(nodes.Name)}
    return any(_is_flag(statement) for name in names for statement in _bound(project, module, name, {}))


def _bound(project: Project, module: Module, name: str, seen: dict[tuple[str, str], None]) -> Iterator[nodes.NodeNG]:
    """The statements of the top level that bind a name, here and where it is imported from."""
    if (module.path, name) in seen:
        return
    seen[module.path, name] = None
    for statement in module.bindings.get(name, ()):
        yield statement
        for own in _own_names(statement, name):
            path = project.resolve(module.path, statement.modname or "", statement.level or 0)
            if path and (other := project.module(path)) is not None:
                yield from _bound(project, other, own, seen)


def _own_names(statement: nodes.NodeNG, name: str) -> list[str]:
    """How the file that it comes from calls what is imported under this name."""
    if not isinstance(statement, nodes.ImportFrom):
        return []
    return [own for own, alias in statement.names if (alias or own) == name]


def _called_in(project: Project, module: Module, test: nodes.NodeNG) -> Iterator[nodes.NodeNG]:
    """The functions that a condition calls, directly or not, or whose answer it has by a name of the file."""
    names = {name.name for name in test.nodes_of_class(nodes.Name)}
    values = [node.value for name in names for node in module.bindings.get(name, ()) if isinstance(node, nodes.Assign)]
    for part in (test, *values):
        for name in part.nodes_of_class(nodes.Name):
            if not _is_value(module, name):
                code = islice(project.relevance.code_of(module, _path_from(name)), 1, BUDGET.name_parts)
                yield from (each for _, each in code if isinstance(each, nodes.FunctionDef))


def _is_value(module: Module, name: nodes.Name) -> bool:
    """Was it assigned in this file? What is an attribute of such a value is not looked up by its name."""
    bound = module.bindings.get(name.name, ())
    return bool(bound) and all(isinstance(node, nodes.Assign) for node in bound)


def _path_from(name: nodes.Name) -> nodes.NodeNG:
    """``utils.torch.is_new`` where ``utils`` stands."""
    at: nodes.NodeNG = name
    while isinstance(at.parent, nodes.Attribute):
        at = at.parent
    return at


def _is_flag(statement: nodes.NodeNG) -> bool:
    """Does a top-level statement set a name by what this torch has?"""
    parent = statement.parent
    if isinstance(parent, (nodes.Try, nodes.ExceptHandler)):
        return True
    if isinstance(parent, nodes.If) and ASKS.search(parent.test.as_string()):
        return True
    return isinstance(statement, nodes.Assign) and bool(ASKS.search(statement.value.as_string()))
