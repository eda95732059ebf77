"""Gradients that the program takes itself, past ``backward``."""

from __future__ import annotations

from .....vocab.declared import record
from ....domain import events
from ....domain.values import Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, observer
from ..forward import uses
from . import optim

GRAD = "torch.autograd.grad"


@record
class Taken:
    """Gradients of parameters, as ``torch.autograd.grad`` returned them."""


@external(GRAD)
def grad(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    inputs = call.arg(1, "inputs")
    held = _parameters(machine, inputs) if inputs is not None else ()
    if held and machine.libraries.any_sharded:
        machine.emit(events.Differentiated(held=held), call.node, held[0].model)
        if isinstance(made, Obj):
            made.atom.know(Taken())
    return made


def _parameters(machine: Machine, inputs: Value) -> tuple[events.Held, ...]:
    """Those of ``model.parameters()``, and those that are read by name: ``model.head.weight``."""
    listed, _ = optim.holdings(machine, [inputs])
    named = []
    for guard, leaf in machine.leaves(inputs):
        weight = uses.weight_of(machine, leaf)
        if weight is not None and isinstance(leaf, Obj) and (leaf.parent is None or leaf.item == weight[1]):
            named.append(events.Held(weight[0], machine.now, machine.relative(guard, machine.guard)))
    return (*listed, *dict.fromkeys(named))


@observer
def handed_on(machine: Machine, qname: str, call: Call) -> None:
    """Code that is not seen may reduce what it is given."""
    if machine.libraries.harmless(qname):
        return
    for value in call.all:
        for leaf in machine.inside(value):
            if isinstance(leaf, Obj) and leaf.atom.state(Taken) is not None:
                machine.emit(events.GradientsHandedOn(who=qname), call.node, leaf)
                return
