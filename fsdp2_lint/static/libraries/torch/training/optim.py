"""Optimizers: whose parameters they hold, and when those were read."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import NONE, AbstractObject, Const, Ext, Obj, Params, ParamV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import method
from ..precision import precision
from . import generators, schedulers, step_hooks


@record
class Algorithm:
    """Does an optimizer of torch keep nothing from step to step? None where a setting says that."""

    stateless: bool | None


def make_optimizer(machine: Machine, qname: str, call: Call) -> Value:
    atom = AbstractObject("external", cls=Ext(qname), origin=qname.rsplit(".", 1)[-1], site=machine.site(call.node))
    atom.know(Algorithm(_stateless(qname, call)))
    created(machine, atom.root, call)
    schedulers.optimizer_made(machine, atom.root, call)
    if (params := call.arg(0, "params")) is not None:
        generators.consumed_by_call(machine, params, call.node, f"{atom.origin}()")
    return atom.root


def _stateless(qname: str, call: Call) -> bool | None:
    """Plain SGD keeps nothing from step to step."""
    momentum = call.arg(2, "momentum")
    if not qname.endswith(".SGD") or isinstance(momentum, Const) and momentum.value:
        return False
    return True if isinstance(momentum, Const) or momentum is None and not call.open_why else None


def created(machine: Machine, obj: Obj, call: Call, *, proven: bool = True) -> None:
    params = call.arg(0, "params")
    held, complete = holdings(machine, [params] if params is not None and proven else call.all)
    if params is None and not call.all:
        complete = False
    machine.libraries.optimizers.add(obj)
    machine.emit(events.Optimizer(held=held, complete=complete and not call.open_why, proven=proven), call.node, obj)


def holdings(machine: Machine, values: list[Value]) -> tuple[tuple[events.Held, ...], bool]:
    """The parameters inside (nested) arguments, and whether all of it was understood."""
    held: list[events.Held] = []
    complete = True
    for value in values:
        for guard, leaf in machine.leaves(value):
            relative = machine.relative(guard, machine.guard)
            if isinstance(leaf, (Params, ParamV)):
                read = leaf.read if isinstance(leaf, ParamV) else machine.now
                for path, model in machine.alternatives(leaf.model):
                    joined = relative.join(path)
                    if isinstance(model, Obj) and joined is not None:
                        held.append(events.Held(model, read, joined))
                    else:
                        complete = False
            elif isinstance(leaf, Obj) and leaf.atom.kind not in ("configuration",):
                complete = False
                held += _of_groups(machine, leaf, relative)
    return tuple(dict.fromkeys(held)), complete


def _of_groups(machine: Machine, leaf: Obj, path: PathCondition) -> Iterator[events.Held]:
    """What an optimizer was made with, of which these are parameter groups, or parameters in them."""
    if "param_groups" not in leaf.path or leaf.atom.root not in machine.libraries.optimizers:
        return
    for made in machine.trace.of(events.Optimizer):
        for each in made.what.held if made.subject is leaf.atom.root else ():
            if (joined := path.join(each.guard)) is not None:
                yield events.Held(each.model, each.read, joined)


def owners(machine: Machine, value: Value) -> bool:
    """Does a value hold parameters of some model?"""
    return any(isinstance(leaf, (Params, ParamV)) for leaf in machine.inside(value))


@method("step")
def step(machine: Machine, obj: Obj, call: Call) -> Value:
    if obj in machine.libraries.optimizers:
        _step(machine, obj, call.node)
    elif obj.atom.scaler:
        for leaf in machine.objects(call.arg(0, "optimizer")):
            if leaf in machine.libraries.optimizers:
                _step(machine, leaf, call.node)
                precision.stepped(machine, obj, leaf, call)
    else:
        schedulers.stepped(machine, obj, call)
    return unknown("step()")


def _step(machine: Machine, optimizer: Obj, node: nodes.NodeNG) -> None:
    step_hooks.run(machine, optimizer, step_hooks.BEFORE, node)
    machine.emit(events.Stepped(), node, optimizer)
    step_hooks.run(machine, optimizer, step_hooks.AFTER, node)


@method("zero_grad")
def zero_grad(machine: Machine, obj: Obj, call: Call) -> Value:
    if obj in machine.libraries.optimizers or machine.libraries.any_sharded:
        machine.emit(events.Zeroed(), call.node, obj)
    return NONE


@method("add_param_group")
def add_param_group(machine: Machine, obj: Obj, call: Call) -> Value:
    if obj in machine.libraries.optimizers:
        held, complete = holdings(machine, call.all)
        machine.emit(events.Optimizer(held=held, complete=complete, proven=True), call.node, obj)
    return NONE


def supplanted(machine: Machine, kept: Value | None, value: Value, node: nodes.NodeNG) -> None:
    """An attribute is set: what was kept in it may have been an optimizer, as what comes in its place is."""
    if kept is None or not (new := set(machine.objects(value)) & machine.libraries.optimizers):
        return
    for each in machine.objects(kept):
        if each in machine.libraries.optimizers and each not in new:
            machine.emit(events.Supplanted(), node, each)


def regrouped(machine: Machine, at: Obj, node: nodes.NodeNG) -> None:
    """An optimizer's list of parameter groups, or what a group holds, is exchanged."""
    for owner in at.above:
        if owner in machine.libraries.optimizers:
            machine.emit(events.Remapped(), node, owner)
