"""State dicts, checkpoints, and what of them is gathered."""

from __future__ import annotations

from dataclasses import replace

from astroid import nodes

from ....domain import events
from ....domain.values import (
    NONE,
    AbstractObject,
    Const,
    Ext,
    Loaded,
    Obj,
    ParamV,
    Partial,
    StateDict,
    StateTensor,
    TupleV,
    Value,
    unknown,
)
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method
from ..initialisation import blank, draws, slices
from ..precision.dtypes import parameter_converted
from ..precision.precision import dtype_name
from ..ranks.collectives import part_of_job
from ..sharding import parameters
from ..training import local_parts, schedulers
from . import gathering
from .async_saves import note_async_save
from .key_prefixes import note_keys, prefixed
from .load_targets import note_load
from .loaded_values import take_loaded
from .state_helpers import Options, note_helper, note_options, option

# -- hooks on state dicts, which torch calls with the module, the dict, and lists and words of its own
_SAVED = ("state_dict", "prefix", "local_metadata")
_LOADED = (*_SAVED, "strict", "missing_keys", "unexpected_keys", "error_msgs")
_HANDED = {
    "register_state_dict_pre_hook": ("prefix", "keep_vars"),
    "register_state_dict_post_hook": _SAVED,
    "_register_state_dict_hook": _SAVED,
    "register_load_state_dict_pre_hook": _LOADED,
    "_register_load_state_dict_pre_hook": _LOADED,
    "register_load_state_dict_post_hook": ("incompatible_keys",),
}


@method(*_HANDED)
def state_hook(machine: Machine, obj: Obj, call: Call) -> Value:
    """It runs once, nobody knows when; besides the module it is handed dicts and lists of tensors and names."""
    alone = call.name == "_register_load_state_dict_pre_hook" and call.arg(1, "with_module") in (None, Const(False))
    handed = [*([] if alone else [obj]), *map(unknown, _HANDED[call.name])]
    hooks = [leaf for value in call.all for _, leaf in machine.alternatives(value)]
    machine.libraries.callbacks(Call(call.node, [Partial(hook, tuple(handed), ()) for hook in hooks]))
    return unknown(f"{call.name}()")


HELPERS = "torch.distributed.checkpoint.state_dict."
DCP = "torch.distributed.checkpoint."
# What else of torch has a state dict: all calls below these names make such objects, and no optimizers.
_NO_OPTIMIZERS = ("torch.optim.lr_scheduler.", "torch.amp.", "torch.cuda.amp.", "torch.utils.data.", "torchdata.")


@method("state_dict")
def state_dict(machine: Machine, obj: Obj, call: Call) -> Value:
    what = "optimizer" if obj in machine.libraries.optimizers else "model"
    wrapped = prefixed(machine, obj, call) if what == "model" else None
    made = machine.site(call.node)
    return StateDict(what, obj, machine.now, prefixed=wrapped, numbered=_numbered(machine, obj), made=made)


def _numbered(machine: Machine, obj: Obj) -> bool | None:
    """Is it an optimizer, whose state dict numbers its parameters? None where that is not known."""
    if obj in machine.libraries.optimizers:
        return True
    cls = machine.class_of(obj)
    known = bool(obj.atom.module) or machine.libraries.in_sharded(obj)
    known |= obj.parent is None and obj.atom.origin.startswith(_NO_OPTIMIZERS)
    return False if known or cls is not None and machine.is_module_class(cls) else None


@external(HELPERS + "StateDictOptions")
def state_dict_options(machine: Machine, call: Call) -> Value:
    atom = AbstractObject("external", cls=Ext(HELPERS + "StateDictOptions"), origin="StateDictOptions")
    note_options(machine, atom, call)
    return atom.root


def _full(machine: Machine, options: Value | None) -> bool | None:
    """Do these options ask for gathered tensors?"""
    if options is None or options == NONE:
        return False
    answers = {_asks_full(leaf) if isinstance(leaf, Obj) else False for _, leaf in machine.alternatives(options)}
    return answers.pop() if len(answers) == 1 else None


def _asks_full(options: Obj) -> bool | None:
    known = options.atom.state(Options)
    return known.says("full_state_dict") if known is not None else None


