"""Ways in which a call goes through something unknown, and what that could do: as code that can be seen.

What the unknown could do is not argued about but written down. ``COULD`` are bodies of a wrapper; a program in which
one of them stands in plain sight, and from which a finding is gone, shows that the unknown could prevent it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.locks.programs import Program
from tests.locks.trees import Trees, made, statements, trees

UNKNOWN = "mystery_pkg"


@dataclass(frozen=True)
class Could:
    """What an unknown could do with ``{it}``, which it gets or returns, before or after the call.

    ``rules`` are those that it could keep from being broken, and ``reason`` says how.
    """

    name: str
    rules: str
    reason: str
    before: str = ""
    after: str = ""
    kind: str = "model"  # of the object in its hands
    late: bool = False  # only behind the statement that is at fault: what it does before, that undoes
    is_method: bool = False  # the object can do it by one of its own methods, whose name may be computed


# A decorator is not taken to do this: it stands at the definition of what runs, and one that never runs it would make
# that dead code. What it can well do is more, with what comes in and goes out.
SKIP = Could("not call it", "every rule", "it got a function and may keep it for later, or call another one")
NOTHING = Could("only call it", "", "then everything is as it was: whatever cannot follow this shows nothing")
_BLOCKS = "[fully_shard(each) for each in {it}.layers]"
_WRITE = "[nn.init.ones_(each) for each in {it}.parameters()]; [nn.init.ones_(each) for each in {it}.buffers()]"
_FULL = "out = {{name: each.full_tensor() for name, each in out.items()}}"
_DEVICE = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'
_MEMORY = '{it}.to_empty(device="cpu"); ' + _WRITE
_SYNC = "{it}.set_requires_gradient_sync(True)"
_GROUPS = "{it}.param_groups.clear()"
COULD = (
    Could("shard the blocks", "301", "whoever has the model before its root is sharded can give it groups", _BLOCKS),
    Could("shard the root", "303", "the root may be sharded by whoever has it in hand", "", "fully_shard({it})"),
    Could("rebuild the optimizer", "601", "its groups can be filled anew, once it is there", _GROUPS, "", "optimizer"),
    Could("select the device", "101", "launchers, and contexts for a device, often do", _DEVICE),
    Could("give memory", "202", "to_empty may come from a helper", _MEMORY),
    Could("initialise", "201 203 204", "whoever has the model can write all of its weights", "", _WRITE),
    Could("synchronise", "604", "gradient sync is on again for the last backward", _SYNC, "", "model", True),
    Could("gather", "701", "a state dict may come back gathered", "", _FULL),
    Could("reshard", "407", "what is unsharded can be resharded", "", "{it}.reshard()", "model", False, True),
)
# Behind these calls it is too late: a step has used the optimizer as it is.
TOO_LATE = {"FSDP601": "zero_grad"}
# Calls that the analysis loses already where they go through something that it sees: nothing can be shown there, but
# what the unknown could do is plain.
SURELY = {
    "FSDP705": ({"load_state_dict", "load"}, "it may distribute what it loads, or return what is distributed"),
    "FSDP706": ({"async_save"}, "it may wait before it returns the future, or return none"),
    "FSDP701": ({"save", "state_dict"}, "it may gather what it writes, or return what is gathered"),
    "FSDP612": ({"clip_grad_norm_", "step"}, "it may clip the gradients that are still to be used"),
    "FSDP604": ({"set_requires_gradient_sync"}, "it may leave gradient synchronisation on"),
    "FSDP201": ({"to_empty"}, "it may write what it allocates"),
    "FSDP203": ({"manual_seed", "load_state_dict"}, "it may do the same on all ranks"),
    "FSDP401": ({"forward"}, "it may call the module"),
}

_SHOWN = """\
import contextlib, os, torch
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

def wrap(f, *owner):
    def inner(*args, **kwargs):
        {before}
        out = {call}
        {after}
        return out
    return inner

@contextlib.contextmanager
def context(*args):
    out, owner = None, args
    {before}
    yield
    {after}
"""


def shown(could: Could, it: str) -> str:
    """The source of the unknown package, if that is what it does."""
    before, after = (each.format(it=it) or "pass" for each in (could.before, could.after))
    return _SHOWN.format(before=before, after=after, call="None" if could is SKIP else "f(*args, **kwargs)")


# --- forms ---

Form = Callable[[ast.Call], ast.expr | None]


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _wrapped(call: ast.Call) -> ast.expr:
    owner = (
        f", {ast.unparse(call.func.value)}"
        if isinstance(call.func, ast.Attribute) and _is_plain(call.func.value)
        else ""
    )
    return _parsed(f"{UNKNOWN}.wrap({ast.unparse(call.func)}{owner})")


def _partial(call: ast.Call) -> ast.expr:
    return _parsed(f"functools.partial({UNKNOWN}.call, {ast.unparse(call.func)})")


def _from_pickle(call: ast.Call) -> ast.expr | None:
    """What is called does not come along, so a method's object must."""
    if isinstance(call.func, ast.Attribute):
        call.args.insert(0, call.func.value)
    return _parsed("pickle.load(open('calls.pkl', 'rb'))['it']")


