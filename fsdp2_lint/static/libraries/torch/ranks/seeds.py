"""Random numbers: which generator they come from, and whether the ranks seed it alike."""

from __future__ import annotations

from collections.abc import Callable

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.path_conditions import TRUE
from ....domain.values import NONE, Const, Obj, Rank, Value, is_call
from ....frontend.packages import is_of_python
from ....interpreter.call import Call
from ....interpreter.expressions.own_values import ABOUT
from ...interface import Machine
from ...tables import external, observer

_MANY = 2**31 - 1  # no job has as many ranks
_ALL = ("random", "numpy", "torch")
_KNOWN = frozenset({"numpy", "torch"})
_SEEDS = {
    "random.seed": ("random",),
    "numpy.random.seed": ("numpy",),
    "torch.manual_seed": ("torch",),
    "torch.random.manual_seed": ("torch",),
    "torch.seed": ("torch",),
    "torch.random.seed": ("torch",),
    "torch.set_rng_state": ("torch",),
    "torch.random.set_rng_state": ("torch",),
    "torch.cuda.manual_seed": ("torch",),
    "torch.cuda.manual_seed_all": ("torch",),
    "transformers.set_seed": _ALL,
    "transformers.trainer_utils.set_seed": _ALL,
    "accelerate.utils.set_seed": _ALL,
    "lightning.seed_everything": _ALL,
    "lightning.pytorch.seed_everything": _ALL,
    "lightning.fabric.seed_everything": _ALL,
    "pytorch_lightning.seed_everything": _ALL,
}
_DRAWS = {
    **{
        f"random.{name}": "random"
        for name in "random uniform randint randrange choice choices getrandbits gauss".split()
    },
    **{f"numpy.random.{name}": "numpy" for name in "rand random randint uniform choice randn random_sample".split()},
    **{f"torch.{name}": "torch" for name in "rand randint randn bernoulli randperm multinomial normal".split()},
}
_STATES = {
    "random.getstate": "random",
    "numpy.random.get_state": "numpy",
    "torch.get_rng_state": "torch",
    "torch.random.get_rng_state": "torch",
    "torch.cuda.get_rng_state": "torch",
    "torch.cuda.get_rng_state_all": "torch",
    "torch.cuda.random.get_rng_state": "torch",
}


@record
class Built:
    """A module has drawn its weights ``at`` this position of the trace."""

    at: int


@record
class GeneratorState:
    """Where the generator of random numbers stood, read at this position of the trace."""

    generator: str
    at: int
    read: Moment


@external(*_SEEDS)
def seed(machine: Machine, call: Call) -> Value:
    generators = _SEEDS[call.name]
    value = call.arg(0, "seed") or call.arg(None, "a")
    seeds = list(machine.alternatives(value)) if value is not None else []
    own = [of_each_rank(machine, leaf, lambda other: differs(machine, other) is not True) for _, leaf in seeds]
    machine.libraries.blank.seeded_by_rank = "torch" in generators and bool(own) and all(own)
    if value is None:
        machine.emit(events.Seeded(generators=generators, differs=True, by_rank=False, given=None), call.node)
        return NONE
    kinds = [(mine and "torch" in generators, differs(machine, given)) for (_, given), mine in zip(seeds, own)]
    if len({*kinds}) == 1:  # whichever of them it is
        seeds, kinds = [(TRUE, value)], kinds[:1]
    for (path, given), (by_rank, apart) in zip(seeds, kinds):
        if (joined := machine.guard.join(path)) is not None:
            with machine.on_path(joined):
                machine.emit(
                    events.Seeded(generators=generators, differs=apart, by_rank=by_rank, given=given), call.node
                )
    return NONE


@external("torch.initial_seed", "torch.random.initial_seed")
def initial_seed(machine: Machine, call: Call) -> Value:
    """What torch's generator was given last: another number on each rank, where that was."""
    made = machine.libraries.call_other(call.name, call)
    given = [step for step in machine.trace.of(events.Seeded) if "torch" in step.what.generators]
    last = next((step for step in reversed(given) if machine.guard.compatible(step.guard)), None)
    if isinstance(made, Obj) and last is not None:
        made.atom.per_rank = last.what.differs is True and machine.guard.implies(last.guard)
    return made


@observer
def drawn(machine: Machine, qname: str, call: Call) -> None:
    """Python's or numpy's generator is used; what is neither theirs nor torch's may draw from any."""
    package = qname.partition(".")[0]
    if qname in _SEEDS or qname in _STATES:
        return
    if package == "random" or qname.startswith("numpy.random."):
        machine.emit(events.NumberDrawn(generator=package), call.node)
    elif package not in _KNOWN and not is_of_python(qname):
        machine.libraries.others.add(package)


@external("builtins.hash")
def hashed(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.operands, made.atom.operator = tuple(call.args), "hash"
        made.atom.per_rank = any(differs(machine, leaf) for value in call.args for leaf in machine.inside(value))
    return made


@external(*_STATES)
def state(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.know(GeneratorState(_STATES[call.name], machine.now, machine.moment(call.node)))
    return made


def differs(machine: Machine, value: Value) -> bool | None:
    """Is a number another one on each rank? None: cannot tell."""
    if isinstance(value, Obj) and value.atom.per_rank:
        return True
    return machine.per_rank(value)


@record
class Drawn:
    """Random numbers, drawn by a generator of their own (NONE: the common one) at this position of the trace."""

    by: Value
    at: int
    made: Moment


def generator_of(obj: Obj) -> str:
    """Which common generator a value was drawn from; empty for anything else, such as how much was drawn."""
    drawn = obj.atom.state(Drawn)
    if drawn is not None and drawn.by != NONE:
        return ""
    if obj.atom.kind != "unknown" or any((item[1] if is_call(item) else item) in ABOUT for item in obj.path):
        return ""
    return _DRAWS.get(obj.atom.origin, "")


def of_each_rank(machine: Machine, value: Value, same: Callable[[Value], bool]) -> bool:
    """Is a number surely another one for each rank in the job: the rank, a sum with it, or a hash of it?

    ``same``: is this the same number on all of them?
    """
    if isinstance(value, Rank):
        return value.kind == "global"
    if not isinstance(value, Obj) or not all(map(_keeps_apart, value.path)):
        return False
    operands, operator = value.atom.operands, value.atom.operator
    if operator == "hash":
        return any(of_each_rank(machine, leaf, same) for given in operands for leaf in machine.inside(given))
    others = [each for each in operands if not of_each_rank(machine, each, same)]
    if len(others) != 1 or operator not in ("+", "-", "*"):
        return False
    if operator == "*":
        return isinstance(others[0], Const) and others[0].value != 0
    return same(others[0])


def _keeps_apart(item: object) -> bool:
    """A step of a path: does an operator with a constant leave different numbers different?"""
    _, operator, by = item if isinstance(item, tuple) and item[0] == "op" else ("", "", NONE)
    if not isinstance(by, Const) or not isinstance(by.value, int):
        return False
    return operator in ("+", "-") or operator == "*" and by.value != 0 or operator in ("%", "&") and by.value >= _MANY


def built(machine: Machine, obj: Obj) -> None:
    """A module has drawn its weights: when, and what may change them from here on is of interest."""
    obj.atom.know(Built(machine.now))
    if machine.libraries.blank.seeded_by_rank:
        machine.libraries.blank.atoms.add(machine.libraries.address(obj)[0])
