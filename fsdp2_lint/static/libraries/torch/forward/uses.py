"""Weights that meet tensors, and how the program came to where a module or a weight is used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.values import Const, Obj, TupleV, Value, is_call, unknown
from ....frontend.origins import full_name
from ....interpreter.call import Call
from ....interpreter.expressions.numbers import is_multiple
from ....interpreter.libraries import GradMode
from ...computed import Computation, computed
from ...interface import Machine
from ...outputs import is_output
from ...python.kinds import DTENSOR, is_a
from ...tables import MAKING, external, method_observer, observer

# Operations that refuse a DTensor next to a plain tensor.
OPERATIONS = frozenset(
    f"torch.nn.functional.{name}"
    for name in "linear embedding bilinear conv1d conv2d conv3d layer_norm rms_norm group_norm".split()
) | frozenset(f"torch.{name}" for name in "matmul mm bmm addmm baddbmm einsum".split())
PRODUCTS = ("matmul", "mm", "bmm")
_OF_THE_SAME_SIZE = frozenset(
    f"torch.nn.functional.{name}"
    for name in "normalize linear softmax log_softmax relu gelu silu layer_norm rms_norm dropout interpolate".split()
)
_TO_ONE = ("sum", "mean", "max", "min", "prod", "norm", "std", "var", "item")  # without a dimension
_INFERENCE = ("torch.inference_mode", "torch.autograd.grad_mode.inference_mode")
_NO_GRAD = ("torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")
_GRAD = ("torch.enable_grad", "torch.autograd.enable_grad", "torch.autograd.grad_mode.enable_grad")
_VIEWS = frozenset("T mT data".split())
_CASTS = frozenset("float half bfloat16".split())  # which modules have as well


@record
class SetsMode:
    """``torch.inference_mode()``, ``torch.no_grad()`` or ``torch.enable_grad()``, as a context."""

    mode: GradMode


def circumstances(machine: Machine) -> events.Circumstances:
    """The modules whose forward runs behind their hooks, and the methods that run, outermost first.

    A method is (its object, its name, how many activations are open inside it).
    """
    methods = tuple(
        (frame.receiver, frame.func.name, len(machine.frames) - 1 - position)
        for position, frame in enumerate(machine.frames)
        if frame.func is not None and isinstance(frame.receiver, Obj)
    )
    return {
        "inside": tuple(machine.libraries.inside),
        "methods": methods,
        "looped": machine.loops > 0,
        **_modes(machine),
    }


def _modes(machine: Machine) -> events.Modes:
    """Which are on, as contexts or as decorators of what runs."""
    on = [*machine.libraries.grad_modes, *_decorators(machine)]
    inference = next((when for mode, when in on if mode is GradMode.INFERENCE), None)
    kinds = {mode for mode, _ in on}
    return {"inference": inference, "recorded": not kinds or GradMode.ON in kinds}


def _decorators(machine: Machine) -> Iterator[tuple[GradMode, Moment]]:
    for position, frame in enumerate(machine.frames):
        decorators = getattr(frame.func.node, "decorators", None) if frame.func is not None else None
        for decorator in decorators.nodes if decorators is not None else ():
            if (mode := _of_decorator(decorator)) is not None:
                stack = [machine.site(node, module) for module, node in machine.calls[:position]]
                yield mode, Moment(machine.site(decorator, frame.module), tuple(stack))


def _of_decorator(decorator: nodes.NodeNG) -> GradMode | None:
    """``@torch.no_grad`` or ``@torch.no_grad()``; not with a mode that is handed in."""
    if isinstance(decorator, nodes.Call):
        return _mode_of(full_name(decorator.func)) if not decorator.args and not decorator.keywords else None
    return _mode_of(full_name(decorator))


def _mode_of(qname: str | None) -> GradMode | None:
    if qname in _INFERENCE:
        return GradMode.INFERENCE
    return GradMode.OFF if qname in _NO_GRAD else GradMode.ON if qname in _GRAD else None


def mode_of(value: Value) -> GradMode | None:
    """Which one a context sets, where that is known."""
    known = value.atom.state(SetsMode) if isinstance(value, Obj) and value.parent is None else None
    return known.mode if known is not None else None


@external(*_INFERENCE, *_NO_GRAD, *_GRAD)
def grad_mode(machine: Machine, call: Call) -> Value:
    made = unknown(f"{call.name}()")
    if (mode := _mode_of(call.name)) is not None and call.arg(0, "mode") in (None, Const(True)):
        made.atom.know(SetsMode(mode))
    return made


@observer
def operation(machine: Machine, qname: str, call: Call) -> None:
    """A function of torch gets a weight and a tensor."""
    if machine.libraries.any_sharded and qname in OPERATIONS:
        _mixed(machine, call.node, call.all)


@method_observer
def method_called(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``x.matmul(weight)``."""
    if name in PRODUCTS and call.args:
        product(machine, call.node, "@", obj, call.args[0])


