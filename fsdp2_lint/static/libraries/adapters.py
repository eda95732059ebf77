"""PEFT: small trainable matrices inside a model, whose own parameters are frozen."""

from __future__ import annotations

from ..domain import events
from ..domain.values import NONE, AbstractObject, Const, Ext, Obj, StateDict, Value, unknown
from ..interpreter.call import Call
from .interface import Machine
from .tables import external, method
from .torch.sharding.modules import freeze

_TAKES_MODEL_FIRST = (
    "peft.get_peft_model", "peft.mapping.get_peft_model", "peft.mapping_func.get_peft_model",
    "peft.PeftModel.from_pretrained", "peft.PeftModelForCausalLM.from_pretrained", "peft.PeftModel",
    "peft.PeftModelForCausalLM", "peft.PeftModelForSeq2SeqLM", "peft.PeftModelForSequenceClassification",
    "peft.PeftModelForFeatureExtraction",
)  # fmt: skip
_OWN = (
    "peft_config",
    "active_adapter",
    "active_adapters",
    "modules_to_save",
    "prompt_encoder",
    "trainable_adapter_name",
)


_WRAPPERS = (_ADAPTED, _TUNER) = ("peft.PeftModel", "peft.tuners.lora.LoraModel")


@external(*_TAKES_MODEL_FIRST)
def get_peft_model(machine: Machine, call: Call) -> Value:
    """A wrapper around a tuner around the model; attributes of each are found through the outer ones."""
    model = call.arg(0, "model")
    if model is None:
        return unknown("get_peft_model()")

    def one(model: Value) -> Value:
        attach(machine, model, call, "get_peft_model()")
        tuner = _around(machine, model, "model", _TUNER, call)
        return _around(machine, tuner, "base_model", _ADAPTED, call)

    return machine.over(model, one)  # of two that it may be, each has a wrapper of its own


@external("peft.inject_adapter_in_model", "peft.mapping.inject_adapter_in_model")
def inject(machine: Machine, call: Call) -> Value:
    """In place."""
    if (model := call.arg(1, "model")) is not None:
        attach(machine, model, call, "inject_adapter_in_model()")
    return model if model is not None else unknown("inject_adapter_in_model()")


@external(
    "peft.get_peft_model_state_dict",
    "peft.utils.get_peft_model_state_dict",
    "peft.utils.save_and_load.get_peft_model_state_dict",
)
def adapter_state(machine: Machine, call: Call) -> Value:
    """Those entries of the model's state dict, or of the one that is given, that belong to an adapter: as they are."""
    given = call.arg(1, "state_dict")
    if given is not None and given != NONE:
        return given
    models = [inside(machine, leaf) for leaf in machine.objects(call.arg(0, "model"))]
    if len(models) != 1:
        return unknown("an adapter's state dict")
    return StateDict("model", models[0], machine.now, numbered=False, made=machine.site(call.node))


def inside(machine: Machine, model: Obj) -> Obj:
    """The model that PEFT's wrappers hold; itself where nothing is around it."""
    while model.parent is None and model.atom.wrapper and isinstance(model.atom.cls, Ext):
        held = machine.store.get((model, model.atom.wrapper)) if model.atom.cls.qname in _WRAPPERS else None
        if not isinstance(held, Obj):
            break
        model = held
    return model


@method("add_adapter", "load_lora_adapter")
def add_adapter(machine: Machine, obj: Obj, call: Call) -> Value:
    """PEFT through transformers and diffusers."""
    attach(machine, obj, call, f"{call.name}()", frozen=False)
    return NONE


def attach(machine: Machine, model: Value, call: Call, name: str, *, frozen: bool = True) -> None:
    """``frozen``: what the model had before is not trained any more."""
    for leaf in machine.objects(model):
        if frozen:
            freeze(machine, leaf, Const(False), call.node)
        if machine.libraries.any_sharded and machine.libraries.in_sharded(leaf):
            part = AbstractObject(
                "external", cls=Ext("torch.nn.Linear"), origin="an adapter", site=machine.site(call.node)
            )
            part.module = True
            machine.emit(events.Attached(name=name, value=part.root), call.node, leaf)


def _around(machine: Machine, inner: Value, name: str, qname: str, call: Call) -> Obj:
    atom = AbstractObject("external", cls=Ext(qname), origin=qname, site=machine.site(call.node))
    atom.module, atom.wrapper = True, name
    machine.store.put((atom.root, name), inner)
    machine.libraries.adopt(atom.root, name, inner)
    return atom.root


def inner_of(machine: Machine, obj: Obj, name: str) -> Value | None:
    """What the wrapper ``obj`` looks ``name`` up in, where it has no such attribute itself."""
    held = obj.atom.wrapper if obj.parent is None else None
    adapted = isinstance(obj.atom.cls, Ext) and obj.atom.cls.qname.startswith("peft.")
    return machine.store.get((obj, held)) if held and adapted and name not in (*_OWN, "forward") else None
