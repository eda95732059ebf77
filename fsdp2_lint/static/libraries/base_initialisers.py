"""What the ``__init__`` of a class of torch does for an object of a class of the project that derives from it."""

from __future__ import annotations

from ..domain.values import ClassV, Ext, Obj
from ..frontend.packages import is_optimizer
from ..interpreter.call import Call
from .interface import Machine
from .torch.ranks import data
from .torch.sharding import module_tree
from .torch.training import optim, schedulers

_OPTIMIZER = "torch.optim.optimizer.Optimizer"


def run(machine: Machine, obj: Obj, cls: ClassV | None, call: Call) -> None:
    """By ``super().__init__(...)``, or since the class has no ``__init__`` of its own."""
    names = [base.qname for base in machine.mro(cls) if isinstance(base, Ext)] if cls is not None else []
    if any(name in module_tree.LISTS for name in names):
        module_tree.fill_list(machine, obj, call)
    elif any(is_optimizer(name) or name == _OPTIMIZER for name in names) and call.all:
        optim.created(machine, obj, call)
    elif scheduler := next((name for name in names if name in schedulers.KNOWN), ""):
        schedulers.begun(machine, obj, scheduler, call)
    elif any(name in data.SAMPLERS for name in names):
        data.inherited(machine, obj, call)
    elif cls is not None:
        module_tree.built_as_layer(machine, obj, cls, call)