def product(machine: Machine, node: nodes.NodeNG, op: str, left: Value, right: Value) -> None:
    """``x @ weight``; sums only where the other side surely is a tensor, since a number may be added to a DTensor."""
    if machine.libraries.any_sharded and (
        op == "@" or op in ("+", "-", "*") and (_is_tensor(left) or _is_tensor(right))
    ):
        _mixed(machine, node, [left, right])


def _is_tensor(value: Value) -> bool:
    """What a model returned, or a function made of that: of more than one number, which a DTensor would put up with."""
    if not isinstance(value, Obj) or any(is_call(item) and item[1] in _TO_ONE and not item[2] for item in value.path):
        return False
    made = value.atom.state(Computation)
    if made is not None and made.function in _OF_THE_SAME_SIZE:
        return any(map(_is_tensor, made.of))
    return is_output(value)


def _mixed(machine: Machine, node: nodes.NodeNG, values: list[Value]) -> None:
    """A parameter of a sharded model meets a plain tensor outside of its forward."""
    found: list[tuple[Any, Obj, str]] = []
    plain = False
    for value in values:
        for guard, leaf in machine.alternatives(value):
            if (weight := weight_of(machine, leaf)) is not None:
                if guard.add(is_a(leaf, DTENSOR)) is not None:  # else it was asked, and is no shard on this path
                    found.append((guard, *weight))
            else:
                plain = plain or isinstance(leaf, Obj) and not leaf.atom.origin.startswith("torch.distributed.tensor")
    start = machine.guard
    for guard, owner, name in found if plain else ():
        path = start.join(guard)
        if path is not None and owner not in machine.libraries.inside:
            with machine.on_path(path):
                machine.emit(events.WeightUsed(name=name, **circumstances(machine)), node, owner)


def weight_of(machine: Machine, value: Value) -> tuple[Obj, str] | None:
    """The module and the name of a parameter in a model that is sharded; what is made of it alone counts as well."""
    at = value if isinstance(value, Obj) else None
    while at is not None and at.parent is not None and _is_view(at.item):
        at = at.parent
    if at is None:
        return None
    if (made := at.atom.state(Computation) if at.parent is None else None) is not None:
        alone = made.function.startswith("torch.") and made.function.rpartition(".")[2] in MAKING and len(made.of) == 1
        return weight_of(machine, made.of[0]) if alone else None
    if at.parent is None:
        held = machine.parents.get(at) if at.atom.parameter is not None else None
        return held if held is not None and machine.libraries.in_sharded(held[0]) else None
    if at.item in ("weight", "bias") and machine.libraries.in_sharded(at.parent):
        return at.parent, str(at.item)
    return None


def plain(machine: Machine, value: Value) -> Value:
    """What a forward returns: whatever it made of its own weights, while they were gathered, is no DTensor outside."""
    if isinstance(value, TupleV):
        return TupleV(tuple(plain(machine, item) for item in value.items))
    return machine.over(value, partial(_plain, machine)) if machine.libraries.any_sharded else value


def _plain(machine: Machine, leaf: Value) -> Value:
    if not isinstance(leaf, Obj) or leaf.parent is None or not _is_view(leaf.item):
        return leaf
    found = weight_of(machine, leaf)
    if found is None or found[0] not in machine.libraries.inside:
        return leaf
    made = unknown("what a forward makes of a weight")
    computed(machine, made, "", [leaf])
    return made


def _is_view(item: Any) -> bool:
    """Is it made of one DTensor, or of that and a number, so that it is a DTensor as well?"""
    if isinstance(item, str):
        return item in _VIEWS
    return is_multiple(item) or is_call(item) and (item[1] in _CASTS or item[1] in MAKING)