@external(HELPERS + "get_model_state_dict", HELPERS + "get_optimizer_state_dict", HELPERS + "get_state_dict")
def get_state_dict(machine: Machine, call: Call) -> Value:
    """Gathered or not, as its options say; unknown where these are."""
    name = call.name.rsplit(".", 1)[-1]
    full = _full(machine, call.arg(None, "options"))
    model = call.arg(0, "model") or NONE
    optimizers = call.arg(1, "optimizers") or NONE
    first = _subject(machine, model)
    note_helper(machine, name, call, first)
    if full or full is None:
        machine.emit(events.Collective(name=f"{name}()", group=None, sure=full is True), call.node, first)
    options = machine.alternatives(call.arg(None, "options") or NONE)
    rank0 = full is True and all(option(leaf, "cpu_offload") is True for _, leaf in options)
    made = machine.site(call.node)
    of_model = StateDict("model", model, machine.now, full, rank0, made=made)
    of_optimizer = StateDict("optimizer", optimizers, machine.now, full, rank0, made=made)
    if name == "get_state_dict":
        return TupleV((of_model, of_optimizer))
    return of_model if name == "get_model_state_dict" else of_optimizer


def _subject(machine: Machine, value: Value) -> Obj | None:
    return next((leaf for leaf in machine.inside(value) if isinstance(leaf, Obj)), None)


@external(HELPERS + "set_model_state_dict", HELPERS + "set_optimizer_state_dict", HELPERS + "set_state_dict")
def set_state_dict(machine: Machine, call: Call) -> Value:
    model = _subject(machine, call.arg(0, "model") or NONE)
    note_helper(machine, call.name.rsplit(".", 1)[-1], call, model)
    machine.emit(events.StateSet(), call.node, model)
    return unknown("incompatible keys")


@external(DCP + "save", DCP + "save_state_dict", DCP + "async_save", DCP + "load", DCP + "load_state_dict")
def dcp(machine: Machine, call: Call) -> Value:
    """Saves and loads of DCP: collectives that ask Stateful objects for their state."""
    name = call.name.rsplit(".", 1)[-1]
    alone = call.arg(None, "no_dist")
    group = call.arg(None, "process_group")
    if alone is None or alone == Const(False):
        machine.emit(events.Collective(name=f"dcp.{name}()", group=part_of_job(group), sure=True), call.node)
    states = [each for value in call.all for each in asked_states(machine, value, call)]
    if "save" in name:
        payload = call.arg(0, "state_dict") or NONE
        note_keys(machine, call, payload, f"dcp.{name}")
        given = TupleV((payload, *(state for _, state in states)))
        machine.emit(events.DcpSaved(payload=given, by=f"dcp.{name}", alone=_alone(call)), call.node)
    if "load" in name:
        note_load(machine, call, [state for _, state in states])
        take_loaded(machine, [*call.all[:1], *(state for _, state in states)], agreed=not _alone(call))
        for owner, state in states:  # what is loaded lies in the same dict, which its owner gets back
            if (found := machine.find_attr(owner, "load_state_dict")) is not None:
                machine.call(found, Call(call.node, [state]))
    if name == "async_save":
        return note_async_save(machine, call)
    return unknown(f"dcp.{name}()")


def _alone(call: Call) -> bool:
    """May each rank write a checkpoint of its own, or keys of its own, which a planner could give it?"""
    usual = {"no_dist": Const(False), "use_collectives": Const(True), "planner": NONE}
    given = [(value, call.arg(None, name)) for name, value in usual.items()]
    return bool(call.open_why) or any(value not in (None, own) for own, value in given)


def asked_states(machine: Machine, value: Value, call: Call) -> list[tuple[Obj, Value]]:
    """The Stateful objects that DCP is given, each with the state that it asks of it."""
    made = []
    for leaf in list(machine.inside(value)):
        if isinstance(leaf, Obj) and leaf.atom.kind == "instance" and not leaf.atom.module:
            if (found := machine.find_attr(leaf, "state_dict")) is not None:
                made.append((leaf, machine.call(found, Call(call.node, []))))
    return made


@external("torch.save", "safetensors.torch.save_file", "safetensors.torch.save_model", "safetensors.torch.save")
def save(machine: Machine, call: Call) -> Value:
    payload, path = (
        call.arg(0, "obj") or call.arg(None, "tensors") or call.arg(None, "model"),
        call.arg(1, "f") or call.arg(None, "filename"),
    )
    wrapped = tuple(machine.wrapped_by)
    machine.emit(events.Saved(payload=payload or NONE, path=path or NONE, by=call.name, chosen_by=wrapped), call.node)
    note_keys(machine, call, payload or NONE, call.name)
    return NONE


