"""Programs that nobody writes: real ones, with syntax trees changed at random. All are text that Python can parse."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from functools import cache
from random import Random

from tests.locks.oddities import BASES, DECORATORS, EXPRESSIONS, HUGE, MARK, SHAPES, SPECIAL, WORDS
from tests.locks.programs import Program, examples, pages, projects

Trees = dict[str, ast.Module]
Block = list[ast.stmt]
MOST = 6  # edits in one program


def mutant(seed: int) -> Program | None:
    """A changed program; None where the edits made no text that can be parsed."""
    chance = Random(seed)
    program = chance.choice(bases())
    trees = {file: ast.parse(text) for file, text in program.files.items() if file.endswith(".py")}
    for _ in range(chance.randint(1, MOST)):
        chance.choice(EDITS)(trees, chance)
    try:
        texts = {file: written(tree) for file, tree in trees.items()}
    except (ValueError, RecursionError, AttributeError, TypeError):  # what ast.unparse() does not write
        return None
    return program.with_files({**program.files, **texts}, f" mutant {seed}") if _parses(texts) else None


@cache
def bases() -> tuple[Program, ...]:
    return (*pages(), *examples(), *projects())


def written(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)).replace(MARK, HUGE) + "\n"


def _parses(texts: dict[str, str]) -> bool:
    try:
        return all(ast.parse(text.encode("utf-8", "surrogatepass")) for text in texts.values())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


# --- edits ---


def _blocks(trees: Trees) -> list[Block]:
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    found = [getattr(node, name, None) for node in nodes for name in ("body", "orelse", "finalbody")]
    return [block for block in found if isinstance(block, list) and block]


def _at(trees: Trees, chance: Random) -> tuple[Block, int]:
    block = chance.choice(_blocks(trees))
    return block, chance.randrange(len(block))


def delete(trees: Trees, chance: Random) -> None:
    block, at = _at(trees, chance)
    block[at : at + 1] = [] if len(block) > 1 else [ast.Pass()]


def double(trees: Trees, chance: Random) -> None:
    block, at = _at(trees, chance)
    block.insert(chance.randint(0, len(block)), copy.deepcopy(block[at]))


def swap(trees: Trees, chance: Random) -> None:
    block, at = _at(trees, chance)
    to = chance.randrange(len(block))
    block[at], block[to] = block[to], block[at]


def move(trees: Trees, chance: Random) -> None:
    """A statement, whole functions and classes too, into any other block."""
    block, at = _at(trees, chance)
    taken = copy.deepcopy(block[at])
    delete_here = chance.random() < 0.5 and len(block) > 1
    if delete_here:
        del block[at]
    other, to = _at(trees, chance)
    other.insert(to, taken)


def shape(trees: Trees, chance: Random) -> None:
    """A statement, or a few, inside another one."""
    block, at = _at(trees, chance)
    until = chance.randint(at + 1, min(len(block), at + 4))
    new = ast.parse(chance.choice(SHAPES).replace("S", "STATEMENT")).body
    for each in new:
        _fill(each, block[at:until], chance)
    block[at:until] = new


def _fill(node: ast.AST, part: Block, chance: Random) -> None:
    """Statements that are only a mark become the given ones, marks inside expressions one of their expressions."""
    inner = [each for one in part for each in ast.walk(one) if isinstance(each, ast.expr)] or [ast.Constant(0)]
    loads = [each for each in inner if isinstance(getattr(each, "ctx", ast.Load()), ast.Load)] or [ast.Constant(0)]
    for parent in list(ast.walk(node)):
        for name, value in list(ast.iter_fields(parent)):
            if isinstance(value, list):
                value[:] = [new for each in value for new in (copy.deepcopy(part) if _is_mark(each) else [each])]
            elif isinstance(value, ast.Name) and value.id == "STATEMENT":
                setattr(parent, name, copy.deepcopy(chance.choice(loads)))


def _is_mark(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == "STATEMENT"


def _expressions(trees: Trees) -> list[tuple[ast.AST, str, int | None]]:
    """Where an expression that is read stands: its parent, the field, the place in a list."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            for at, each in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(each, ast.expr) and isinstance(getattr(each, "ctx", ast.Load()), ast.Load):
                    found.append((node, name, at if isinstance(value, list) else None))
    return found


def _change(trees: Trees, chance: Random, change: Callable[[ast.expr], ast.expr]) -> None:
    places = _expressions(trees)
    if not places:
        return
    parent, name, at = chance.choice(places)
    old = getattr(parent, name) if at is None else getattr(parent, name)[at]
    if at is None:
        setattr(parent, name, change(old))
    else:
        getattr(parent, name)[at] = change(old)


