"""Scalers of the loss, and autocast."""

from __future__ import annotations

from dataclasses import dataclass

from .....vocab.finding import Moment
from ....domain import events
from ....domain.values import Atom, Const, Ext, Obj, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external
from .precision import dtype_name

FSDP1 = "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
MANY = 4  # so many positional arguments may name ``enabled``


@dataclass(frozen=True, slots=True)
class Scaler:
    """Is it surely switched on, surely off, or (neither) as a setting says?"""

    made: Moment
    on: bool
    off: bool


@external(
    FSDP1,
    "torch.amp.GradScaler",
    "torch.GradScaler",
    "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler",
)
def make_scaler(machine: Machine, call: Call) -> Value:
    name = call.name
    atom = Atom("external", cls=Ext(name), origin=name.rsplit(".", 1)[-1], site=machine.site(call.node))
    enabled = call.kwargs.get("enabled", Const(True))
    on = enabled == Const(True) and not call.open_why and len(call.args) < MANY
    atom.scaler = True
    atom.know(Scaler(machine.moment(call.node), on, enabled == Const(False)))
    return atom.root


def stepped(machine: Machine, scaler: Obj, optimizer: Obj, call: Call) -> None:
    if scaler.atom.state(Scaler) is not None and machine.libraries.any_sharded:
        machine.emit(events.Scaled(scaler=scaler.atom), call.node, optimizer)


@external("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast", "torch.cuda.amp.autocast")
def autocast(machine: Machine, call: Call) -> Value:
    """In which dtype its body computes; the default is fp16 on CUDA."""
    enabled = call.kwargs.get("enabled", Const(True))
    dtype = call.kwargs.get("dtype") or (call.args[1] if len(call.args) > 1 else None)
    if enabled != Const(False):
        machine.emit(events.Autocast(dtype=dtype_name(dtype) if enabled == Const(True) else ""), call.node)
    return unknown("autocast")
