"""What the code of one function says by the names in it, read off its tree before anything is interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Protocol

from astroid import nodes
from astroid.const import Context

from ..budget import BUDGET
from .launchers import RANKS, WORLD_SIZE
from .module import Module

ENVIRONMENT = frozenset({"environ", "getenv"})
_FUNCTIONS = (nodes.FunctionDef, nodes.Lambda)
_LISTINGS = frozenset({"ModuleList", "Sequential"})
_FINDS = frozenset({"import_module", "__import__", "dir", "getmembers"})


class Lookup(Protocol):
    """Which file of the project an import means."""

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None: ...


def names_in(node: nodes.NodeNG) -> frozenset[str]:
    """Names and attributes that code mentions."""
    found: frozenset[str] | None = getattr(node, "fsdp2_names", None)
    if found is None:
        parts = node.nodes_of_class((nodes.Name, nodes.AssignName, nodes.Attribute))
        names = [part.attrname if isinstance(part, nodes.Attribute) else part.name for part in parts]
        found = node.fsdp2_names = frozenset(names)
    return found


def evaluates(node: nodes.NodeNG) -> bool:
    """Does it name the builtin ``eval``? Modules have a method of that name, which is another thing."""
    if "eval" not in names_in(node):
        return False
    bare = any(part.name == "eval" for part in node.nodes_of_class((nodes.Name, nodes.AssignName)))
    return bare or not names_in(node).isdisjoint(("builtins", "__builtins__"))


def texts_in(node: nodes.NodeNG) -> frozenset[str]:
    """The texts of code that may be a name or a part of one; those of one letter are none that means something."""
    texts = (part.value for part in node.nodes_of_class(nodes.Const) if isinstance(part.value, str))
    return frozenset(text for text in texts if len(text) > 1 and text.isidentifier())


def qualified(files: Lookup, module: Module, node: nodes.NodeNG) -> Iterator[str]:
    """The full names of what code mentions of other packages."""
    for name in names_in(node):
        yield from _of_others(files, module, name)
    for part in node.nodes_of_class(nodes.Attribute):
        behind, root = [part.attrname], part.expr
        while isinstance(root, nodes.Attribute):
            behind.append(root.attrname)
            root = root.expr
        if isinstance(root, nodes.Name):
            for named in _of_others(files, module, root.name):
                yield ".".join([named, *reversed(behind)])


def _of_others(files: Lookup, module: Module, name: str) -> Iterator[str]:
    for node, full in origins(module, name):
        named = imported_name(node, full, name)
        if not any(files.resolve(module.path, each) for each in (full, named)):
            yield named


def origins(module: Module, name: str) -> Iterator[tuple[nodes.NodeNG, str]]:
    """Modules, by their full names, that a name is imported from or stands for."""
    for node in module.bindings.get(name, ()):
        if isinstance(node, nodes.Import):
            yield from ((node, full) for full, alias in node.names if (alias or full.split(".")[0]) == name)
        elif isinstance(node, nodes.ImportFrom) and not node.level:
            yield node, node.modname or ""


def imported_name(node: nodes.NodeNG, full: str, name: str) -> str:
    """The full name of what is imported."""
    if not isinstance(node, nodes.ImportFrom):
        return full
    return next((f"{full}.{own}" for own, alias in node.names if (alias or own) == name), full)


def calls_values(node: nodes.NodeNG) -> bool:
    """Is something called that the code was handed or looked up, such as a class that a configuration names?

    Or found for others to call, as what a computed name imports is, or the methods that an object has.
    """
    known: bool | None = getattr(node, "fsdp2_calls_values", None)
    if known is None:
        known = node.fsdp2_calls_values = _calls_values(node)
    return known


def _is_of_itself(node: nodes.NodeNG, call: nodes.Call) -> bool:
    """``getattr(self, name)`` with a name that is computed: any method of the object, unless fields are set so."""
    found = getattr(call.func, "name", "") == "getattr" and len(call.args) > 1 and "setattr" not in names_in(node)
    asked = call.args if found else []
    owner = node.args.args[:1] if asked and isinstance(node, nodes.FunctionDef) and node.args.args else []
    return any(not isinstance(asked[1], nodes.Const) and getattr(asked[0], "name", "") == each.name for each in owner)


def calls_other_values(module: Module, node: nodes.NodeNG) -> bool:
    """The same, but for the parts of a module that a loop goes through: ``for block in self.blocks: x = block(x)``.

    That is to call ``self.block(x)`` for each. What a ``ModuleList`` or ``Sequential`` takes are modules.
    """
    if not calls_values(node):
        return False
    known: bool | None = getattr(node, "fsdp2_calls_other_values", None)
    if known is None:
        known = node.fsdp2_calls_other_values = _calls_values(node, frozenset(_parts_in_turn(module, node)))
    return known


def _parts_in_turn(module: Module, node: nodes.NodeNG) -> Iterator[str]:
    """Names that are bound to parts of one's own in loops, and to nothing else."""
    cls = node.parent.frame() if isinstance(node, nodes.FunctionDef) and node.args.args else None
    if not isinstance(cls, nodes.ClassDef):
        return
    sources: dict[str, list[nodes.NodeNG | None]] = {}
    for each in node.nodes_of_class(nodes.AssignName):
        sources.setdefault(each.name, []).append(_gone_through(module, each))
    for name, found in sources.items():
        if all(each is not None and _is_own_listing(module, each, node, cls) for each in found):
            yield name


