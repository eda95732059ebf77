"""Policies of FSDP2 and FSDP1, and the dtypes in them; scalers of the loss, and autocast."""

from __future__ import annotations

from collections.abc import Mapping

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.formulas import Formula
from ....domain.values import NONE, AbstractObject, Const, Ext, Obj, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

FSDP = "torch.distributed.fsdp."
POLICIES = {
    "mp_policy": (f"{FSDP}MixedPrecisionPolicy",),
    "offload_policy": (f"{FSDP}OffloadPolicy", f"{FSDP}CPUOffloadPolicy"),
}
OF_FSDP1 = (f"{FSDP}MixedPrecision", f"{FSDP}CPUOffload")
ALL_POLICIES = (*POLICIES["mp_policy"], *POLICIES["offload_policy"], *OF_FSDP1)
_DTYPES = ("param_dtype", "reduce_dtype", "output_dtype")
_FIELDS = (*_DTYPES, "cast_forward_inputs")
_SHORT = {"half": "float16", "float": "float32", "double": "float64"}
DTYPES = frozenset(
    "float16 bfloat16 float32 float64 half float double float8_e4m3fn float8_e5m2 int8 int16 int32 int64 bool".split()
)
LOW = frozenset({"float16", "bfloat16"})


@record
class Policy:
    """What a policy is given, by field; ``open_why``: why there may be more of it."""

    fields: Mapping[str, Value]
    open_why: str
    made: Moment


@external(*ALL_POLICIES)
def make_policy(machine: Machine, call: Call) -> Value:
    name = call.name
    atom = AbstractObject("external", cls=Ext(name), origin=name.rsplit(".", 1)[-1], site=machine.site(call.node))
    given = {**dict(zip(_FIELDS, call.args)), **call.kwargs}
    atom.know(Policy(given, call.open_why, machine.moment(call.node)))
    for field in _DTYPES if name in POLICIES["mp_policy"] and not call.open_why else ():
        machine.store.put((atom.root, field), given.get(field, NONE))
    return atom.root


def policy_of(value: Value | None) -> Policy | None:
    """None where not all that it sets was seen."""
    known = value.atom.state(Policy) if isinstance(value, Obj) and value.parent is None else None
    return known if known is not None and not known.open_why else None


def dtype_name(value: Value | None) -> str:
    """``bfloat16`` of ``torch.bfloat16``; empty for what is no dtype that is written down."""
    if isinstance(value, Ext) and value.qname.startswith("torch."):
        name = value.qname.removeprefix("torch.")
        return _SHORT.get(name, name) if name in DTYPES else ""
    return ""


FSDP1 = "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
MANY = 4  # so many positional arguments may name ``enabled``


@record
class Scaler:
    """``enabled``: what has to hold for it to be switched on; None where that is not known."""

    made: Moment
    enabled: Formula | None

    @property
    def on(self) -> bool:
        return self.enabled is True

    @property
    def off(self) -> bool:
        return self.enabled is False


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
    atom = AbstractObject("external", cls=Ext(name), origin=name.rsplit(".", 1)[-1], site=machine.site(call.node))
    enabled = machine.truth(call.kwargs.get("enabled", Const(True)))
    known = "enabled" in call.kwargs or not call.open_why and len(call.args) < MANY
    atom.scaler = True
    atom.know(Scaler(machine.moment(call.node), enabled if known else None))
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
