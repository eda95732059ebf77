"""Random numbers that parameters get after their model was sharded."""

from __future__ import annotations

from ....domain import events
from ....domain.values import Ext, Obj, ParamV
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import method_observer, observer
from .blank import classes_of, owners

_FUNCTIONS = frozenset(
    f"torch.nn.init.{name}_"
    for name in "uniform normal trunc_normal xavier_uniform xavier_normal kaiming_uniform kaiming_normal".split()
)
_METHODS = frozenset("normal_ uniform_ random_ bernoulli_ cauchy_ exponential_ log_normal_".split())
_LAYERS = frozenset(
    f"torch.nn.{name}"
    for name in """Linear Bilinear Embedding EmbeddingBag Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d LSTM GRU RNN""".split()
)

# Layers whose parameters begin as ones and zeros, or another number.
_CONSTANT = frozenset(
    f"torch.nn.{name}"
    for name in "LayerNorm RMSNorm GroupNorm BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm PReLU".split()
)


@observer
def drawn_by_function(machine: Machine, qname: str, call: Call) -> None:
    """``nn.init.normal_(layer.weight)``."""
    if machine.libraries.any_sharded and qname in _FUNCTIONS:
        _emit(machine, call, list(owners(machine, call.args[:1])))


@method_observer
def drawn_by_layer(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``layer.reset_parameters()``, of a layer of torch that draws its weights."""
    if machine.libraries.any_sharded and name == "reset_parameters" and _draws(machine, obj):
        _emit(machine, call, list(owners(machine, [obj])))


@method_observer
def drawn_by_tensor(machine: Machine, obj: Obj | ParamV, name: str, call: Call) -> None:
    """``weight.normal_()``, also of its ``data``."""
    if machine.libraries.any_sharded and name in _METHODS:
        tensor = obj.parent if isinstance(obj, Obj) and obj.item == "data" and obj.parent is not None else obj
        _emit(machine, call, list(owners(machine, [tensor])))


def _draws(machine: Machine, obj: Obj) -> bool:
    known = classes_of(machine, obj)
    return bool(known) and all(isinstance(cls, Ext) and cls.qname in _LAYERS for cls in known)


def may_draw(layer: Obj) -> bool:
    """Are its parameters random when it is made? Those of norms are not, those of the program's own may be."""
    cls = layer.atom.cls
    return bool(layer.atom.parameter) or not isinstance(cls, Ext) or cls.qname not in _CONSTANT


def _emit(machine: Machine, call: Call, objects: list[Obj]) -> None:
    for obj in dict.fromkeys(objects):
        machine.emit(events.Drawn(), call.node, obj)
