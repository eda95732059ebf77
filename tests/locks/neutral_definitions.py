"""Edits of functions and files that change nothing of what a program does: extract, inline, split, ``def main()``."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator
from random import Random

from tests.locks.neutral import Block, is_first, is_text
from tests.locks.scopes import Function, bound, fresh, leaves, local, names, parameters, read
from tests.locks.trees import Trees, made, origins, statements

SECOND_FILE = "moved_parts"


def extract(given: Trees, chance: Random) -> bool:
    """One statement of a function becomes a function of its own, with what it reads as parameters."""
    found = [(tree, *case) for tree in given.files.values() for case in _extractable(tree)]
    if not found:
        return False
    tree, outer, function, at = chance.choice(found)
    statement = function.body[at]
    results = sorted(bound(statement) & _read_elsewhere(function, at))
    given_to_it = sorted(read(statement) & local(function) - (bound(statement) if not results else set()))
    if isinstance(statement, ast.Assign):
        given_to_it = sorted(read(statement) & local(function))
    name = fresh("part", names(tree))
    call: ast.expr = ast.Call(ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in given_to_it], [])
    new: ast.stmt = ast.Assign([_target(results, ast.Store())], call) if results else ast.Expr(call)
    body = [statement, *([made(ast.Return(_target(results, ast.Load())), statement)] if results else [])]
    arguments = ast.arguments([], [ast.arg(each) for each in given_to_it], None, [], [], None, [])
    inside = list(statements(statement))  # of a loop the call stands for what is in it, too
    function.body[at] = made(new, *inside)
    tree.body.insert(tree.body.index(outer), made(ast.FunctionDef(name, arguments, body, []), statement))
    return True


def _extractable(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.FunctionDef, int]]:
    for outer in tree.body:
        for function in [outer, *(outer.body if isinstance(outer, ast.ClassDef) else ())]:
            if isinstance(function, ast.FunctionDef) and not function.decorator_list:
                yield from ((outer, function, at) for at in range(len(function.body)) if _is_apart(function, at))


def _is_apart(function: ast.FunctionDef, at: int) -> bool:
    """Of a loop nothing may be left over, and nothing may come in by a name that it binds anew."""
    statement = function.body[at]
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.For)) or is_text(statement) or leaves(statement):
        return False
    if any(name.startswith("__") for name in read(statement) | bound(statement)):
        return False
    others = [each for each in function.body if each is not statement]
    return not isinstance(statement, ast.For) or not bound(statement) & (bound(*others) | _read_elsewhere(function, at))


def _read_elsewhere(function: ast.FunctionDef, at: int) -> set[str]:
    return read(*(each for each in function.body if each is not function.body[at]))


def _target(found: list[str], context: ast.expr_context) -> ast.expr:
    each: list[ast.expr] = [ast.Name(name, context) for name in found]
    return each[0] if len(each) == 1 else ast.Tuple(each, context)


def inline(given: Trees, chance: Random) -> bool:
    """A function that is called once, by a statement of its file, gives its body to that place."""
    found = [(tree, *case) for tree in given.files.values() for case in _inlinable(given, tree)]
    if not found:
        return False
    tree, function, block, at, call = chance.choice(found)
    taken = names(tree)
    renamed = {name: fresh(f"{name}_here", taken) for name in local(function)}
    body = copy.deepcopy(function.body)
    for each in body:
        _rename(each, renamed)
    *body, last = body if isinstance(body[-1], ast.Return) else [*body, None]
    new = [*_passed(function, call, renamed), *body, *_result(block[at], last)]
    for each in new:
        _also(made(each, block[at]), block[at])
    block[at : at + 1] = new
    tree.body.remove(function)
    return True


def _inlinable(given: Trees, tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, Block, int, ast.Call]]:
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and _is_simple(function) and _uses(given, function.name) == 1:
            for node in ast.walk(tree):
                for block in [getattr(node, "body", None), getattr(node, "orelse", None)]:
                    for at, each in enumerate(block if isinstance(block, list) else ()):
                        call = getattr(each, "value", None) if isinstance(each, (ast.Expr, ast.Assign)) else None
                        if _calls(call, function) and not isinstance(node, ast.ClassDef):
                            yield function, block, at, call


def _is_simple(function: ast.FunctionDef) -> bool:
    """It returns at its end only, takes plain parameters, and holds no scope of its own."""
    given = function.args
    last = function.body[-1:]
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    body = [each.value or ast.Constant(None) if isinstance(each, ast.Return) else each for each in last]
    inner = [each for node in function.body for each in ast.walk(node)]
    return not (
        function.decorator_list
        or given.vararg
        or given.kwarg
        or given.posonlyargs
        or leaves(*function.body[:-1], *body)
        or any(isinstance(each, scopes) for each in inner)
    )


def _uses(given: Trees, name: str) -> int:
    """How often a name is read, imported or written as text."""
    nodes = [node for tree in given.files.values() for node in ast.walk(tree)]
    words = [node.id for node in nodes if isinstance(node, ast.Name)]
    words += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    words += [each.name for node in nodes if isinstance(node, (ast.ImportFrom, ast.Import)) for each in node.names]
    words += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return words.count(name) + 2 * words.count("*")


def _calls(call: ast.expr | None, function: ast.FunctionDef) -> bool:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != function.name:
        return False
    plain = not any(isinstance(each, ast.Starred) for each in call.args)
    every = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
    given = [*every[: len(call.args)], *(each.arg for each in call.keywords)]
    defaults = len(function.args.defaults) + len([each for each in function.args.kw_defaults if each])
    return plain and set(given) == set(every) and None not in given and not defaults * (set(given) != set(every))


def _passed(function: ast.FunctionDef, call: ast.Call, renamed: dict[str, str]) -> Block:
    pairs = [*zip((each.arg for each in function.args.args), call.args)]
    pairs += [(each.arg, each.value) for each in call.keywords if each.arg]
    return [ast.Assign([ast.Name(renamed[name], ast.Store())], value) for name, value in pairs]


def _result(caller: ast.stmt, last: ast.stmt | None) -> Block:
    value = (last.value if isinstance(last, ast.Return) else None) or ast.Constant(None)
    new: ast.stmt = ast.Assign(caller.targets, value) if isinstance(caller, ast.Assign) else ast.Expr(value)
    if isinstance(new, ast.Expr) and isinstance(value, (ast.Constant, ast.Name)):
        return []
    return [_also(made(new), last)] if last is not None else [new]


def _also(node: ast.stmt, other: ast.stmt) -> ast.stmt:
    """What stood in a helper stands for the helper's call too: the two chains part there now."""
    for each in statements(node):
        each.origins = origins(each) | origins(other)  # type: ignore[attr-defined]
    return node


