"""Random numbers: which generator they come from, and whether the ranks seed it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import NONE, Obj, Value
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

_ALL = ("random", "numpy", "torch")
_SEEDS = {
    "random.seed": ("random",),
    "numpy.random.seed": ("numpy",),
    "torch.manual_seed": ("torch",),
    "torch.random.manual_seed": ("torch",),
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
    **{f"random.{name}": "random" for name in "random uniform randint randrange choice getrandbits gauss".split()},
    **{f"numpy.random.{name}": "numpy" for name in "rand random randint uniform choice randn random_sample".split()},
    **{f"torch.{name}": "torch" for name in "rand randint randn bernoulli randperm".split()},
}


@external(*_SEEDS)
def seed(machine: Interpreter, call: Call) -> Value:
    value = call.arg(0, "seed") or call.arg(None, "a")
    machine.emit(
        "seeded",
        call.node,
        None,
        generators=_SEEDS[machine.called_name],
        differs=True if value is None else differs(machine, value),
    )
    return NONE


def differs(machine: Interpreter, value: Value) -> bool | None:
    """Is a number another one on each rank? None: cannot tell."""
    if isinstance(value, Obj) and value.atom.facts.get("per_rank"):
        return True
    return machine.per_rank(value)


def generator_of(obj: Obj) -> str:
    """Which generator a value was drawn from; empty for anything else."""
    return _DRAWS.get(obj.atom.origin, "") if obj.atom.kind == "unknown" else ""
