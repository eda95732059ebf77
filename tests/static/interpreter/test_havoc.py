"""There is no kind of syntax that is skipped in silence: each is modelled, or opens what it holds."""

from __future__ import annotations

import re

import pytest
from astroid import nodes

from fsdp2_lint.static.interpreter.interpreter import Interpreter
from tests.static.program import HEAD, NET, analyse

# Kinds that stand in another one, which reads them; and kinds that no text gives.
READ_BY_THEIR_PARENT = frozenset(
    """Arguments AssignAttr AssignName Comprehension Decorators DelAttr DelName DictUnpack ExceptHandler Keyword
    MatchCase Module ParamSpec TypeVar TypeVarTuple""".split()
)
NO_SYNTAX = frozenset(
    "BaseContainer ComprehensionScope EmptyNode EvaluatedObject LocalsDictNodeNG NodeNG Pattern Unknown".split()
)
KINDS = sorted(kind.__name__ for kind in nodes.ALL_NODE_CLASSES if isinstance(kind, type))
MODELLED = {
    kind for kind in KINDS if any(hasattr(Interpreter, f"{prefix}_{kind}") for prefix in ("exec", "eval", "pattern"))
}


def test_every_kind_of_syntax_has_its_place() -> None:
    """A new kind of a later astroid comes here first: until it is modelled it opens what it holds."""
    assert set(KINDS) - MODELLED - READ_BY_THEIR_PARENT - NO_SYNTAX <= {"TemplateStr", "Interpolation"}
    assert not MODELLED & (READ_BY_THEIR_PARENT | NO_SYNTAX)


# One statement of each kind through which ``it`` goes, on a line of its own.
WRITTEN = {
    "Assert": "assert use(it)",
    "Assign": "x = use(it)",
    "AnnAssign": "x: int = use(it)",
    "AsyncFor": "async def f():\n    async for x in use(it): pass\nasyncio.run(f())",
    "AsyncFunctionDef": "async def f():\n    use(it)\nasyncio.run(f())",
    "AsyncWith": "async def f():\n    async with use(it): pass\nasyncio.run(f())",
    "Attribute": "import mystery_lib\nmystery_lib.mend.now(it)",
    "AugAssign": "x = 1\nx += use(it)",
    "Await": "async def f():\n    await use(it)\nasyncio.run(f())",
    "BinOp": "use(it) + 1",
    "BoolOp": "flag or use(it)",
    "Call": "use(it)",
    "ClassDef": "class A:\n    def __init__(self): use(it)\nA()",
    "Compare": "1 < use(it)",
    "Delete": "x = [use(it)]\ndel x[0]",
    "Dict": "x = {1: use(it)}",
    "DictComp": "x = {1: use(y) for y in [it]}",
    "Expr": "use(it)",
    "For": "for x in [it]: use(x)",
    "FormattedValue": "x = f'{use(it)}'",
    "FunctionDef": "def f(): use(it)\nf()",
    "GeneratorExp": "list(use(x) for x in [it])",
    "Global": "def f():\n    global box\n    box = use(it)\nf()",
    "If": "if flag: use(it)",
    "IfExp": "use(it) if flag else 0",
    "Import": "import mystery_lib as m\nm.use(it)",
    "ImportFrom": "from mystery_lib import use as u\nu(it)",
    "JoinedStr": "x = f'{use(it)}'",
    "Lambda": "(lambda: use(it))()",
    "List": "x = [use(it)]",
    "ListComp": "x = [use(y) for y in [it]]",
    "Match": "match it:\n    case x: use(x)",
    "MatchAs": "match it:\n    case x: use(x)",
    "MatchClass": "match it:\n    case object(layers=y): use(it, y)",
    "MatchMapping": "match {'x': it}:\n    case {'x': y}: use(y)",
    "MatchOr": "match it:\n    case (1 as x) | x: use(x)",
    "MatchSequence": "match [it, 1]:\n    case [x, _]: use(x)",
    "MatchSingleton": "match it:\n    case None: pass\n    case _: use(it)",
    "MatchStar": "match [it]:\n    case [*x]: use(x)",
    "MatchValue": "match it:\n    case 1: pass\n    case _: use(it)",
    "Name": "use(it)",
    "NamedExpr": "(x := use(it))",
    "Nonlocal": "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = use(it)\n    g()\nf()",
    "Return": "def f(): return use(it)\nf()",
    "Raise": "try:\n    raise use(it)\nexcept Exception: pass",
    "Set": "x = {use(it)}",
    "SetComp": "x = {use(y) for y in [it]}",
    "Slice": "x = [1][use(it):]",
    "Starred": "x = [*use(it)]",
    "Subscript": "x = [1][use(it)]",
    "Try": "try: use(it)\nfinally: pass",
    "TryStar": "try: use(it)\nexcept* OSError: pass",
    "Tuple": "x = (use(it), 1)",
    "UnaryOp": "x = not use(it)",
    "While": "while use(it): break",
    "With": "with use(it): pass",
    "Yield": "def f(): yield use(it)\nlist(f())",
    "YieldFrom": "def f(): yield from use(it)\nlist(f())",
}
NOTHING_TO_HOLD = frozenset("Break Const Continue Pass TypeAlias".split())
PROGRAM = """
import asyncio
from mystery_lib import flag, use

it = Net()
optimizer = torch.optim.AdamW(it.parameters())
{before}
fully_shard(it)
{after}
optimizer.step()
"""


def program(before: str = "", after: str = "") -> str:
    return f"{HEAD}\n{NET}\n{PROGRAM.format(before=before, after=after)}"


def test_there_is_a_text_for_every_kind() -> None:
    assert set(WRITTEN) | NOTHING_TO_HOLD == MODELLED


def test_the_fault_is_found_where_nothing_is_in_between() -> None:
    assert "FSDP601" in analyse(program()).codes


@pytest.mark.quick(60)
@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("missing", [False, True], ids=["known", "not known"])
def test_what_goes_through_it_is_open(kind: str, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimizer goes into unseen code through a statement of this kind, modelled or not: FSDP601 is no error."""
    for name in [name for name in dir(Interpreter) if missing and name.split("_", 1)[-1] == kind]:
        owner = next(cls for cls in Interpreter.__mro__ if name in vars(cls))
        monkeypatch.delattr(owner, name)
    text = program(after=re.sub(r"\bit\b", "optimizer", WRITTEN[kind]))
    assert "FSDP601" not in analyse(text).codes