def _rename(node: ast.AST, renamed: dict[str, str]) -> None:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            each.id = renamed.get(each.id, each.id)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            for alias in each.names:
                alias.asname = renamed.get(alias.asname or alias.name.split(".")[0]) or alias.asname
        elif isinstance(each, ast.ExceptHandler) and each.name:
            each.name = renamed.get(each.name, each.name)


def main(given: Trees, chance: Random) -> bool:
    """What a script runs at its end becomes a function, called there."""
    found = [(tree, node) for tree in given.files.values() for node in tree.body if _is_start(node)]
    if not found:
        return False
    tree, node = chance.choice(found)
    if bound(*node.body) or leaves(*node.body):
        return False
    name = fresh("program", names(tree))
    arguments = ast.arguments([], [], None, [], [], None, [])
    function = made(ast.FunctionDef(name, arguments, node.body, []), *node.body)
    node.body = [made(ast.Expr(ast.Call(ast.Name(name, ast.Load()), [], [])), *node.body)]
    tree.body.insert(tree.body.index(node), function)
    return True


def _is_start(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
    )


def split(given: Trees, chance: Random) -> bool:
    """Classes or functions that need nothing else of their file go to a second one, and are imported."""
    files = [file for file in given.files if "/" not in file]
    kind = chance.choice([ast.ClassDef, ast.FunctionDef])
    chance.shuffle(files)
    for file in files:
        tree = given.files[file]
        parts = [node for node in tree.body if isinstance(node, kind) and node.name != "main"]
        parts = _closed(tree, parts)
        if parts and f"{SECOND_FILE}.py" not in given.files:
            _move(given, tree, parts)
            return True
    return False


def _closed(tree: ast.Module, parts: list[ast.stmt]) -> list[ast.stmt]:
    """Those whose names are imported, built in, or among themselves."""
    once = bound(*_imports(tree)) | set(dir(builtins))
    while True:
        known = once | bound(*parts)
        kept = [each for each in parts if free(each) <= known and not leaves_module(each)]
        if len(kept) == len(parts):
            return kept
        parts = kept


def free(node: ast.stmt) -> set[str]:
    """Names of the module that a definition needs."""
    if isinstance(node, ast.ClassDef):
        inner = {name for each in node.body for name in free(each)} - bound(*node.body)
        return inner | read(*node.bases, *node.decorator_list, *node.keywords)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        signature = read(*node.decorator_list, node.args, *([node.returns] if node.returns else []))
        return signature | {name for each in node.body for name in free(each)} - local(node)
    return read(node)


def leaves_module(node: ast.stmt) -> bool:
    words = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Global) for each in ast.walk(node)) or bool(
        words & {"globals", "__name__", "__file__"}
    )


def _imports(tree: ast.Module) -> list[ast.stmt]:
    return [each for each in tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]


def _move(given: Trees, tree: ast.Module, parts: list[ast.stmt]) -> None:
    at = tree.body.index(parts[0])
    imports = copy.deepcopy(_imports(tree))
    given.files[f"{SECOND_FILE}.py"] = ast.Module([*imports, *parts], [])
    there = ast.ImportFrom(SECOND_FILE, [ast.alias(name) for name in sorted(bound(*parts))], 0)
    tree.body[at:at] = [made(there)]
    tree.body = [each for each in tree.body if each not in parts]


__all__ = ["extract", "inline", "main", "split", "Function", "is_first", "parameters"]
