"""Operations in which every rank must take part."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.choices import options
from ....domain.store import Items
from ....domain.values import NONE, AbstractObject, Const, ListV, Obj, Params, ParamV, Value, unknown
from ....interpreter.call import Call
from ...computed import Plain, is_plain
from ...interface import Machine
from ...tables import external, method
from ..sharding.composition import exchanged
from ..training import dtensors, generators, optim
from ..training.steps import clipped
from .agreement import AGREEING, agree, filled
from .groups import Group, made_of

_GROUPED = """
barrier monitored_barrier all_reduce all_gather all_gather_into_tensor all_gather_object all_gather_coalesced broadcast
broadcast_object_list reduce reduce_scatter reduce_scatter_tensor gather gather_object scatter scatter_object_list
all_to_all all_to_all_single all_reduce_coalesced new_group
""".split()


@external(*(f"torch.distributed.{name}" for name in _GROUPED))
def collective(machine: Machine, call: Call) -> Value:
    """All ranks of the group have to make this call."""
    group = call.arg(None, "group")
    if group is None:
        group = next((value for value in call.args[1:] if _is_group(value)), None)
    group = call.args[0] if group is None and call.name.endswith("barrier") and call.args else group
    name = call.name.rsplit(".", 1)[-1]
    machine.emit(events.Collective(name=f"{name}()", group=part_of_job(group), sure=True, given=call.all), call.node)
    left = agree(machine, call, name) if name in AGREEING and part_of_job(group) is None and _in_place(call) else None
    if left is None:
        filled(machine, call, f"{name}()")
    if name == "all_reduce" and machine.libraries.any_sharded and _in_place(call):
        reduced = events.Reduced(
            tensor=call.arg(0, "tensor"), left=left, group=part_of_job(group), made=AbstractObject.made
        )
        machine.emit(reduced, call.node)
    if name in ("broadcast", "all_reduce"):
        exchanged(machine, call)
    if name in ("broadcast_object_list", "scatter_object_list") and call.args:
        received: dict[int, Value] = {}  # filled in place: what a rank put there itself is gone
        whole = name == "broadcast_object_list" and part_of_job(group) is None
        for _, leaf in machine.alternatives(call.args[0]):
            if isinstance(leaf, ListV):
                held = machine.items(leaf)
                items = tuple(
                    (path, received.setdefault(position, _received(machine, name, sent, whole)))
                    for position, (path, sent) in enumerate(held.items)
                )
                machine.store.put(leaf.id, Items(items, held.exact, held.open_why))
    made = unknown(f"{name}()")
    if name == "new_group":
        ranks = call.arg(0, "ranks")
        made.atom.know(Group(whole=True) if ranks is None or ranks == NONE else made_of(machine, ranks))
    return made


def _received(machine: Machine, name: str, sent: Value, whole: bool) -> Obj:
    """Data that was pickled has no part in any model. What is asked of it is open, unless it is always one constant.

    ``whole``: all ranks of the job have the same from here on.
    """
    found = unknown(f"what {name}() received")
    found.atom.shared = whole
    possible = {
        leaf
        for path, leaf in machine.alternatives(sent)
        if leaf != NONE or not path.literals or not all(machine.about_rank(formula) for formula, _ in path.literals)
    }  # what is there on ranks that send nothing does not count
    if all(is_plain(leaf) for _, leaf in machine.alternatives(sent)):
        found.atom.know(Plain())
    found.atom.apart = len(possible) > 1 or not all(isinstance(leaf, Const) for leaf in possible)
    return found


def _in_place(call: Call) -> bool:
    """The functional collectives of the same names leave their argument alone and return the result."""
    return isinstance(call.node.parent, nodes.Expr) or "async_op" in call.kwargs


@external(
    "torch.distributed.utils._sync_module_states",
    "torch.distributed.utils._sync_params_and_buffers",
    "torch.distributed._broadcast_coalesced",
)
def synchronised(machine: Machine, call: Call) -> Value:
    """What DDP does before it begins."""
    machine.emit(events.Collective(name="broadcast()", group=None, sure=True), call.node)
    return NONE


def _is_group(value: Value) -> bool:
    return isinstance(value, Obj) and value.atom.state(Group) is not None


def part_of_job(group: Value | None) -> Value | None:
    """A group that may be only some of the ranks; None for the whole job."""
    whole = group is None or all(_is_whole(leaf) for _, leaf in options(group))
    return None if whole else group


def _is_whole(group: Value) -> bool:
    known = group.atom.state(Group) if isinstance(group, Obj) else None
    return group == NONE or known is not None and known.whole


@external("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.get_total_norm")
def clip(machine: Machine, call: Call) -> Value:
    """Norms of gradients: a collective, and a use of what was accumulated."""
    given = call.arg(0, "parameters")
    if given is None:
        return unknown("the gradients' norm")
    generators.consumed_by_call(machine, given, call.node, f"{call.name.rsplit('.', 1)[-1]}()")
    return machine.over(given, lambda params: _clip(machine, call, params))


def _clip(machine: Machine, call: Call, params: Value) -> Value:
    """The same on one path: on another one it may be of another model."""
    name = call.name.rsplit(".", 1)[-1]
    if name == "clip_grad_norm_":
        clipped(machine, call, params)
    first = next((leaf for leaf in machine.inside(params) if isinstance(leaf, (Params, ParamV))), None)
    held, _ = optim.holdings(machine, [params]) if first is None else ((), True)
    models = machine.objects(first.model) if first is not None else [each.model for each in held]
    for model in dict.fromkeys(models):
        machine.emit(events.Collective(name=f"{name}()", group=None, sure=True), call.node, model)
    return dtensors.norm(machine, params, machine.site(call.node))


@method("backward")
def backward(machine: Machine, obj: Obj, call: Call) -> Value:
    """Gradients of every model called so far may be reduced here."""
    if machine.libraries.any_sharded:
        machine.emit(events.Backward(), call.node, obj)
    return NONE


@external("torch.autograd.backward")
def autograd_backward(machine: Machine, call: Call) -> Value:
    machine.emit(events.Backward(), call.node)
    return NONE