def odd(trees: Trees, chance: Random) -> None:
    """An expression becomes a strange one, about a name that is there."""
    names = sorted({node.id for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Name)})
    text = chance.choice(WORDS)

    def strange(old: ast.expr) -> ast.expr:
        new = ast.parse(text, mode="eval").body
        for each in ast.walk(new):
            if isinstance(each, ast.Name) and each.id in ("x", "y"):
                each.id = chance.choice(names or ["x"])
        return new

    _change(trees, chance, strange)


def wrap(trees: Trees, chance: Random) -> None:
    text = chance.choice(EXPRESSIONS)

    class Put(ast.NodeTransformer):
        def __init__(self, old: ast.expr) -> None:
            self.old = old

        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(self.old) if node.id == "E" else node

    _change(trees, chance, lambda old: Put(old).visit(ast.parse(text, mode="eval").body))


def other(trees: Trees, chance: Random) -> None:
    """An expression becomes another one of the program."""
    places = _expressions(trees)
    parent, name, at = chance.choice(places)
    taken = getattr(parent, name) if at is None else getattr(parent, name)[at]
    _change(trees, chance, lambda old: copy.deepcopy(taken))


def deep(trees: Trees, chance: Random) -> None:
    """An expression inside many brackets, attributes, operators or calls."""
    times, kind = (
        chance.choice([20, 60, 150]),
        chance.choice(["list", "attribute", "call", "operator", "lambda", "not"]),
    )

    def nest(old: ast.expr) -> ast.expr:
        for _ in range(times):
            old = {
                "list": lambda e: ast.List([e], ast.Load()),
                "attribute": lambda e: ast.Attribute(e, "it", ast.Load()),
                "call": lambda e: ast.Call(e, [], []),
                "operator": lambda e: ast.BinOp(e, ast.Add(), ast.Constant(1)),
                "lambda": lambda e: ast.Lambda(ast.arguments([], [], None, [], [], None, []), e),
                "not": lambda e: ast.UnaryOp(ast.Not(), e),
            }[kind](old)
        return old

    _change(trees, chance, nest)


def rename(trees: Trees, chance: Random) -> None:
    """A name, an attribute or a keyword becomes another one of the program."""
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    for kind, field in chance.sample(
        [(ast.Name, "id"), (ast.Attribute, "attr"), (ast.keyword, "arg"), (ast.arg, "arg")], 4
    ):
        named = [node for node in nodes if isinstance(node, kind) and getattr(node, field)]
        if named:
            setattr(chance.choice(named), field, getattr(chance.choice(named), field))
            return


def decorate(trees: Trees, chance: Random) -> None:
    nodes = [
        node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    if nodes:
        decorator = ast.parse(chance.choice(DECORATORS), mode="eval").body
        chance.choice(nodes).decorator_list.insert(0, decorator)


def special(trees: Trees, chance: Random) -> None:
    """A method becomes one that Python calls by itself, or has a base or a signature that it should not have."""
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    if classes and chance.random() < 0.4:
        base = ast.parse(f"f({chance.choice([*BASES, *(each.name for each in classes)])})", mode="eval").body
        chance.choice(classes).bases[:] = base.args  # type: ignore[attr-defined]
    elif functions and chance.random() < 0.7:
        chance.choice(functions).name = chance.choice(SPECIAL)
    elif functions:
        chance.choice(functions).args = ast.parse("def f(a, /, b=f, *c, d=f, **e): pass").body[0].args  # type: ignore[attr-defined]


def star(trees: Trees, chance: Random) -> None:
    """The arguments of a call come out of lists and dicts."""
    calls = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        return
    call = chance.choice(calls)
    if chance.random() < 0.5:
        call.args[:] = [ast.Starred(ast.List([*call.args], ast.Load()), ast.Load())]
    else:
        keys: list[ast.expr | None] = [ast.Constant(each.arg) if each.arg else None for each in call.keywords]
        call.keywords[:] = [ast.keyword(None, ast.Dict(keys, [each.value for each in call.keywords]))]


def blocks_to_async(trees: Trees, chance: Random) -> None:
    """A function becomes a coroutine: whoever calls it gets one."""
    for tree in trees.values():
        for node in ast.walk(tree):
            for _, value in ast.iter_fields(node):
                for at, each in enumerate(value if isinstance(value, list) else ()):
                    if isinstance(each, ast.FunctionDef) and chance.random() < 0.2:
                        value[at] = ast.AsyncFunctionDef(**{field: getattr(each, field) for field in each._fields})


EDITS: tuple[Callable[[Trees, Random], None], ...] = (
    delete, double, swap, move, shape, shape, shape, odd, odd, odd, wrap, wrap, wrap, other, other, deep,
    rename, rename, decorate, special, star, blocks_to_async,
)  # fmt: skip
