"""Where values begin that each rank has for itself: clocks, draws, signals, files of a node, its part of the data."""

from __future__ import annotations

from dataclasses import dataclass

from astroid import nodes

from .....vocab.finding import Moment
from ....domain.values import AbstractObject, Bound, Const, Func, Obj, Text, Value, unknown
from ....interpreter.call import Call
from ....interpreter.expressions import own_values
from ....interpreter.expressions.own_values import Own
from ...interface import Machine
from ...tables import external
from .seeds import differs, generator_of

CLOCKS = frozenset(
    """time.time time.monotonic time.perf_counter time.process_time time.time_ns time.monotonic_ns
    time.perf_counter_ns datetime.datetime.now datetime.datetime.utcnow""".split()
)
_ASKING = frozenset({"os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists", "os.path.getmtime"})
ASKED_OF_PATHS = frozenset({"exists", "is_file", "is_dir"})
_OF_A_NODE = ("/tmp/", "/var/tmp/", "/dev/shm/")
_NUMBERS = frozenset({"torch", "math", "numpy", "builtins", "datetime"})
_NO_VALUES = ("torch.distributed.", "torch.zeros_like", "torch.ones_like", "torch.empty_like", "torch.is_tensor")


@dataclass(frozen=True, slots=True)
class GivenRank:
    """A call that was not followed, of a function that was given something of the rank, returned it."""


def made_by_call(machine: Machine, made: Obj, qname: str, call: Call) -> None:
    """A function of a package that was not followed returned ``made``."""
    if any(differs(machine, value) for value in call.all):
        made.atom.know(GivenRank())
    if qname in CLOCKS:
        own_values.began(machine, made.atom, Own("the clock of this rank", when=machine.moment(call.node)))
    elif generator := generator_of(made):
        words = f"a random number of {generator}"
        own_values.began(machine, made.atom, Own(words, when=machine.moment(call.node), draw=generator))
    elif qname in _ASKING:
        asked_file(machine, made, call.arg(0, "path"))
    elif qname.split(".")[0] in _NUMBERS and not qname.startswith(_NO_VALUES):
        own_values.passed_on(machine, made, call.all)


def asked_file(machine: Machine, made: Obj, path: Value | None) -> None:
    """Is a file there? All ranks see the same on a file system that they share, which a path alone seldom tells."""
    name = path.value if isinstance(path, Const) else path.hint if isinstance(path, Text) else None
    if isinstance(path, Text) and path.per_rank:
        own = Own("whether the file of this rank exists")
    elif isinstance(name, str) and name.startswith(_OF_A_NODE):
        own = Own(f"whether {name} exists on this node")
    else:
        own = Own("whether a file exists", doubt="whether all nodes see the same files is not known")
    own_values.began(machine, made.atom, own)


@external("signal.signal")
def handled(machine: Machine, call: Call) -> Value:
    """A signal comes to each process at a time of its own: so do the flags that its handler sets."""
    made = machine.libraries.call_other(call.name, call)
    handler = call.arg(1, "handler")
    for _, leaf in machine.alternatives(handler) if handler is not None else ():
        function = leaf.func if isinstance(leaf, Bound) else leaf
        if not isinstance(function, Func) or not isinstance(function.node, nodes.FunctionDef):
            continue
        own = Own("a flag that a signal sets at another time on each rank")
        for target in _set_in(function.node):
            if isinstance(target, nodes.AssignName):
                machine.store.put((function.module, target.name), _flag(machine, target.name, own))
            elif isinstance(leaf, Bound) and _is_self(target, function.node):
                for owner in machine.objects(leaf.receiver):
                    machine.store.put((owner, target.attrname), _flag(machine, target.attrname, own))
    return made


def _set_in(function: nodes.FunctionDef) -> list[nodes.NodeNG]:
    """Global names and attributes that a handler sets."""
    outer = {name for part in function.nodes_of_class(nodes.Global) for name in part.names}
    targets = [target for part in function.nodes_of_class(nodes.Assign) for target in part.targets]
    return [
        each
        for each in targets
        if isinstance(each, nodes.AssignAttr) or isinstance(each, nodes.AssignName) and each.name in outer
    ]


def _is_self(target: nodes.AssignAttr, function: nodes.FunctionDef) -> bool:
    first = next(iter(function.args.args or ()), None)
    return first is not None and isinstance(target.expr, nodes.Name) and target.expr.name == first.name


def _flag(machine: Machine, name: str, own: Own) -> Obj:
    made = unknown(name)
    own_values.began(machine, made.atom, own)
    return made


def part_of_data(machine: Machine, atom: AbstractObject, dealt: Moment) -> None:
    """A loader whose sampler, made at ``dealt``, gives each rank its own part."""
    own_values.began(machine, atom, Own("the batches of this rank", when=dealt, elements=True))


def drawn_for_rank(machine: Machine, atom: AbstractObject, drawn: Moment) -> None:
    own_values.began(machine, atom, Own("data that this rank draws by a seed of its own", when=drawn))
