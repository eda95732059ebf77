"""Data sets and random numbers: do all ranks get the same out of them?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from ...domain import events
from ...domain.values import (
    NONE,
    Bound,
    ClassV,
    Cond,
    Const,
    DictV,
    Func,
    ListV,
    Loaded,
    Obj,
    Rank,
    Text,
    TupleV,
    Value,
    is_call,
)
from ...frontend.module import Module
from ...frontend.names import names_in, qualified
from ...frontend.packages import ALONE, ANYTHING, effect_of
from ...interpreter.expressions.numbers import is_multiple
from ...interpreter.expressions.own_values import own_in
from ...libraries.computed import Computation
from ...libraries.interface import Machine
from ...libraries.torch.ranks.data import TensorData, seeds_of
from ...libraries.torch.ranks.own_sources import GivenRank
from ...libraries.torch.ranks.seeds import Drawn, differs
from ..shared.program import Program

# What brings a rank, a process or a moment into data, and what brings chance.
_BY_RANK = (
    "os.environ", "os.getenv", "os.getpid", "socket.", "platform.", "time.", "datetime.", "uuid.", "secrets.",
    "tempfile.", "threading.", "multiprocessing.", "torch.distributed.", "torch.utils.data.get_worker_info",
    "torch.cuda.current_device", "torch.accelerator.current_device",
)  # fmt: skip
_BY_CHANCE = (
    "random.", "numpy.random.", "torch.rand", "torch.random.", "torch.bernoulli", "torch.normal", "torch.multinomial",
    "torch.empty",
)  # fmt: skip
_MAPPING = frozenset("map filter with_format set_format remove_columns rename_column select_columns cast".split())
_FILLED = frozenset(f"torch.{name}" for name in "arange eye linspace ones zeros ones_like zeros_like".split())
# What their methods return follows from what these are given, and from the files of the tokenizer.
_TOKENIZERS = ("transformers.AutoTokenizer.", "tokenizers.", "tiktoken.", "sentencepiece.")
_FROM_FILES = ("torchvision.datasets.", "datasets.load_dataset", "datasets.load_from_disk")


# What these return holds what they are given, and nothing else.
_BROUGHT_TOGETHER = frozenset(f"torch.{name}" for name in "stack cat concat tensor as_tensor from_numpy".split())


def made_of(machine: Machine, values: Iterable[Value]) -> Iterator[Value]:
    """What values come from: through containers, operators, and methods with what these are given."""
    stack, seen = list(values), set[Value]()
    while stack:
        for leaf in machine.inside(stack.pop()):
            if leaf in seen or isinstance(leaf, (TupleV, ListV, DictV)):
                continue
            seen.add(leaf)
            called = [item[2] for item in leaf.path if is_call(item)] if isinstance(leaf, Obj) else []
            stack += (value for given in called if isinstance(given, tuple) for value in given)
            computed = leaf.atom.state(Computation) if isinstance(leaf, Obj) and leaf.parent is None else None
            if isinstance(leaf, Obj) and leaf.atom.operands:
                stack += leaf.atom.operands
            elif computed is not None and computed.function in _BROUGHT_TOGETHER:
                stack += computed.of
            else:
                yield leaf


def alike(program: Program, value: Value) -> bool:
    """Is this, that a model is given beside a batch, surely the same on each rank?"""
    if not isinstance(value, Obj):
        return isinstance(value, Const) or program.machine.per_rank(value) is False
    made = value.atom.origin
    return program.machine.is_setting(value) or made in _FILLED or made == "range" or not origin_known(program, value)


def origin_known(program: Program, value: Value) -> str:
    """Empty if each rank surely has the same; else why it may not."""
    for path, leaf in program.machine.alternatives(value):
        if path.literals:
            return "which data set it is depends on a condition"
        if not isinstance(leaf, Obj):
            return "where the data comes from was not followed"
        drawn, data = leaf.atom.state(Drawn), leaf.atom.state(TensorData)
        if drawn is not None:
            why = seeded_alike(program, drawn.at) if drawn.by == NONE else origin_known(program, drawn.by)
        elif leaf.atom.origin == "torch.Generator":
            why = _seeds(program, seeds_of(leaf.atom))
        elif data is not None:
            why = next((why for tensor in data.tensors if (why := origin_known(program, tensor))), "")
        elif leaf.parent is None and isinstance(leaf.atom.cls, ClassV) and leaf.atom.kind == "instance":
            why = _written(program, leaf)
        elif leaf.atom.origin.startswith(_FROM_FILES) and _whole(leaf):
            why = ""
        else:
            why = "where the data comes from was not followed"
        if why:
            return why
    return ""


def made_by_rank(program: Program, data: Value) -> bool:
    """Does a data set, or what it was given, speak of a rank: the one in the job, on the node, or of the node?"""
    machine = program.machine
    for leaf in machine.inside(data):
        if isinstance(leaf, Loaded) and leaf.per_rank or differs(machine, leaf):
            return True
        if not isinstance(leaf, Obj):
            continue
        own = own_in(machine, leaf)
        if leaf.atom.state(GivenRank) is not None or own is not None and not own.draw:
            return True
        held = [machine.store.get((leaf, name)) for name in machine.store.fields.get(leaf, ())]
        if any(differs(machine, part) for value in held if value is not None for part in machine.inside(value)):
            return True
    return False


def seeded_alike(program: Program, by: int) -> str:
    """Why the ranks' random states may differ at this position of the trace."""
    seeds = [step for step in program.trace.of(events.Seeded) if step.what.generators != ("random",)]
    if any(step.what.differs is not False for step in seeds):
        return "each rank may have a seed of its own"
    if any(step.index < by and "torch" in step.what.generators for step in seeds):
        return ""
    return "without a seed each rank draws by chance"