@external("torch.load", "safetensors.torch.load_file", "safetensors.torch.load", "torch.hub.load_state_dict_from_url")
def load(machine: Machine, call: Call) -> Value:
    path = call.arg(0, "f") or call.arg(None, "filename") or NONE
    return Loaded(machine.now, machine.per_rank(path), path)


@method("load_state_dict")
def load_state_dict(machine: Machine, obj: Obj, call: Call) -> Value:
    payload, assigns = call.arg(0, "state_dict") or NONE, call.arg(2, "assign") not in (None, Const(False))
    schedulers.loaded(machine, obj, call)
    if obj in machine.libraries.optimizers:
        machine.emit(events.OptimizerLoaded(payload=payload, assign=assigns), call.node, obj)
    else:
        if machine.about_rank(machine.guard.formula):  # what the other ranks get is of interest from here on
            machine.libraries.blank.atoms.add(machine.libraries.address(obj)[0])
        strict, dropped = call.arg(1, "strict") != Const(False), isinstance(call.node.parent, nodes.Expr)
        machine.emit(events.Loaded(payload=payload, assign=assigns, strict=strict, dropped=dropped), call.node, obj)
    return unknown("incompatible keys")


def tensor_method(machine: Machine, leaf: StateTensor | ParamV, name: str, call: Call) -> Value:
    """Methods of one tensor of a state dict, or of a parameter."""
    if isinstance(leaf, ParamV) and (name in ("float", "double") or name == "to" and any(map(dtype_name, call.all))):
        parameter_converted(machine, leaf, call.node)
    if name in parameters.HOOKS:
        parameters.hooked(machine, leaf, call, name)
    if name in ("full_tensor", "redistribute"):
        owner = leaf.of.owner if isinstance(leaf, StateTensor) else leaf.model
        sure = not isinstance(leaf, StateTensor) or leaf.of.full is False  # or it may be a gathered, plain tensor
        machine.emit(events.Collective(name=f"{name}()", group=None, sure=sure), call.node, _subject(machine, owner))
        kept = replace(leaf, grad=False) if isinstance(leaf, ParamV) else leaf
        return unknown("a full tensor") if name == "full_tensor" else kept
    if name == "requires_grad_" and isinstance(leaf, ParamV) and call.arg(0, "requires_grad") == Const(False):
        machine.libraries.frozen(leaf, Const(False), call.node)
    if name in ("detach", "data", "requires_grad_"):
        return leaf
    if name in ("clone", "contiguous", "cpu", "cuda", "to", "float", "half", "bfloat16", "type"):
        if isinstance(leaf, StateTensor):
            return replace(leaf, copied=True) if name == "clone" else leaf
        return replace(leaf, copied=True, apart=True)
    if isinstance(leaf, ParamV):
        slices.method_called(machine, leaf, name, call)
        parameters.changed(machine, leaf, name, call)
        draws.drawn_by_tensor(machine, leaf, name, call)
        local_parts.method_called(machine, leaf, name, call)
    if name.endswith("_"):
        blank.written(machine, call.node, [leaf], in_place=True, buffers=False)
    if name.endswith("_") and isinstance(leaf, ParamV):
        return leaf
    if name == "to_local" and isinstance(leaf, ParamV):
        shard = parameters.shard_of(leaf)
        local_parts.taken(machine, leaf, shard, call.node)
        return shard
    made = unknown(f"{name}()")
    made.atom.operands = (leaf,)
    return made


def state_dict_method(machine: Machine, leaf: StateDict, name: str, call: Call) -> Value:
    """Methods of the dict that ``state_dict()`` returns."""
    tensor, key = gathering.each_tensor(machine, leaf), gathering.each_key(leaf)
    if name == "items":
        return machine.new_list([TupleV((key, tensor))], exact=False)
    if name == "values":
        return machine.new_list([tensor], exact=False)
    if name == "keys":
        return machine.new_list([key], exact=False)
    if name in ("get", "pop") and call.args:
        found = gathering.item(machine, leaf, call.args[0])
        if name == "pop":
            gathering.item_taken(machine, leaf, call.args[0])
        return found
    if name == "update":
        gathering.updated(machine, leaf, call)
    return leaf if name == "copy" else unknown(f"{name}()")
