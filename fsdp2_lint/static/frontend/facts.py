"""What one file says by names alone: what it defines, and what each definition mentions and binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...vocab.declared import record

SEED = "fully_shard"
Bound = dict[str, frozenset[str]]  # name -> keywords and names that it is stored under
Aliases = dict[str, set[str]]  # name -> what it stands for
Mark = tuple[str, int]  # a name, and the row where its definition begins, with its decorators


@record
class Function:
    """A function, a method of a class of the top level (``owner``), or a module's own statements (no name).

    ``holder`` is the class that it stands in, without anything between the two. ``computed``: names that it asks for
    in parts, with a star for what is not written (``getattr(self, f"_wrap_{kind}")``). ``decorators``: the names in its
    decorators, which may put it into a table.
    """

    name: str
    owner: str
    row: int
    holder: Mark | None
    mentions: frozenset[str]
    bound: Bound
    computed: frozenset[str] = frozenset()
    decorators: frozenset[str] = frozenset()


@record
class Class:
    """A class of the top level; ``bases`` are the last parts of their names, ``methods`` those of its own body."""

    name: str
    row: int
    bases: list[str]
    methods: list[Mark]


@record
class Facts:
    """``speaks``: its code names ``fully_shard``. ``script``: to run the file does something. ``outer``: functions of
    the top level. ``objects``: names of the top level that a call makes, and what is called."""

    speaks: bool
    script: bool
    functions: list[Function]
    classes: list[Class]
    outer: list[Mark]
    objects: dict[str, str]

    @property
    def at_once(self) -> frozenset[str]:
        """What is mentioned where the file is imported: by its own statements and above its definitions."""
        return self.functions[-1].mentions


def facts_of(tree: ast.Module) -> Facts:
    parts = [(node, walked(node)) for node in tree.body]
    whole = [part for _, inside in parts for part in inside]
    classes = [_class(node) for node in tree.body if isinstance(node, ast.ClassDef)]
    outer = [mark(node) for node in tree.body if isinstance(node, FUNCTIONS)]
    functions = [*_functions(parts, _aliases(whole))]
    return Facts(any(map(_speaks, whole)), any(map(_acts, tree.body)), functions, classes, outer, _objects(tree))


def _objects(tree: ast.Module) -> dict[str, str]:
    """``MODELS = Registry("models")``: the name, and that of the class."""
    pairs = [(target, node.value) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    pairs += [each for target, value in pairs for each in zip(_parts(target), _parts(value))]
    return {
        _last(target): _last(value.func) for target, value in pairs if isinstance(value, ast.Call) and _last(target)
    }


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def mark(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Mark:
    return node.name, node.decorator_list[0].lineno if node.decorator_list else node.lineno


def _class(node: ast.ClassDef) -> Class:
    methods = [mark(child) for child in node.body if isinstance(child, FUNCTIONS)]
    return Class(node.name, node.lineno, [_last(base) for base in node.bases], methods)


def _functions(parts: Iterable[tuple[ast.stmt, list[ast.AST]]], aliases: Aliases) -> Iterator[Function]:
    own: set[str] = set()
    whole: list[ast.AST] = []
    for node, inside in parts:
        whole += inside
        if isinstance(node, FUNCTIONS):
            above = _decorators(node, aliases)
            yield Function(*_placed(node), None, _names(inside, aliases), _bound(inside), _computed(inside), above)
            own |= above
        elif isinstance(node, ast.ClassDef):
            own |= _decorators(node, aliases)
            yield from _methods(node, inside, aliases)
        elif isinstance(node, (ast.If, ast.Try)):
            holders = _holders(inside)
            for child in inside:
                if isinstance(child, FUNCTIONS):
                    yield Function(*_placed(child), holders.get(child), _names(walked(child), aliases), {})
            own |= _names(inside, aliases)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            own |= _names(inside, aliases)
    yield Function("", "", 1, None, frozenset(own), _bound(whole), _computed(whole))


def _methods(node: ast.ClassDef, inside: list[ast.AST], aliases: Aliases) -> Iterator[Function]:
    """All functions in a class, also those inside of its methods."""
    holders, above = _holders(inside), _decorators(node, aliases)
    for child in inside:
        if isinstance(child, FUNCTIONS):
            code, placed = walked(child), _placed(child, node.name)
            yield Function(
                *placed, holders.get(child), _names(code, aliases), _bound(code), _computed(code),
                above | _decorators(child, aliases),
            )  # fmt: skip


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, aliases: Aliases) -> frozenset[str]:
    return frozenset(name for decorator in node.decorator_list for name in _names(walked(decorator), aliases))


_ASKING = frozenset({"getattr", "globals", "vars", "locals", "methodcaller", "attrgetter"})
_TELLING = 3  # letters; with fewer, a name that is known in part may be any


def _computed(code: list[ast.AST]) -> frozenset[str]:
    """Texts that may be names, as far as they are written, in code that asks for something by its name."""
    if not any(node.__class__ is ast.Name and node.id in _ASKING for node in code):
        return frozenset()
    texts = [node for node in code if isinstance(node, (ast.JoinedStr, ast.BinOp))]
    found = {_spelled(node) for node in [*texts, *_names_given(code)]}
    return frozenset(each for each in found if len(name := each.replace("*", "")) >= _TELLING and name.isidentifier())


def _names_given(code: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """``getattr(module, "name")``, ``globals()["name"]``: what is written between the quotes."""
    for node in code:
        if isinstance(node, ast.Call) and _last(node.func) == "getattr":
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


def _placed(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str = "") -> tuple[str, str, int]:
    name, row = mark(node)
    return name, owner, row


def _holders(code: Iterable[ast.AST]) -> dict[ast.AST, Mark]:
    return {child: (node.name, node.lineno) for node in code if isinstance(node, ast.ClassDef) for child in node.body}


def _speaks(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == SEED
    if isinstance(node, ast.Attribute):
        return node.attr == SEED
    return isinstance(node, ast.alias) and (node.name.split(".")[-1] == SEED or node.asname == SEED)


def _acts(node: ast.stmt) -> bool:
    """Does a statement of the top level do something: a main guard, a loop, or a call?"""
    if isinstance(node, ast.If) and any(isinstance(at, ast.Name) and at.id == "__name__" for at in walked(node.test)):
        return True
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


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


_BINDING = frozenset({ast.ImportFrom, ast.keyword, ast.Call, ast.Assign, ast.AnnAssign})
_COLLECTS = frozenset("dict list tuple set frozenset OrderedDict MappingProxyType".split())
_TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_PUTS = frozenset({"append", "add", "setdefault", "insert", "appendleft"})


def _bound(code: Iterable[ast.AST]) -> Bound:
    """Function values that travel: ``spec(fn=apply)``, ``self.fn = apply``, ``TABLE["x"] = apply``, ``ALL.add(apply)``.

    So do names that other files import from this one: ``from .trainer import Trainer as DistillationTrainer``.
    """
    found: dict[str, set[str]] = {}
    for node in code:
        if node.__class__ not in _BINDING:
            continue
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname:
                    found.setdefault(alias.name, set()).add(alias.asname)
        elif isinstance(node, ast.keyword) and node.arg and isinstance(node.value, (ast.Name, ast.Attribute)):
            found.setdefault(_last(node.value), set()).add(node.arg)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PUTS:
            for put in node.args:
                found.setdefault(_last(put), set()).add(_last(node.func.value))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {_last(target) for target in targets} - {""}
            for value in walked(node.value) if _holds_several(node.value) else [node.value]:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    found.setdefault(_last(value), set()).update(names)
    return {name: frozenset(others) for name, others in found.items()}


def _holds_several(value: ast.AST) -> bool:
    """A table, written out or made of others: ``{each.name: each for each in (A, B)}``, ``dict(a=A)``."""
    if isinstance(value, ast.Call):
        return _last(value.func) in _COLLECTS
    return isinstance(value, _TABLES)


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names(code: Iterable[ast.AST], aliases: Aliases) -> frozenset[str]:
    """Names and attributes that code mentions; for an alias also what it stands for."""
    found: set[str] = set()
    for node in code:
        kind = node.__class__
        if kind is ast.Name:
            found.add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            found.add(node.attr)  # type: ignore[attr-defined]
    for name in found & aliases.keys():
        found = found | aliases[name]
    return frozenset(found)


def _aliases(code: Iterable[ast.AST]) -> Aliases:
    """``from util import shard as apply``, anywhere in the file."""
    found: Aliases = {}
    for node in code:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname and alias.asname != alias.name:
                    found.setdefault(alias.asname, set()).add(alias.name.split(".")[-1])
    return found