def _seeds(program: Program, seeds: tuple[Value, ...]) -> str:
    if not seeds:
        return "a generator without a seed differs by chance"
    same = all(program.machine.per_rank(seed) is False for seed in seeds)
    return "" if same else "each rank may have a seed of its own"


def _whole(obj: Obj) -> bool:
    """Was nothing done to a data set of a library that may have left a part of it, such as ``shard``?"""
    return all(not isinstance(item, tuple) or is_call(item) and item[1] in _MAPPING for item in obj.path)


def _written(program: Program, obj: Obj) -> str:
    """A data set of the project: its code names no rank and no chance, and it was given none."""
    machine = program.machine
    cls = machine.class_of(obj)
    for base in machine.mro(cls) if cls is not None else ():
        why = _code_differs(program, base.module, base.node, base.name) if isinstance(base, ClassV) else ""
        if why:
            return why
    for name in machine.store.fields.get(obj, ()):
        held = machine.store.get((obj, name))
        for leaf in made_of(machine, [held]) if held is not None else ():
            if not _same(program, leaf):
                return f"{name} of the data set may depend on the rank"
    return ""


def code_varies(program: Program, function: Value) -> str:
    """Why a function that a loader is handed may give each rank something else."""
    for _, leaf in program.machine.alternatives(function):
        if isinstance(leaf, Bound):
            leaf = leaf.func
        if not isinstance(leaf, Func):
            return "" if leaf == NONE else "what puts the batches together was not followed"
        if why := _code_differs(program, leaf.module, leaf.node, leaf.name):
            return why
    return ""


def _code_differs(program: Program, module: Module, node: nodes.NodeNG, label: str) -> str:
    """Why code, with all that it calls by name, may do something else on each rank."""
    seeded = "manual_seed" in names_in(node)
    for at, part in program.project.relevance.code_of(module, node):
        for qname in (*qualified(program.project, at, part), *_imported_inside(part)):
            if qname.startswith(_BY_RANK):
                return f"{label} may divide the data by rank ({qname})"
            if qname.startswith(_BY_CHANCE) and not seeded:
                return f"{label} may draw its data by chance ({qname})"
            if effect_of(qname) == ANYTHING:
                return f"{label} uses {qname}, which was not followed"
    return ""


def _imported_inside(part: nodes.NodeNG) -> Iterator[str]:
    """What a function imports itself."""
    for node in part.nodes_of_class((nodes.Import, nodes.ImportFrom)):
        base = f"{node.modname}." if isinstance(node, nodes.ImportFrom) else ""
        yield from (f"{base}{name}" for name, _ in node.names if not getattr(node, "level", 0))


def _same(program: Program, value: Value) -> bool:
    """Is what a data set holds surely the same on each rank?"""
    if not isinstance(value, Obj):
        return not isinstance(value, (Cond, Rank, Text)) or program.machine.per_rank(value) is False
    if program.machine.is_setting(value):
        return True
    while value.parent is not None and is_multiple(value.item):
        value = value.parent
    computed = value.atom.state(Computation)
    if computed is not None and not all(_same(program, each) for each in made_of(program.machine, computed.of)):
        return False
    origin = value.atom.origin
    if origin == "range" or origin.startswith(_TOKENIZERS) or not origin_known(program, value):
        return True
    known = value.atom.kind == "unknown" and effect_of(origin) == ALONE and not origin.startswith(_BY_RANK + _BY_CHANCE)
    return known and _whole(value)
