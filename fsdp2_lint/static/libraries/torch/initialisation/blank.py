"""Models without values, made on the meta device or allocated by ``to_empty``, and all that may fill them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import (
    NONE,
    SOME,
    AbstractObject,
    Bound,
    ClassV,
    Const,
    Ext,
    Func,
    Obj,
    Params,
    ParamV,
    Partial,
    Rank,
    StateDict,
    StateTensor,
    Value,
    is_call,
    is_each,
)
from ....frontend.packages import ALONE, builds_models, effect_of
from ....interpreter.call import Call
from ....interpreter.expressions.numbers import is_calculated
from ...computed import Plain
from ...interface import Machine, MadeOn
from ...outputs import is_output
from ...tables import EXTERNALS, IN_PLACE, MAKING, TENSOR_METHODS, VIEWS, external, method, method_observer, observer
from ..checkpoints.async_saves import SAVING
from ..launch.device import Device, device_kind, device_of, touch
from ..sharding.parameters import in_memory_of

# Functions of torch that look at what they are given. Those whose names end with an underscore write.
_READERS = ("torch.", "builtins.", "logging.", "numpy.", "inspect.", "typing.", "copy.", "itertools.", "functools.")
_WRITERS = ("torch.nn.init.", "torch.distributed.", "torch._foreach_", "torch.nn.utils.", "torch.nn.Module.")
_WRITING_BUILTINS = ("builtins.setattr", "builtins.map", "builtins.exec", "builtins.eval")
# Methods of modules and tensors of torch, and of models of transformers and diffusers, that tell or switch something.
_TELLING_METHODS = frozenset(
    """get_parameter get_buffer get_submodule get_extra_state named_modules named_children named_buffers
    named_parameters register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook register_state_dict_pre_hook compile extra_repr
    state_dict item detach clone cpu numpy max min any all isnan norm split stride element_size nelement data_ptr
    untyped_storage storage full_tensor to_local redistribute is_contiguous is_floating_point get_device
    get_input_embeddings get_output_embeddings get_decoder get_encoder get_memory_footprint num_parameters
    gradient_checkpointing_enable gradient_checkpointing_disable enable_gradient_checkpointing
    disable_gradient_checkpointing enable_input_require_grads disable_input_require_grads estimate_tokens
    floating_point_ops save_pretrained push_to_hub can_generate""".split()
)
_READING_METHODS = TENSOR_METHODS | MAKING | _TELLING_METHODS
_LOADER = "torch.utils.data.DataLoader"
_BUFFERS = (("buffers", ()), ("named_buffers", ()))
_NO_TENSORS = (Const, Rank, Func, Bound, Partial, ClassV)
FILLERS = (
    "torch.distributed.broadcast", "torch.distributed.scatter", "torch.distributed.checkpoint.load",
    "torch.distributed.checkpoint.state_dict.set_model", "torch.distributed.checkpoint.state_dict.set_state",
)  # fmt: skip
_MANAGERS = ("accelerate.init_empty_weights", "accelerate.big_modeling.init_empty_weights")


@record
class Buffers:
    """By name: the path on which a module has a buffer that no state dict brings back; None where one does."""

    lost: Mapping[str, PathCondition | None]


@external(*_MANAGERS)
def empty_weights(machine: Machine, call: Call) -> Value:
    atom = AbstractObject("external", cls=Ext("torch.device"), origin="init_empty_weights")
    atom.know(Device(Const("meta"), None))
    return atom.root


def made_on(machine: Machine, value: Value | None) -> MadeOn | None:
    """The first path on which ``value`` is a device that is known; one on which it is any device where none is."""
    unclear = None
    for guard, leaf in machine.alternatives(value) if value is not None else ():
        if kind := "meta" if device_of(leaf) == Const("meta") else device_kind(machine, leaf):
            return MadeOn(guard, machine.frame.id, kind)
        unclear = unclear or MadeOn(guard, machine.frame.id, events.SOMEWHERE) if leaf != NONE else unclear
    return unclear


def _of_context(machine: Machine, value: Value) -> MadeOn | None:
    """Only an object of ``torch.device`` is a context of its own."""
    is_device = any(isinstance(leaf, Obj) and leaf.atom.state(Device) for _, leaf in machine.alternatives(value))
    return made_on(machine, value) if is_device else None


def enter(machine: Machine, value: Value) -> None:
    if (place := _of_context(machine, value)) is not None:
        machine.libraries.blank.devices.append(place)


def leave(machine: Machine, value: Value) -> None:
    if machine.libraries.blank.devices and _of_context(machine, value) is not None:
        machine.libraries.blank.devices.pop()


@external("torch.set_default_device")
def set_default_device(machine: Machine, call: Call) -> Value:
    touch(machine, call.node, call.arg(0, "device"))
    place = made_on(machine, call.arg(0, "device"))
    if place is not None and (path := machine.guard.join(place.path)) is not None:
        place = place._replace(path=path)
    machine.libraries.blank.default = place
    return NONE


def made(machine: Machine, obj: Obj, node: nodes.NodeNG) -> None:
    """A module was built: one without memory, inside a context of the meta device; or on a GPU, inside one of that."""
    blank = machine.libraries.blank
    active = {frame.id for frame in (*machine.frames, *machine.suspended)} if blank.devices else ()
    inner = blank.devices[-1] if blank.devices and blank.devices[-1].frame in active else None
    place = inner or blank.default  # a call that was cut off inside its context left it open
    if place is not None and place.kind == "meta":
        _begin(machine, obj, node, place.path)
    elif place is not None and (path := machine.guard.join(place.path)) is not None:
        if not _names_its_own(machine, obj, place.kind):
            with machine.on_path(path):
                machine.emit(events.Moved(to=place.kind), node, obj)


def _names_its_own(machine: Machine, obj: Obj, kind: str) -> bool:
    """Does a layer of it say itself where it is made (``device="meta"``), and not here?"""
    elsewhere = {step.subject for step in machine.trace.of(events.Moved) if step.what.to != kind}
    return any(machine.libraries.belongs(each, {obj.atom}) for each in elsewhere if each is not None)


def made_by_library(machine: Machine, obj: Obj, qname: str, node: nodes.NodeNG) -> None:
    name = qname.rsplit(".", 1)[-1]
    if builds_models(qname) and (name.endswith("from_config") or name[:1].isupper()):
        made(machine, obj, node)


def _begin(machine: Machine, obj: Obj, node: nodes.NodeNG, guard: PathCondition) -> None:
    if (path := machine.guard.join(guard)) is not None:
        machine.libraries.blank.atoms.add(machine.libraries.address(obj)[0])
        with machine.on_path(path):
            machine.emit(events.Meta(), node, obj)


@method("to_empty")
def to_empty(machine: Machine, obj: Obj, call: Call) -> Value:
    device = call.arg(None, "device") or call.arg(0, "device")
    touch(machine, call.node, device)
    if device != Const("meta"):
        machine.libraries.blank.atoms.add(machine.libraries.address(obj)[0])
        for path, kind in _kinds(machine, device):
            with machine.on_path(path):
                machine.emit(events.Emptied(to=kind), call.node, obj)
    return obj


def _kinds(machine: Machine, device: Value | None) -> list[tuple[PathCondition, str]]:
    """Of which kind a device is, on each path where it is another one; empty where that is not known."""
    found: list[tuple[PathCondition, str]] = []
    for guard, leaf in machine.alternatives(device) if device is not None else ():
        if (path := machine.guard.join(guard)) is not None:
            found.append((path, "cpu" if device_of(leaf) == Const("cpu") else device_kind(machine, leaf)))
    kinds = {kind for _, kind in found}
    return found if len(kinds) > 1 else [(machine.guard, kinds.pop() if kinds else "")]


@method("register_buffer")
def register_buffer(machine: Machine, obj: Obj, call: Call) -> Value:
    """Only a state dict brings a persistent buffer back."""
    name, tensor = call.arg(0, "name"), call.arg(1, "tensor")
    if isinstance(name, Const) and isinstance(name.value, str):
        lost = call.arg(2, "persistent") == Const(False) and tensor not in (None, NONE)
        note_buffer(obj.atom, name.value, machine.guard if lost else None)
        overwritten(machine, obj.child(name.value), call.node)
    else:
        overwritten(machine, obj, call.node)
    return NONE


def note_buffer(atom: AbstractObject, name: str, lost: PathCondition | None) -> None:
    """What is registered again under a name is as it was registered first."""
    if name not in (known := buffers(atom)):
        atom.know(Buffers({**known, name: lost}))


def buffers(atom: AbstractObject) -> Mapping[str, PathCondition | None]:
    """Those that a module registers itself: see :class:`Buffers`."""
    known = atom.state(Buffers)
    return known.lost if known is not None else {}


def of_buffers(obj: Obj) -> bool:
    """Is it a buffer, or a part of one?"""
    if any(isinstance(item, tuple) and item[1:] in _BUFFERS for item in obj.path):
        return True
    return any(at.parent is obj.atom.root and at.item in buffers(obj.atom) for at in obj.above)


def in_blank(machine: Machine, obj: Obj) -> bool:
    """Is it a part of a model without values? What the model returned is none."""
    return machine.libraries.belongs(obj, machine.libraries.blank.atoms) and not is_output(obj)


def owners(machine: Machine, values: Iterable[Value]) -> Iterator[Obj]:
    """The modules and tensors without values that these lead to."""
    for value in values:
        for leaf in machine.inside(value):
            yield from _owners_of(machine, in_memory_of(leaf))


def _owners_of(machine: Machine, leaf: Value) -> list[Obj]:
    if isinstance(leaf, Bound):
        leaf = leaf.receiver
    if isinstance(leaf, Obj):
        return [leaf] if in_blank(machine, leaf) else []
    state = leaf.of if isinstance(leaf, StateTensor) else leaf
    if isinstance(state, StateDict):
        return [] if _thrown_away(machine, state) else machine.objects(state.owner)
    return machine.objects(state.model) if isinstance(state, (Params, ParamV)) else []


def _thrown_away(machine: Machine, state: StateDict) -> bool:
    """Was it read while the model lay on meta? ``to_empty`` made other tensors since, and these have no memory."""
    owners = list(machine.objects(state.owner))
    hollow = {step.subject for step in machine.trace.of(events.Meta) if machine.guard.implies(step.guard)}
    emptied = [step for step in machine.trace.of(events.Emptied) if step.index >= state.read]
    since = {step.subject for step in emptied if machine.guard.implies(step.guard)}
    return bool(owners) and all(owner in hollow and owner in since for owner in owners)


def written(
    machine: Machine,
    node: nodes.NodeNG,
    values: Iterable[Value],
    *,
    in_place: bool = False,
    buffers: bool = True,
    from_state: bool = False,
) -> None:
    """These may be written here. ``in_place``: the tensors stay, on whatever device they are."""
    if not machine.libraries.blank.atoms:
        return
    found: dict[tuple[Obj, bool], None] = {}
    for leaf in (in_memory_of(inner) for value in values for inner in machine.inside(value)):
        more = buffers and not isinstance(leaf, (Params, ParamV))  # who has a parameter in hand gets no buffer by it
        found.update(dict.fromkeys((obj, more) for obj in _owners_of(machine, leaf)))
    for obj, more in found:
        machine.emit(events.Written(in_place=in_place, buffers=more, from_state=from_state), node, obj)


def overwritten(machine: Machine, obj: Obj, node: nodes.NodeNG, value: Value | None = None) -> None:
    """An attribute or item is set; to a function, a number or a string, it is no tensor."""
    if not machine.libraries.blank.atoms or isinstance(value, _NO_TENSORS):
        return
    if isinstance(value, Obj) and in_blank(machine, value):
        return  # a part of the model is put back, perhaps compiled
    if in_blank(machine, obj):
        while obj.parent is not None and obj.item in (SOME, "_buffers", "_parameters", "_modules"):
            obj = obj.parent
        if obj.parent is not None and obj.parent.item in ("_buffers", "_parameters", "_modules"):
            obj = obj.parent.parent or obj
        machine.emit(events.Written(in_place=False, buffers=True), node, obj)


@observer
def handed(machine: Machine, qname: str, call: Call) -> None:
    """A function of another package gets parts of such a model."""
    if not machine.libraries.blank.atoms or qname in EXTERNALS and not qname.startswith(FILLERS):
        return
    name = qname.rsplit(".", 1)[-1]
    if qname.startswith(FILLERS):
        by_state = "state_dict" in qname or "checkpoint" in qname
        written(machine, call.node, call.all, buffers=not by_state, from_state=by_state)
        return
    reads = qname.startswith(_READERS) and not qname.startswith((*_WRITERS, *_WRITING_BUILTINS))
    if reads and not (name.endswith("_") and not name.endswith("__") or "load" in name):
        return
    tensors = qname.startswith("torch.nn.init.")
    written(machine, call.node, call.all, in_place=tensors, buffers=not tensors or not _parameters_only(call))
    if tensors:
        filled_somewhere(machine, call.args[:1], call.node)


def _parameters_only(call: Call) -> bool:
    return all(isinstance(value, ParamV) for value in call.args[:1])


def filled_somewhere(machine: Machine, values: list[Value], node: nodes.NodeNG) -> None:
    """Something of unknown origin gets its first values; it may be a part of any model."""
    for value in values:
        for leaf in machine.objects(value):
            if _may_be_a_part(leaf) and not in_blank(machine, leaf):
                machine.emit(events.Written(in_place=True, buffers=True, of=leaf), node)


def _may_be_a_part(obj: Obj) -> bool:
    """Of some model; not what a function of a package made that knows nothing of torch, such as a match of ``re``.

    What is calculated, and a slice of it, is a new tensor, or a list of what there was. The shard of a parameter
    belongs to the model that has the parameter.
    """
    if in_memory_of(obj) is not obj or is_calculated(obj) or obj.atom.state(Plain) is not None:
        return False
    if any(is_call(item) and item[1] in MAKING and item[1] not in VIEWS for item in obj.path):
        return False
    known = effect_of(obj.atom.origin) == ALONE and not obj.atom.origin.startswith("torch.")
    known = known or obj.atom.origin == _LOADER and any(map(is_each, obj.path))  # a batch
    return obj.atom.kind in ("opaque", "unknown") and not known


@method_observer
def method_called(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """A method that is not followed; those of layers of torch write the layer's own parameters."""
    if name == "reset_parameters" and (machine.libraries.in_sharded(obj) or in_blank(machine, obj)):
        machine.emit(events.Reset(caught=_caught(machine, call.node)), call.node, obj)
    reader = obj.parent is None and obj.atom.origin.startswith((*_READERS, SAVING))  # such as a logger
    if not machine.libraries.blank.atoms or reader and not in_blank(machine, obj):
        return
    layer = _is_layer(machine, obj)
    # Models of packages write in place there as well: they are made of layers of torch, and initialised by name.
    in_place = name in IN_PLACE or name == "reset_parameters" and (layer or builds_models(obj.atom.origin))
    reads = name in _READING_METHODS or of_buffers(obj) and not name.endswith("_")  # as torch names what writes tensors
    given = [*(call.all if name not in TENSOR_METHODS else ()), *([] if reads else [obj])]
    written(machine, call.node, given, in_place=in_place, buffers=not layer)
    if not reads:
        filled_somewhere(machine, [obj], call.node)


def _is_layer(machine: Machine, obj: Obj) -> bool:
    known = classes_of(machine, obj)
    return bool(known) and all(isinstance(cls, Ext) and cls.qname.startswith("torch.nn.") for cls in known)


def classes_of(machine: Machine, obj: Obj) -> list[Value | None]:
    """The class that it was built of, or those of which the program asked on this path."""
    known = [obj.atom.cls] if obj.parent is None else []
    for formula, truth in machine.guard.literals:
        asked = formula[1] if truth and formula[0] == "truth" else None
        if isinstance(asked, tuple) and asked[0] == "isinst" and asked[1] is obj:
            known = [*asked[2]]
    return known


def _caught(machine: Machine, node: nodes.NodeNG) -> bool:
    """Does this code, or a caller of it, expect that it may fail?"""
    calls = [node, *(caller for _, caller in machine.calls)]
    return any(isinstance(above, nodes.Try) and above.handlers for at in calls for above in at.node_ancestors())
