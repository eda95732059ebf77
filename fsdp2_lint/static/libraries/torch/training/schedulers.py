"""The numbers that optimizers work with, and schedulers that change them."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from .....vocab.optimizers import HYPERPARAMETERS
from ....domain import events
from ....domain.values import NONE, Bound, Const, Func, Obj, Partial, TupleV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

SCHEDULERS = "torch.optim.lr_scheduler."
PLATEAU = SCHEDULERS + "ReduceLROnPlateau"
# What a scheduler is told of how long and how far it goes, by the position of each.
_TOLD = {
    "OneCycleLR": {"max_lr": 1, "total_steps": 2, "epochs": 3, "steps_per_epoch": 4},
    "CosineAnnealingLR": {"T_max": 1, "eta_min": 2},
    "CosineAnnealingWarmRestarts": {"T_0": 1, "T_mult": 2, "eta_min": 3},
    "LinearLR": {"start_factor": 1, "end_factor": 2, "total_iters": 3},
    "ConstantLR": {"factor": 1, "total_iters": 2},
    "PolynomialLR": {"total_iters": 1, "power": 2},
    "StepLR": {"step_size": 1, "gamma": 2},
    "ExponentialLR": {"gamma": 1},
}
# What is given functions, lists or other schedulers.
_OTHERS = ("LambdaLR", "MultiplicativeLR", "MultiStepLR", "CyclicLR", "SequentialLR")

_FUNCTIONS = frozenset({"LambdaLR", "MultiplicativeLR"})
_CALLABLE = (Func, Bound, Partial)


@record
class Scheduler:
    """A scheduler of torch, and the optimizer that it changes."""

    name: str
    optimizer: Value


def optimizer_made(machine: Machine, optimizer: Obj, call: Call) -> None:
    """What it is given of its own; the parameters come first, then the learning rate."""
    for name in HYPERPARAMETERS:
        _given(machine, call, call.arg(1 if name == "lr" else None, name), name, optimizer)


KNOWN = frozenset({PLATEAU, *(SCHEDULERS + name for name in (*_TOLD, *_OTHERS))})


@external(*sorted(KNOWN))
def made(machine: Machine, call: Call) -> Value:
    scheduler = machine.libraries.call_other(call.name, call)
    if isinstance(scheduler, Obj):
        begun(machine, scheduler, call.name, call)
    return scheduler


def begun(machine: Machine, scheduler: Obj, qname: str, call: Call) -> None:
    """One of torch's, or of a class of the project that derives from one, gets its optimizer."""
    name, optimizer = qname.removeprefix(SCHEDULERS), call.arg(0, "optimizer") or NONE
    scheduler.atom.know(Scheduler(name, optimizer))
    told = {each: call.arg(position, each) for each, position in _TOLD.get(name, {}).items()}
    if name in _FUNCTIONS:
        told["lr_lambda"] = _factors(machine, call)
    for owner in machine.objects(optimizer):
        for argument, value in told.items():
            _given(machine, call, value, f"lr ({argument} of {name})", owner)


def _factors(machine: Machine, call: Call) -> Value:
    """What the functions of a scheduler make of the number of its steps, which is the same on all ranks."""
    count = unknown("a counter")
    machine.carried[count] = (Const(0), Const(1))
    functions = [leaf for leaf in machine.inside(call.arg(1, "lr_lambda") or NONE) if isinstance(leaf, _CALLABLE)]
    return TupleV(tuple(machine.libraries.called_back(each, Call(call.node, [count])) for each in functions))


def stepped(machine: Machine, obj: Obj, call: Call) -> None:
    """A scheduler that looks at a number is given it."""
    known = obj.atom.state(Scheduler) if obj.parent is None else None
    if known is not None:
        measured = call.arg(0, "metrics") if known.name == "ReduceLROnPlateau" else None
        _changed(machine, known, measured, call)


def loaded(machine: Machine, obj: Obj, call: Call) -> None:
    """``load_state_dict`` of a scheduler."""
    known = obj.atom.state(Scheduler) if obj.parent is None else None
    if known is not None:
        _changed(machine, known, None, call)


def _changed(machine: Machine, scheduler: Scheduler, by: Value | None, call: Call) -> None:
    """A learning rate is another one from here on. ``by``: the number that decides it, where there is one."""
    for owner in machine.objects(scheduler.optimizer):
        if owner in machine.libraries.optimizers:
            name = f"lr ({scheduler.name})"
            machine.emit(events.HyperparameterGiven(name=name, value=by or NONE, changes=True), call.node, owner)


def group_changed(machine: Machine, group: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:
    """``group["lr"] = value``, of a group of an optimizer; ``value``: by which it is multiplied, in ``*=``."""
    if isinstance(key, Const) and key.value in HYPERPARAMETERS and "param_groups" in group.path:
        for owner in group.above:
            if owner in machine.libraries.optimizers:
                machine.emit(events.HyperparameterGiven(name=key.value, value=value, changes=True), node, owner)


def augmented(machine: Machine, node: nodes.AugAssign) -> None:
    """``group["lr"] *= value``."""
    if isinstance(node.target, nodes.Subscript) and isinstance(key := node.target.slice, nodes.Const):
        if key.value in HYPERPARAMETERS and machine.libraries.optimizers:
            value = machine.eval(node.value)
            for group in machine.objects(machine.eval(node.target.value)):
                group_changed(machine, group, Const(key.value), value, node)


def _given(machine: Machine, call: Call, value: Value | None, name: str, optimizer: Obj) -> None:
    if value is None or isinstance(value, Const) or optimizer not in machine.libraries.optimizers:
        return
    machine.emit(events.HyperparameterGiven(name=name, value=value, changes=False), call.node, optimizer)