def _gone_through(module: Module, target: nodes.AssignName) -> nodes.NodeNG | None:
    """What a loop takes the values of a name from: ``for block in blocks``, ``for i, block in enumerate(blocks)``."""
    if isinstance(target.parent, nodes.For):
        return target.parent.iter
    loop = target.parent.parent
    if not isinstance(loop, nodes.For) or target.parent is not loop.target or not isinstance(loop.iter, nodes.Call):
        return None
    counts = getattr(loop.iter.func, "name", "") == "enumerate" and "enumerate" not in module.bindings
    return loop.iter.args[0] if counts and loop.iter.args and target is target.parent.elts[-1] else None


def _is_own_listing(module: Module, value: nodes.NodeNG, func: nodes.FunctionDef, cls: nodes.ClassDef) -> bool:
    """Is it an attribute to which the class itself gives nothing but a ``ModuleList`` or ``Sequential``?"""
    own = func.args.args[0].name
    if not isinstance(value, nodes.Attribute) or getattr(value.expr, "name", "") != own:
        return False
    given = [each.parent for each in cls.nodes_of_class(nodes.AssignAttr) if each.attrname == value.attrname]
    return bool(given) and all(isinstance(each, nodes.Assign) and _lists_modules(module, each.value) for each in given)


def _lists_modules(module: Module, value: nodes.NodeNG) -> bool:
    """``nn.ModuleList(...)``, by what the file imports from torch."""
    func = root = getattr(value, "func", None)
    while isinstance(root, nodes.Attribute):
        root = root.expr
    if getattr(func, "attrname", "") not in _LISTINGS or not isinstance(root, nodes.Name):
        return False
    bound = module.bindings.get(root.name, ())
    known = list(origins(module, root.name))
    return len(known) == len(bound) > 0 and all(full.split(".")[0] == "torch" for _, full in known)


def _calls_values(node: nodes.NodeNG, but_for: frozenset[str] = frozenset()) -> bool:
    own = {part.name for part in node.nodes_of_class(nodes.AssignName)} - but_for
    for call in node.nodes_of_class(nodes.Call):
        func = call.func
        name = getattr(func, "attrname", "") or getattr(func, "name", "")
        if isinstance(func, (nodes.Call, nodes.Subscript)) or name in _FINDS or _is_of_itself(node, call):
            return True
        if isinstance(func, nodes.Name) and func.name in own and not _closed_over(node, call, func.name):
            return True
    return False


def _closed_over(node: nodes.NodeNG, call: nodes.Call, name: str) -> bool:
    """Is it a parameter of a function around the one that calls it? What a decorator is given stands where it is used.

    To run ``node`` only makes the inner function; who calls that names it, and with it all that it was given.
    """
    scope = call.scope()
    while scope is not node and isinstance(scope, _FUNCTIONS) and name not in scope.locals:
        scope = scope.parent.scope()
        if isinstance(scope, _FUNCTIONS) and name in scope.argnames():
            return True
    return False


def reads_own_variables(node: nodes.NodeNG) -> bool:
    """Is the environment only read here, by names that are written out and that no launcher sets?"""
    keys: list[nodes.NodeNG] = []
    for part in node.nodes_of_class((nodes.Attribute, nodes.Name)):
        if getattr(part, "attrname", getattr(part, "name", "")) in ENVIRONMENT:
            user = part.parent
            if isinstance(user, nodes.Attribute) and user.attrname == "get":
                user = user.parent
            if isinstance(user, nodes.Call) and user.args and part not in user.args:
                keys.append(user.args[0])
            elif isinstance(user, nodes.Subscript) and user.ctx is Context.Load:
                keys.append(user.slice)
            elif not isinstance(user, nodes.Attribute) or user.attrname not in ENVIRONMENT:  # else of ``os.environ``
                return False
    return all(isinstance(key, nodes.Const) and key.value not in {*RANKS, WORLD_SIZE} for key in keys)


def lengthy(node: nodes.NodeNG) -> bool:
    """Is it worth not to run it? Shorter functions of files that speak of torch are always followed."""
    return lines(node) > BUDGET.lengthy


def is_predicate(node: nodes.NodeNG) -> bool:
    """Is it so short that it is followed wherever it stands? Conditions are compared with each other."""
    return lines(node) <= BUDGET.predicate


def lines(node: nodes.NodeNG) -> float:
    """The lines of a function behind its docstring; more than any limit where it has a loop."""
    found: float | None = getattr(node, "fsdp2_lines", None)
    if found is None:
        loops = (nodes.For, nodes.While, nodes.ListComp, nodes.SetComp, nodes.GeneratorExp)
        looped = next(node.nodes_of_class(loops), None) is not None
        body = node.body if isinstance(node.body, list) else [node.body]  # of a lambda
        first = body[0].lineno if body else node.end_lineno + 1  # nothing but a docstring
        found = inf if looped else node.end_lineno - first + 1
        node.fsdp2_lines = found
    return found
