"""Policies of FSDP2, and what makes dtypes meet: autocast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import Atom, Ext, Obj, Value
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

FSDP = "torch.distributed.fsdp."
_FIELDS = ("param_dtype", "reduce_dtype", "output_dtype", "cast_forward_inputs")


@external(FSDP + "MixedPrecisionPolicy")
def precision_policy(machine: Interpreter, call: Call) -> Value:
    atom = Atom("external", cls=Ext(machine.called_name), origin="MixedPrecisionPolicy", site=machine.site(call.node))
    if not call.open_why:
        atom.facts["policy"] = {name: call.arg(position, name) for position, name in enumerate(_FIELDS)}
    return atom.root


@external(FSDP + "CPUOffloadPolicy", FSDP + "OffloadPolicy")
def offload_policy(machine: Interpreter, call: Call) -> Value:
    name = machine.called_name.rsplit(".", 1)[-1]
    atom = Atom("external", cls=Ext(machine.called_name), origin=name, site=machine.site(call.node))
    atom.facts["offload"] = name == "CPUOffloadPolicy"
    return atom.root


@external("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast_mode.autocast")
def autocast(machine: Interpreter, call: Call) -> Value:
    machine.emit("autocast", call.node, None)
    return Atom("unknown", origin=machine.called_name, site=machine.site(call.node)).root


def returned(machine: Interpreter, obj: Obj, value: Value) -> None:
    """What a module's forward gave: a later layer may get it."""
    if machine.any_sharded:
        for _, leaf in machine.alternatives(value):
            if isinstance(leaf, Obj):
                machine.outputs.setdefault(leaf, obj)
