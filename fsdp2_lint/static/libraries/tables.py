"""Which name is handled where. Transfer functions register themselves here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ..domain.values import Obj, Value
from ..interpreter.call import Call
from .interface import Machine

External = Callable[[Machine, Call], Value]
Method = Callable[[Machine, Obj, Call], Value]

Observer = Callable[[Machine, str, Call], None]
MethodObserver = Callable[[Machine, Obj, str, Call], None]

SeesMethods = TypeVar("SeesMethods", bound=MethodObserver)

EXTERNALS: dict[str, External] = {}
METHODS: dict[str, Method] = {}
OBSERVERS: list[Observer] = []
METHOD_OBSERVERS: list[MethodObserver] = []


def external(*qnames: str) -> Callable[[External], External]:
    def register(function: External) -> External:
        _once(qnames, EXTERNALS)
        EXTERNALS.update(dict.fromkeys(qnames, function))
        return function

    return register


def method(*names: str) -> Callable[[Method], Method]:
    """A method of any object whose class does not define it itself."""

    def register(function: Method) -> Method:
        _once(names, METHODS)
        METHODS.update(dict.fromkeys(names, function))
        return function

    return register


def _once(names: tuple[str, ...], table: Mapping[str, object]) -> None:
    """A second handler would take the first one's place without a word."""
    if taken := sorted(set(names) & table.keys()):
        raise RuntimeError(f"{', '.join(taken)} is handled elsewhere already")


def observer(function: Observer) -> Observer:
    """Sees each call of a function of another package, before it is handled."""
    OBSERVERS.append(function)
    return function


def method_observer(function: SeesMethods) -> SeesMethods:
    """Sees each call of a method that no table has."""
    METHOD_OBSERVERS.append(function)
    return function


# Methods that only tensors have: whatever they are called on, nothing is sharded, moved or selected.
TENSOR_METHODS = frozenset(
    """flatten unflatten view view_as reshape transpose permute contiguous unsqueeze squeeze expand expand_as
    repeat_interleave chunk argmax argmin softmax log_softmax masked_fill masked_select gather scatter index_select
    numel dim size mean sum amax amin std var exp log sqrt pow clamp abs eq ne lt gt le ge logical_not logical_and
    cumsum topk tril triu unbind roll tolist nonzero long int bool""".split()
)

# Methods of tensors that write them in place.
IN_PLACE = frozenset(
    """zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_ add_ sub_ mul_
    div_ clamp_ lerp_ addmul_ addcmul_ addcdiv_ neg_ sqrt_ pow_ exp_ abs_ masked_fill_ index_copy_ index_fill_
    scatter_ trunc_normal_ set_ swap_ fill_diagonal_ tril_ triu_""".split()
)


FRAMEWORKS = {
    "accelerate": "Accelerate",
    "lightning": "Lightning",
    "pytorch_lightning": "Lightning",
    "lightning_fabric": "Lightning Fabric",
    "composer": "Composer",
    "deepspeed": "DeepSpeed",
    "ray": "Ray",
    "colossalai": "ColossalAI",
    "torchtitan": "torchtitan",
    "torchtune": "torchtune",
    "trl": "TRL",
    "unsloth": "Unsloth",
    "megatron": "Megatron",
    "mmengine": "MMEngine",
    "ignite": "Ignite",
    "fairscale": "FairScale",
    "axolotl": "Axolotl",
}  # fmt: skip
