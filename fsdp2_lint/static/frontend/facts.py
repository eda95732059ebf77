"""What one file says by names alone: what it defines, and what each definition mentions and binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...vocab.declared import record
from .common_names import COMMON
from .mentions import (
    FUNCTIONS,
    Aliases,
    AnyFunction,
    Bound,
    Mentions,
    aliases,
    bound,
    computed,
    keeps,
    last,
    mentions,
    parameters,
    stored_in,
    walked,
)

SEED = "fully_shard"
Mark = tuple[str, int]  # a name, and the row where its definition begins, with its decorators
Imports = dict[str, list[tuple[str, int]]]  # name -> modules that it may be or come from, with the level of the import


@record
class Function:
    """A function, a method of a class of the top level (``owner``), or a module's own statements (no name).

    ``holder`` is the class that it stands in, without anything between the two. ``computed``: names that it asks for
    in parts, with a star for what is not written (``getattr(self, f"_wrap_{kind}")``). ``decorators``: the names in its
    decorators, which may put it into a table. ``keeps``: the names under which it stores what it is given.
    """

    name: str
    owner: str
    row: int
    holder: Mark | None
    mentions: Mentions
    bound: Bound
    computed: frozenset[str] = frozenset()
    decorators: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()


@record
class Class:
    """A class of the top level; ``bases`` are the last parts of their names, ``methods`` those of its own body.

    ``decorators``: the names in its decorators, as of a function.
    """

    name: str
    row: int
    bases: list[str]
    methods: list[Mark]
    decorators: frozenset[str] = frozenset()


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
    imports: Imports

    @property
    def at_once(self) -> frozenset[str]:
        """What is mentioned where the file is imported: by its own statements and above its definitions."""
        return self.functions[-1].mentions.all()

    @property
    def at_import(self) -> frozenset[str]:
        """Likewise, with what the functions mention that it calls by name meanwhile."""
        found, pending = self.at_once, list(self.functions[:-1])
        while called := [each for each in pending if not each.owner and each.name in found]:
            pending = [each for each in pending if each not in called]
            found = found.union(*(each.mentions.all() for each in called))
        return found

    def asks_for(self, name: str) -> bool:
        """Does its code ask any object but its own for an attribute of this name?"""
        return any(name in each.mentions.others for each in self.functions)

    def defines(self, name: str) -> bool:
        """At its top."""
        return any(each.name == name for each in self.classes) or any(each == name for each, _ in self.outer)


def sharding_methods(facts: Facts) -> frozenset[str]:
    """Methods that shard, by names that say which is meant."""
    functions = (each for each in facts.functions if each.owner and SEED in each.mentions)
    return frozenset(each.name for each in functions) - COMMON


def facts_of(tree: ast.Module) -> Facts:
    parts = [(node, walked(node)) for node in tree.body]
    whole = [part for _, inside in parts for part in inside]
    known = aliases(whole)
    classes = [_class(node, known) for node in tree.body if isinstance(node, ast.ClassDef)]
    outer = [mark(node) for node in tree.body if isinstance(node, FUNCTIONS)]
    imports = _imports(whole)
    functions = [*_functions(parts, known, frozenset(imports) | _names(parts))]
    speaks, acts = any(map(_speaks, whole)), any(map(_acts, tree.body))
    return Facts(speaks, acts, functions, classes, outer, _objects(tree), imports)


_IMPORTS = frozenset({ast.Import, ast.ImportFrom})
_NAMING = frozenset({*FUNCTIONS, ast.ClassDef, ast.Global, ast.Name})


def _imports(whole: Iterable[ast.AST]) -> Imports:
    """Anywhere in the file, also by the name that a thing has where it comes from."""
    found: Imports = {}
    for node in whole:
        if node.__class__ not in _IMPORTS:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name.split(".")[0], []).append((alias.name, 0))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            for alias in node.names:
                ways = [(base, node.level), (f"{base}.{alias.name}" if base else alias.name, node.level)]
                for name in {alias.name, alias.asname or alias.name}:
                    found.setdefault(name, []).extend(ways[:1] if name == "*" else ways)
    return found


def _names(parts: Iterable[tuple[ast.stmt, list[ast.AST]]]) -> frozenset[str]:
    """Definitions and globals anywhere in a file, and what is assigned at its top or that of a class."""
    found: set[str] = set()
    for statement, inside in parts:
        plain = not isinstance(statement, (*FUNCTIONS, ast.ClassDef))
        for node in inside:
            if node.__class__ not in _NAMING:
                continue
            if isinstance(node, FUNCTIONS):
                found.add(node.name)
            elif isinstance(node, ast.ClassDef):
                own = [target for each in node.body if isinstance(each, ast.Assign) for target in each.targets]
                found |= {node.name, *map(last, own)}
            elif isinstance(node, ast.Global):
                found |= {*node.names}
            elif plain and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return frozenset(found)


def _objects(tree: ast.Module) -> dict[str, str]:
    """``MODELS = Registry("models")``: the name, and that of the class."""
    pairs = [(target, node.value) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    pairs += [each for target, value in pairs for each in zip(_parts(target), _parts(value))]
    return {last(target): last(value.func) for target, value in pairs if isinstance(value, ast.Call) and last(target)}


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


def mark(node: AnyFunction) -> Mark:
    return node.name, node.decorator_list[0].lineno if node.decorator_list else node.lineno


def _class(node: ast.ClassDef, known: Aliases) -> Class:
    methods = [mark(child) for child in node.body if isinstance(child, FUNCTIONS)]
    return Class(node.name, node.lineno, [last(base) for base in node.bases], methods, _decorators(node, known))


def _functions(
    parts: Iterable[tuple[ast.stmt, list[ast.AST]]], known: Aliases, names: frozenset[str]
) -> Iterator[Function]:
    own: set[str] = set()
    others: set[str] = set()
    whole: list[ast.AST] = []
    for node, inside in parts:
        whole += _outside(node)
        if isinstance(node, FUNCTIONS):
            yield _function(node, inside, known, names)
            own |= _named(node, known)
        elif isinstance(node, ast.ClassDef):
            own |= _named(node, known)
            yield from _methods(node, inside, known, names)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            if isinstance(node, (ast.If, ast.Try)):
                holders = _holders(inside)
                for child in inside:
                    if isinstance(child, FUNCTIONS):
                        yield _function(child, walked(child), known, names, holder=holders.get(child))
            said = mentions(inside, known)
            own |= said.bare
            others |= said.others
    said = Mentions(frozenset(own), frozenset(others))
    yield Function("", "", 1, None, said, bound(whole, names, stored_in(whole, names)), computed(whole))


def _outside(tree: ast.AST) -> list[ast.AST]:
    """What of a statement runs where it stands: all but the code of functions."""
    found, queue = list[ast.AST](), [tree]
    while queue:
        node = queue.pop()
        found.append(node)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            queue += ast.iter_child_nodes(node)
    return found


def _function(
    node: AnyFunction,
    code: list[ast.AST],
    known: Aliases,
    names: frozenset[str],
    *,
    owner: str = "",
    holder: Mark | None = None,
    receiver: str = "",
    above: frozenset[str] = frozenset(),
) -> Function:
    name, row = mark(node)
    given, stored = parameters(code), stored_in(code, names)
    return Function(
        name,
        owner,
        row,
        holder,
        mentions(code, known, receiver),
        bound(code, names - given, stored),
        computed(code),
        above | _decorators(node, known),
        keeps(given, stored),
    )


def _methods(node: ast.ClassDef, inside: list[ast.AST], known: Aliases, names: frozenset[str]) -> Iterator[Function]:
    """All functions in a class, also those inside of its methods."""
    holders, above = _holders(inside), _decorators(node, known)
    codes = {each: walked(each) for each in node.body if isinstance(each, FUNCTIONS)}
    receivers = {part: _receiver(each) for each, code in codes.items() for part in code if isinstance(part, FUNCTIONS)}
    for child in inside:
        if isinstance(child, FUNCTIONS):
            told = {"owner": node.name, "receiver": receivers.get(child, "")}
            code = codes.get(child) or walked(child)
            yield _function(child, code, known, names, holder=holders.get(child), above=above, **told)


def _receiver(method: AnyFunction) -> str:
    """What a method calls its own object."""
    given = [*method.args.posonlyargs, *method.args.args]
    return given[0].arg if given else ""


def _named(node: AnyFunction | ast.ClassDef, known: Aliases) -> frozenset[str]:
    """All names in its decorators."""
    return frozenset(name for decorator in node.decorator_list for name in mentions(walked(decorator), known).all())


def _decorators(node: AnyFunction | ast.ClassDef, known: Aliases) -> frozenset[str]:
    """The names of its decorators themselves: ``registry``, ``TABLE`` and ``add`` in ``@registry.add(TABLE, x=3)``."""
    found: set[str] = set()
    for decorator in node.decorator_list:
        called, given = decorator, list[ast.expr]()
        if isinstance(decorator, ast.Call):
            called, given = decorator.func, [each for each in decorator.args if isinstance(each, ast.Name)]
        for part in (*walked(called), *given):
            found |= mentions([part], known).all()
    return frozenset(found)


def _holders(code: Iterable[ast.AST]) -> dict[ast.AST, Mark]:
    return {child: (node.name, node.lineno) for node in code if isinstance(node, ast.ClassDef) for child in node.body}


def _speaks(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == SEED
    if isinstance(node, ast.Attribute):
        return node.attr == SEED
    return isinstance(node, ast.alias) and (node.name.split(".")[-1] == SEED or node.asname == SEED)


def _holds_more(node: ast.stmt) -> bool:
    return isinstance(node, (ast.If, ast.Try))


def _acts(node: ast.stmt) -> bool:
    """Does a statement of the top level do something: a main guard, a loop, or a call?

    A call under another condition is what modules do for some surroundings.
    """
    if isinstance(node, ast.If):
        guard = any(isinstance(at, ast.Name) and at.id == "__name__" for at in walked(node.test))
        inside = [*node.body, *node.orelse]
        return guard or any(map(_acts, inside if isinstance(node.test, ast.Constant) else filter(_holds_more, inside)))
    if isinstance(node, ast.Try):
        return any(map(_acts, (*node.body, *node.orelse, *node.finalbody)))
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