def _computed(call: ast.Call) -> ast.expr | None:
    return _named(call, "os.environ['METHOD']")


def _from_json(call: ast.Call) -> ast.expr | None:
    return _named(call, "json.load(open('calls.json'))['method']")


def _named(call: ast.Call, name: str) -> ast.expr | None:
    if not isinstance(call.func, ast.Attribute):
        return None
    return _parsed(f"getattr({ast.unparse(call.func.value)}, {name})")


def _is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and _is_plain(node.value)


FORMS: dict[str, Form] = {
    "wrapper": _wrapped,
    "partial": _partial,
    "pickled table": _from_pickle,
    "computed name": _computed,
    "name in json": _from_json,
}
_NEEDS = "import functools, json, os, pickle\nimport mystery_pkg\n"


@dataclass(frozen=True)
class Site:
    """A call, by its number in its file. ``objects`` are what it gets and gives: a wrapper's word for it, its name."""

    file: str
    number: int
    row: int
    text: str
    is_statement: bool
    objects: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.row} {self.text}"


def sites(program: Program, rows: set[tuple[str, int]]) -> Iterator[Site]:
    """The calls in the statements that begin in these rows."""
    for file, tree in trees(program).files.items():
        for number, (statement, call) in enumerate(_calls(tree)):
            if (file, statement.lineno) in rows and not _is_super(call):
                alone = isinstance(statement, ast.Expr) and statement.value is call
                yield Site(file, number, statement.lineno, ast.unparse(call.func), alone, _objects(statement, call))


def _objects(statement: ast.stmt, call: ast.Call) -> tuple[tuple[str, str], ...]:
    found = [(f"args[{at}]", last_name(each)) for at, each in enumerate(call.args)]
    if isinstance(call.func, ast.Attribute) and _is_plain(call.func.value):
        found.append(("owner[0]", last_name(call.func.value)))
    if isinstance(statement, ast.Assign) and statement.value is call:
        found.append(("out", last_name(statement.targets[0])))
    return tuple(found)


def last_name(node: ast.expr) -> str:
    """``model`` of ``model`` and of ``self.model``; "" of anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def subjects(program: Program) -> dict[str, str]:
    """Names that a program uses as a model's or as an optimizer's: nothing is claimed about other objects."""
    found: dict[str, str] = {}
    for call in (
        node for tree in trees(program).files.values() for node in ast.walk(tree) if isinstance(node, ast.Call)
    ):
        if isinstance(call.func, ast.Attribute):
            kind = _OF_MODELS.get(call.func.attr, "")
            found.setdefault(last_name(call.func.value), kind) if kind else None
        elif last_name(call.func) == "fully_shard" and call.args:
            found.setdefault(last_name(call.args[0]), "model")
    found.pop("", None)  # what has no name is not handed on
    return found


_OF_MODELS = {"parameters": "model", "modules": "model", "to_empty": "model", "step": "optimizer"}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.Call]]:
    for statement in statements(tree):
        for part in ast.iter_child_nodes(statement):
            if not isinstance(part, ast.stmt):
                yield from ((statement, each) for each in _inner(part) if isinstance(each, ast.Call))


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, (ast.stmt, ast.Lambda)):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _inner(child)


def _is_super(call: ast.Call) -> bool:
    return "super()" in ast.unparse(call.func) or isinstance(call.func, ast.Name) and call.func.id == "super"


def through(program: Program, site: Site, form: Form) -> tuple[Trees, Program] | None:
    """The program with this call through the unknown; None where the form does not fit."""
    given = trees(program)
    tree = given.files[site.file]
    _, call = list(_calls(tree))[site.number]
    func = form(call)
    if func is None:
        return None
    call.func = func
    _import(tree)
    return given, given.rewritten(f"through {site}")


def inside(program: Program, site: Site, objects: tuple[str, ...]) -> tuple[Trees, Program]:
    """The program with the statement of this call inside an unknown context manager that gets some objects."""
    given = trees(program)
    tree = given.files[site.file]
    statement, _ = list(_calls(tree))[site.number]
    context = made(
        ast.With([ast.withitem(_parsed(f"{UNKNOWN}.context({', '.join(objects)})"))], [statement]), statement
    )
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, field, None), list) and node is not context and statement in block:
                block[block.index(statement)] = context
    _import(tree)
    return given, given.rewritten(f"in a context at {site}")


def decorated(program: Program, file: str, name: str) -> tuple[Trees, Program]:
    """The program with an unknown decorator on a function of the top level."""
    given = trees(program)
    tree = given.files[file]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.decorator_list.insert(0, _parsed(f"{UNKNOWN}.wrap"))
    _import(tree)
    return given, given.rewritten(f"decorated {file}:{name}")


def _import(tree: ast.Module) -> None:
    at = next((at for at, each in enumerate(tree.body) if not _is_first(each)), len(tree.body))
    tree.body[at:at] = [made(each) for each in ast.parse(_NEEDS).body]


def _is_first(node: ast.stmt) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.ImportFrom) and node.module == "__future__"


def with_shown(program: Program, could: Could, it: str) -> Program:
    return program.with_files({**program.files, f"{UNKNOWN}.py": shown(could, it)}, f" that could {could.name}")
