"""What code names, and where it puts functions, as far as names tell: one walk over plain syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...vocab.declared import record

Bound = dict[
    str, frozenset[str]
]  # name, with a dot if it is an attribute -> keywords and names that it is stored under
Aliases = dict[str, set[str]]  # name -> what it stands for
Stored = list[tuple[ast.AST, set[str]]]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@record
class Mentions:
    """``bare`` names, attributes of its ``own`` object (``self``), of ``super()`` (``above``), and of ``others``.

    ``typed`` are the names of classes that it only compares with: annotations, and what ``isinstance`` asks for.
    """

    bare: frozenset[str]
    others: frozenset[str]
    own: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        return name in self.bare or name in self.others or name in self.own or name in self.above

    def all(self) -> frozenset[str]:
        return self.bare | self.others | self.own | self.above


def mentions(code: Iterable[ast.AST], aliases: Aliases, receiver: str = "") -> Mentions:
    """For an alias also what it stands for. ``receiver`` is what a method calls its own object."""
    bare: set[str] = set()
    others: set[str] = set()
    own: set[str] = set()
    above: set[str] = set()
    typed: set[str] = set()
    types: set[ast.AST] = set()
    for node in code:
        kind = node.__class__
        if kind is ast.Name:
            (typed if node in types else bare).add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            of: ast.expr = node.value  # type: ignore[attr-defined]
            if node in types:
                found = typed
            elif of.__class__ is ast.Name:
                found = own if of.id == receiver else others
            else:
                found = above if isinstance(of, ast.Call) and last(of.func) == "super" else others
            found.add(node.attr)  # type: ignore[attr-defined]
        elif kind in _TYPED:
            types.update(_types(node))
    for name in bare & aliases.keys():
        bare |= aliases[name]
    for name in typed & aliases.keys():
        typed |= aliases[name]
    return Mentions(frozenset(bare), frozenset(others), frozenset(own), frozenset(above), frozenset(typed))


def _types(node: ast.AST) -> list[ast.AST]:
    """What a node has of expressions that tell a type, whole."""
    if isinstance(node, (ast.arg, ast.AnnAssign)):
        return _whole(node.annotation)
    if isinstance(node, FUNCTIONS):
        return _whole(node.returns)
    if isinstance(node, ast.Call) and last(node.func) in _COMPARES:
        return _whole(node.args[-1]) if node.args else []
    return []


_TYPED = frozenset({ast.arg, ast.AnnAssign, ast.Call, *FUNCTIONS})
_COMPARES = frozenset({"isinstance", "issubclass"})


def _whole(node: ast.expr | None) -> list[ast.AST]:
    return walked(node) if node is not None else []


def aliases(code: Iterable[ast.AST]) -> Aliases:
    """``from util import shard as apply``, anywhere in the file."""
    found: Aliases = {}
    for node in code:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname and alias.asname != alias.name:
                    found.setdefault(alias.asname, set()).add(alias.name.split(".")[-1])
    return found


_BINDING = frozenset({ast.keyword, ast.Call, ast.Assign, ast.AnnAssign})
_COLLECTS = frozenset("dict list tuple set frozenset OrderedDict MappingProxyType".split())
_TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_PUTS = frozenset({"append", "add", "setdefault", "insert", "appendleft"})


def bound(code: list[ast.AST], names: frozenset[str], stored: Stored) -> Bound:
    """Function values that travel: ``spec(fn=apply)``, ``self.fn = apply``, ``TABLE["x"] = apply``, ``ALL.add(apply)``.

    So do names that other files import from this one: ``from .trainer import Trainer as DistillationTrainer``. What is
    none of the ``names`` of the file is a variable: as a value it is no function, and nobody else sees what it holds.
    """
    found: dict[str, set[str]] = {}
    for node, under in stored:
        if isinstance(node, ast.Attribute):
            found.setdefault(f".{node.attr}", set()).update(under)
        elif isinstance(node, ast.Name) and node.id in names:
            found.setdefault(node.id, set()).update(under)
    for node in code:
        if node.__class__ is ast.ImportFrom:
            for alias in node.names:
                if alias.asname:
                    found.setdefault(alias.name, set()).add(alias.asname)
    return {name: frozenset(others) for name, others in found.items()}


def parameters(code: Iterable[ast.AST]) -> frozenset[str]:
    """Of all functions in it."""
    return frozenset(node.arg for node in code if node.__class__ is ast.arg)


def keeps(given: frozenset[str], stored: Stored) -> frozenset[str]:
    """The names under which a function stores what it is ``given``."""
    return frozenset(
        name for each, under in stored if isinstance(each, ast.Name) and each.id in given for name in under
    )


def stored_in(code: Iterable[ast.AST], names: frozenset[str]) -> Stored:
    """What is put somewhere, and the names under which others find it."""
    return list(_stored(code, names))


def _stored(code: Iterable[ast.AST], names: frozenset[str]) -> Iterator[tuple[ast.AST, set[str]]]:
    for node in code:
        if node.__class__ not in _BINDING:
            continue
        if isinstance(node, ast.keyword) and node.arg:
            yield node.value, {node.arg}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PUTS:
            yield from ((put, {last(node.func.value)}) for put in node.args)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            under = {last(each) for each in targets if not isinstance(each, ast.Name) or each.id in names} - {""}
            several = walked(node.value) if under and _holds_several(node.value) else [node.value]
            yield from ((value, under) for value in several if under)


def _holds_several(value: ast.AST) -> bool:
    """A table, written out or made of others: ``{each.name: each for each in (A, B)}``, ``dict(a=A)``."""
    if isinstance(value, ast.Call):
        return last(value.func) in _COLLECTS
    return isinstance(value, _TABLES)


_ASKING = frozenset({"getattr", "globals", "vars", "locals", "methodcaller", "attrgetter"})
_TELLING = 3  # letters; with fewer, a name that is known in part may be any


def computed(code: list[ast.AST]) -> frozenset[str]:
    """Texts that may be names, as far as they are written, in code that asks for something by its name."""
    if not any(node.__class__ is ast.Name and node.id in _ASKING for node in code):
        return frozenset()
    texts = [node for node in code if isinstance(node, (ast.JoinedStr, ast.BinOp))]
    found = {_spelled(node) for node in [*texts, *_names_given(code)]}
    return frozenset(each for each in found if len(name := each.replace("*", "")) >= _TELLING and name.isidentifier())


def _names_given(code: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """``getattr(module, "name")``, ``globals()["name"]``: what is written between the quotes."""
    for node in code:
        if isinstance(node, ast.Call) and last(node.func) == "getattr":
            yield from (each for each in node.args[1:2] if isinstance(each, ast.Constant))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            yield from [node.slice] if isinstance(node.slice, ast.Constant) else []


def _spelled(node: ast.AST) -> str:
    """A text as far as it is written, with a star for the rest."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "*"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_spelled, node.values))
    added = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    return _spelled(node.left) + _spelled(node.right) if isinstance(node, ast.BinOp) and added else "*"


# Parts of nodes that hold texts, numbers or operators: most of what there is, and nothing that is asked for here.
_PLAIN = frozenset("arg asname attr conversion ctx id is_async kind level module op ops simple type_comment".split())
_PARTS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: (), ast.Name: (), ast.alias: (), ast.Global: ()}


def _parts_of(kind: type[ast.AST]) -> tuple[str, ...]:
    found = _PARTS[kind] = tuple(each for each in kind._fields if each not in _PLAIN)
    return found


def walked(tree: ast.AST) -> list[ast.AST]:
    """``ast.walk``, which is expensive: a node and all below it but operators and contexts, outer ones first."""
    found = [tree]
    add = found.append
    for node in found:
        kind = node.__class__
        parts = _PARTS.get(kind)
        for name in _parts_of(kind) if parts is None else parts:
            value = getattr(node, name)
            if value.__class__ is list:
                for each in value:
                    if isinstance(each, ast.AST):
                        add(each)
            elif value is not None and isinstance(value, ast.AST):
                add(value)
    return found


def last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return last(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
