"""Losses, as numbers that are made of batches."""

from __future__ import annotations

from .....vocab.declared import record
from ....domain.values import Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

_LOSSES = """
cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy
binary_cross_entropy_with_logits
""".split()


@record
class MadeOf:
    """A tensor that a function computes of these, on this rank alone."""

    values: tuple[Value, ...]


@external(*(f"torch.nn.functional.{name}" for name in _LOSSES))
def loss(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.know(MadeOf(tuple(call.all)))
    return made
