"""What is computed from sharded parameters and gradients, and when its value is read.

The placements are those of torch 2.13: reductions of a shard are partial, operators that are not linear complete them.
"""

from __future__ import annotations

from astroid import nodes

from .....vocab.finding import Site
from ....domain import events
from ....domain.choices import choose
from ....domain.path_conditions import PathCondition
from ....domain.values import Computed, Const, ListV, Obj, Params, ParamV, TupleV, Value, unknown
from ....interpreter.call import Call
from ....interpreter.expressions.numbers import some_number
from ...interface import Machine
from ...python import calculation
from ...tables import external, method
from ..sharding.module_tree import is_weight
from . import local_parts

# Reductions, and the partial placement of what they return.
_REDUCTIONS = {
    "norm": "norm", "vector_norm": "norm", "sum": "sum", "mean": "mean", "max": "max", "amax": "max", "min": "min",
    "amin": "min", "any": "any", "all": "all", "prod": "product", "count_nonzero": "sum",
}  # fmt: skip
PLACEMENTS = {
    "norm": "_NormPartial", "sum": "Partial(sum)", "mean": "Partial(avg)", "max": "Partial(max)",
    "min": "Partial(min)", "product": "Partial(product)", "clip": "_NormPartial",
    "any": "Partial(sum)", "all": "Partial(product)",
}  # fmt: skip
_ELEMENTWISE = frozenset(
    """abs pow square sqrt neg float double half bfloat16 to detach clone contiguous isnan isinf isfinite flatten view
    reshape mul div add sub gt ge lt le eq ne exp log sign t cpu cuda""".split()
)
_COPIES = frozenset("to detach clone contiguous float half bfloat16 cpu cuda".split())
# What leaves a partial value partial (``clone`` does not),
_KEPT = frozenset("detach cpu cuda contiguous view reshape flatten squeeze unsqueeze".split())
_CASTS = frozenset("to type float double half bfloat16".split())  # and what does so to all but norms.
_STACKED = "stacked "


def tensor_method(machine: Machine, leaf: ParamV | Computed, name: str, call: Call) -> Value | None:
    """A method of a parameter, of a gradient, or of what was computed from one; None if it is not modelled here."""
    of, how = (leaf.of, leaf.how) if isinstance(leaf, Computed) else (leaf, "")
    if how and name in ("item", "__float__", "__bool__"):
        value_read(machine, leaf, call.node, f"{name.strip('_')}()")
        return some_number("a number")
    if isinstance(leaf, Computed) and name in ("full_tensor", "redistribute"):
        subject = next(iter(machine.objects(of.model)), None)
        machine.emit(events.Collective(name=f"{name}()", group=None, sure=True), call.node, subject)
        return unknown("a full tensor")
    if isinstance(leaf, Computed) and name == "to_local":
        part = unknown("to_local()")
        local_parts.taken(machine, leaf, part, call.node)
        return part
    if how.startswith(_STACKED):
        reduced = how.removeprefix(_STACKED)
        if _REDUCTIONS.get(name) == reduced and not call.all:
            return Computed(of, reduced, leaf.at if isinstance(leaf, Computed) else None)
        return unknown(f"{name}()")
    if how:
        kept = name in _KEPT or name in _CASTS and how not in ("norm", "clip")
        return leaf if kept else unknown(f"{name}()")
    if name in _REDUCTIONS and _whole(name, call.args, call.kwargs):
        return Computed(of, _REDUCTIONS[name], machine.site(call.node))
    if name in _ELEMENTWISE and isinstance(leaf, Computed):
        return leaf
    if name in _ELEMENTWISE and name not in _COPIES:  # a copy is the parameter still, which may be saved
        return Computed(of, "")
    return unknown(f"{name}()") if isinstance(leaf, Computed) else None


def reduced(machine: Machine, obj: Obj, name: str, call: Call) -> Value | None:
    """``model.head.weight.norm()``: of a parameter, or its gradient, that is reached by the names of modules."""
    leaf = by_name(machine, obj) if name in _REDUCTIONS else None
    return tensor_method(machine, leaf, name, call) if leaf is not None else None


def by_name(machine: Machine, obj: Obj) -> ParamV | None:
    """A parameter, or that of a layer of torch. In a forward it is gathered; before anything is sharded it is whole."""
    at = obj.parent if obj.item == "grad" and obj.parent is not None else obj
    if not machine.libraries.any_sharded or machine.libraries.inside or not is_weight(at):
        return None
    holder = at.parent or machine.parents.get(at, (None, ""))[0]
    return ParamV(holder, machine.now, copied=at is not obj, grad=at is not obj) if holder is not None else None


