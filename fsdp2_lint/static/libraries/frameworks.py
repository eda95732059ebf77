"""Libraries that place, wrap and re-map models and optimizers themselves."""

from __future__ import annotations

from ..domain import events
from ..domain.says import Says
from ..domain.values import NONE, AbstractObject, Cond, Ext, Obj, TupleV, Value, unknown
from ..interpreter.call import Call
from .interface import Machine
from .tables import FRAMEWORKS
from .torch.ranks.rank import GLOBAL, LOCAL

_RANKS: dict[str, Value] = {
    "process_index": GLOBAL, "global_rank": GLOBAL, "rank": GLOBAL, "local_process_index": LOCAL, "local_rank": LOCAL,
    "is_main_process": Cond(("is", GLOBAL, 0)), "is_global_zero": Cond(("is", GLOBAL, 0)),
    "is_world_process_zero": Cond(("is", GLOBAL, 0)), "is_local_main_process": Cond(("is", LOCAL, 0)),
}  # fmt: skip
# The same as methods: of Ray's context, and of the Trainer of Hugging Face, which users subclass.
_RANK_METHODS: dict[str, Value] = {
    "get_world_rank": GLOBAL, "get_local_rank": LOCAL,
    "is_world_process_zero": Cond(("is", GLOBAL, 0)), "is_local_process_zero": Cond(("is", LOCAL, 0)),
}  # fmt: skip


def framework_of(qname: str) -> str:
    if qname.startswith("transformers.") and qname.rsplit(".", 1)[-1] in ("Trainer", "Seq2SeqTrainer"):
        return "HF Trainer"
    return FRAMEWORKS.get(qname.split(".")[0], "")


def call_framework(machine: Machine, qname: str, call: Call) -> Value:
    managed(machine, framework_of(qname), call)
    atom = AbstractObject("external", cls=Ext(qname), origin=qname, site=machine.site(call.node))
    atom.framework = framework_of(qname)
    atom.said_by = Says.UNREAD if call.fixed else None
    machine.libraries.callbacks(call)
    return atom.root


def managed(machine: Machine, who: str, call: Call) -> None:
    """A framework got its hands on these objects; what it does to them is its own affair."""
    machine.emit(events.Managed(who=who, objects=machine.libraries.escape(call, who)), call.node)


def _inherits(machine: Machine, obj: Obj) -> bool:
    """Is its class derived from one of a framework?"""
    cls = machine.class_of(obj)
    return cls is not None and any(isinstance(base, Ext) and framework_of(base.qname) for base in machine.mro(cls))


def framework_attr(obj: Obj, name: str) -> Value | None:
    return _RANKS.get(name) if obj.parent is None and obj.atom.framework else None


def framework_method(machine: Machine, obj: Obj, name: str, call: Call) -> Value | None:
    """What a method of an object of a framework returns; None for one that means nothing special."""
    who = obj.atom.framework
    if name in _RANK_METHODS and not call.all and (who or _inherits(machine, obj)):
        return _RANK_METHODS[name]
    if not who:
        return None
    managed(machine, who, call)
    if name in ("prepare", "setup", "setup_module", "setup_optimizers", "prepare_model", "unwrap_model") and call.args:
        return call.args[0] if len(call.args) == 1 else TupleV(tuple(call.args))
    if name == "backward":
        machine.emit(events.Backward(), call.node)
        return NONE
    if name in ("wait_for_everyone", "barrier"):
        machine.emit(events.Collective(name=f"{name}()", group=None, sure=True), call.node)
        return NONE
    made = unknown(f"{name}()")
    made.atom.said_by = Says.UNREAD if obj.atom.said_by is Says.UNREAD and call.fixed else None
    return made
