"""Edits that change nothing of what a program does. Each picks its place by chance and says whether there was one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from random import Random

from tests.locks.scopes import bound, fresh, local, names
from tests.locks.trees import NOWHERE, Trees, made, statements

Edit = Callable[[Trees, Random], bool]
Block = list[ast.stmt]
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert)
_COMPOUND = (ast.For, ast.If, ast.With, ast.Try)


def blocks(given: Trees) -> Iterator[tuple[ast.Module, Block]]:
    """Bodies of functions and of compound statements, and of modules; not of classes."""
    for tree in given.files.values():
        for node in ast.walk(tree):
            for name in ("body", "orelse", "finalbody") if not isinstance(node, ast.ClassDef) else ():
                if isinstance(block := getattr(node, name, None), list) and block:
                    yield tree, block


def _movable(block: Block) -> list[int]:
    """Statements that may stand inside another one: no definitions, imports, docstrings."""
    return [at for at, each in enumerate(block) if isinstance(each, (*_SIMPLE, *_COMPOUND)) and not is_text(each)]


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _pick(given: Trees, chance: Random) -> tuple[ast.Module, Block, int] | None:
    found = [(tree, block, at) for tree, block in blocks(given) for at in _movable(block)]
    return chance.choice(found) if found else None


def _inside(make: Callable[[Block], ast.stmt], needs: str = "") -> Edit:
    """Some statements of a block, or one, inside a new statement."""

    def edit(given: Trees, chance: Random) -> bool:
        picked = _pick(given, chance)
        if picked is None:
            return False
        tree, block, at = picked
        until = chance.randint(at, len(block) - 1)
        until = next((each for each in range(at, until) if each + 1 not in _movable(block)), until)
        part = block[at : until + 1]
        block[at : until + 1] = [made(make(part), *part)]
        if needs:
            _import(tree, needs)
        return True

    return edit


def _import(tree: ast.Module, name: str) -> None:
    at = next((at for at, each in enumerate(tree.body) if not is_first(each)), len(tree.body))
    tree.body.insert(at, made(ast.Import([ast.alias(name)])))


def is_first(node: ast.stmt) -> bool:
    return is_text(node) or isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _nullcontext(part: Block) -> ast.stmt:
    context = ast.parse("contextlib.nullcontext()", mode="eval").body
    return ast.With([ast.withitem(context)], part)


in_finally = _inside(lambda part: ast.Try(part, [], [], [ast.Pass()]))
in_nullcontext = _inside(_nullcontext, "contextlib")
in_if_true = _inside(lambda part: ast.If(ast.Constant(True), part, []))


def dead_code(given: Trees, chance: Random) -> bool:
    """A statement once more before itself, where it is never run. Nothing may be reported in it."""
    picked = _pick(given, chance)
    if picked is None:
        return False
    _, block, at = picked
    copied = copy.deepcopy(block[at])
    for each in statements(copied):
        each.origins = NOWHERE  # type: ignore[attr-defined]
    block.insert(at, made(ast.If(ast.Constant(False), [copied], [])))
    return True


def other_order_of_imports(given: Trees, chance: Random) -> bool:
    """Neighbouring imports in reverse; those of the future stay first."""
    changed = False
    for tree in given.files.values():
        at = [at for at, each in enumerate(tree.body) if isinstance(each, (ast.Import, ast.ImportFrom))]
        at = [each for each in at if not is_first(tree.body[each])]
        run = [each for number, each in enumerate(at) if each == at[0] + number]
        for here, there in zip(run, reversed([tree.body[each] for each in run])):
            tree.body[here] = there
        changed |= len(run) > 1
    return changed


def aliases(given: Trees, chance: Random) -> bool:
    """Everything that one file imports, under other names: what others import from this file keeps its name."""
    file = chance.choice(sorted(given.files))
    tree = given.files[file]
    exported = {each.name for other in given.files.values() for each in _imported_names(other)}
    rebound = [
        name for node in statements(tree) if not isinstance(node, (ast.Import, ast.ImportFrom)) for name in _own(node)
    ]
    renamed = {}
    for node in tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or is_first(node):
            continue
        for each in node.names:
            name = each.asname or each.name
            if "." not in name and name != "*" and name not in exported and name not in rebound:
                renamed[name] = each.asname = fresh(f"{name}_as", names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in renamed:
            node.id = renamed[node.id]
    return bool(renamed)


def _own(node: ast.stmt) -> set[str]:
    """What a statement itself binds, parameters included."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {node.name} | local(node)
    return bound(node)


def _imported_names(tree: ast.Module) -> Iterator[ast.alias]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from node.names


def temporaries(given: Trees, chance: Random) -> bool:
    """Results of inner calls get names first, in the order in which they are made, in a whole function."""
    found = [(tree, block) for tree, block in blocks(given) if any(_hoists(each) for each in block)]
    if not found:
        return False
    tree, block = chance.choice(found)
    taken = names(tree)
    for at in reversed(range(len(block))):
        if field := _hoists(block[at]):
            before: Block = []
            value = getattr(block[at], field)
            _hoist_inner(value, before, taken)
            block[at:at] = [made(each, block[at]) for each in before]
    return True


def _hoists(node: ast.stmt) -> str:
    """The field of a statement whose inner calls can be made before it; "" if there is none."""
    fields = {ast.Expr: "value", ast.Assign: "value", ast.Return: "value", ast.For: "iter", ast.If: "test"}
    value = getattr(node, name := fields.get(type(node), ""), None) if type(node) in fields else None
    if value is None or not any(isinstance(each, ast.Call) for each in _before(value)):
        return ""
    return (
        ""
        if any(isinstance(each, (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)) for each in ast.walk(value))
        else name
    )


def _before(node: ast.expr) -> list[ast.expr]:
    """What is evaluated first, once and for certain, in this order. Where that is not simple: nothing."""
    if isinstance(node, ast.Call):
        return [
            node.func,
            *(each.value if isinstance(each, ast.Starred) else each for each in node.args),
            *(each.value for each in node.keywords),
        ]
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return [node.value]
    return []


def _hoist_inner(node: ast.expr, before: Block, taken: set[str]) -> None:
    """The calls among the operands of an expression, and theirs before them."""
    for child in _before(node):
        _hoist_inner(child, before, taken)
    for child in _before(node):
        if isinstance(child, ast.Call) and not _is_super(child):
            name = fresh("made", taken)
            taken.add(name)
            before.append(ast.Assign([ast.Name(name, ast.Store())], child))
            _replace(node, child, ast.Name(name, ast.Load()))


def _is_super(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def _replace(parent: ast.expr, old: ast.expr, new: ast.expr) -> None:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else super().visit(node)

    Swap().visit(parent)