def _whole(name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Is it the reduction over all dimensions?"""
    return not {"dim", "axis", "keepdim"} & set(kwargs) and len(args) <= ("norm" in name)


@external(
    *(f"torch.{name}" for name in _REDUCTIONS),
    *(f"torch.{name}" for name in _ELEMENTWISE),
    "torch.linalg.norm",
    "torch.linalg.vector_norm",
)
def function(machine: Machine, call: Call) -> Value:
    """``torch.norm(p.grad)`` is ``p.grad.norm()``."""
    name = call.name.rsplit(".", 1)[-1]
    rest = Call(call.node, call.args[1:], call.kwargs, name=call.name)

    def one(leaf: Value) -> Value:
        if isinstance(leaf, (ParamV, Computed)):
            found = tensor_method(machine, leaf, name, rest)
            return found if found is not None else Computed(leaf, "") if isinstance(leaf, ParamV) else leaf
        return unknown(call.name)

    given = machine.alternatives(call.args[0]) if call.args else []
    known: list[tuple[PathCondition, Value]] = []
    for path, leaf in given:
        named = by_name(machine, leaf) if isinstance(leaf, Obj) and name in _REDUCTIONS else leaf
        known += [(path, named)] if isinstance(named, (ParamV, Computed)) else []
    if given and len(known) == len(given):
        return machine.over(choose(known), one)
    return machine.libraries.call_other(call.name, call)


@external("torch.stack", "torch.cat")
def stack(machine: Machine, call: Call) -> Value:
    common = same(machine, call.args[0]) if call.args else None
    if common is not None and common.how in ("sum", "max", "min"):
        return Computed(common.of, _STACKED + common.how)
    return machine.libraries.call_other(call.name, call)


@external("torch._foreach_norm")
def each_norm(machine: Machine, call: Call) -> Value:
    items = machine.listing(call.args[0]).items if call.args else ()
    for _, item in items:
        if isinstance(item, ParamV):
            return machine.new_list([Computed(item, "norm")], exact=False)
    return machine.libraries.call_other(call.name, call)


@external("math.sqrt", "math.isnan", "math.isinf", "math.isfinite", "math.log", "math.floor", "math.ceil")
def as_float(machine: Machine, call: Call) -> Value:
    def one(leaf: Value) -> Value:
        value_read(machine, leaf, call.node, f"{call.name}()")
        return leaf

    if call.args:
        machine.over(call.args[0], one)
    return calculation.calculate(machine, call)


@method("full_tensor")
def gathered(machine: Machine, obj: Obj, call: Call) -> Value:
    """Of what was reached in other ways than as a parameter; a sharded model has it of its own parameters."""
    if machine.libraries.any_sharded:
        owner = obj if machine.libraries.in_sharded(obj) else _trained(machine, obj)
        sure = owner is not None
        machine.emit(events.Collective(name="full_tensor()", group=None, sure=sure), call.node, owner)
    return unknown("a full tensor")


def _trained(machine: Machine, obj: Obj) -> Obj | None:
    """The sharded model whose parameter it is, where it comes out of the groups of an optimizer."""
    if "['params']" not in obj.path:
        return None
    for step in machine.trace.of(events.Optimizer):
        if step.subject in [*obj.above] and step.what.complete and len({held.model for held in step.what.held}) == 1:
            model = step.what.held[0].model
            return model if machine.libraries.in_sharded(model) else None
    return None


def same(machine: Machine, value: Value) -> Computed | None:
    """What all items of a list are, if they are partial in one and the same way."""
    if not isinstance(value, (ListV, TupleV)):
        return None
    items = [item for _, item in machine.listing(value).items]
    if items and all(isinstance(item, Computed) and item.how for item in items):
        found = {item.how for item in items if isinstance(item, Computed)}
        first = items[0]
        return first if len(found) == 1 and isinstance(first, Computed) else None
    return None


def arithmetic(op: str, left: Value, right: Value) -> Value:
    """Elements stay what they are; sums stay partial under sums and under factors."""
    first = left if isinstance(left, (ParamV, Computed)) else right
    assert isinstance(first, (ParamV, Computed))
    of, how = (first, "") if isinstance(first, ParamV) else (first.of, first.how)
    if not how:
        other = right if first is left else left
        plain = not isinstance(other, Computed) or not other.how
        return Computed(of, "") if plain and op in "+-*/**" else some_number("arithmetic")
    factor = op in ("*", "/") and isinstance(right, Const) or op == "*" and isinstance(left, Const)
    if how in ("sum", "mean") and factor:
        return first
    if how == "sum" and op in ("+", "-") and isinstance(left, Computed) and isinstance(right, Computed):
        return first if left.how == right.how else some_number("arithmetic")
    return some_number("arithmetic")


def norm(machine: Machine, given: Value, at: Site) -> Value:
    """The norm that clipping returns: partial in old versions of torch."""
    for leaf in machine.inside(given):
        if isinstance(leaf, Params):
            return Computed(ParamV(leaf.model, machine.now), "clip", at)
        if isinstance(leaf, ParamV):
            return Computed(leaf, "clip", at)
    return unknown("the gradients' norm")


def value_read(machine: Machine, leaf: Value, node: nodes.NodeNG, by: str) -> None:
    """A number or a truth is made of a DTensor."""
    if (
        not isinstance(leaf, Computed)
        or not leaf.how
        or leaf.how.startswith(_STACKED)
        or not machine.libraries.any_sharded
    ):
        return
    for model in machine.objects(leaf.of.model):
        machine.emit(events.ValueRead(value=leaf, by=by), node, model)
