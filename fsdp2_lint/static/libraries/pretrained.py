"""Models of Hugging Face's libraries: what ``save_pretrained`` writes, and where their embeddings are."""

from __future__ import annotations

from ..domain import events
from ..domain.values import ASIDE, NONE, Ext, Obj, StateDict, Value
from ..interpreter.call import Call
from . import adapters
from .interface import Machine
from .tables import method
from .torch.sharding.module_tree import was_loaded_by_library


@method("save_pretrained")
def save_pretrained(machine: Machine, obj: Obj, call: Call) -> Value:
    """Writes the given state dict through safetensors, or the model's own."""
    given = call.kwargs.get("state_dict", NONE)
    payload = given if given != NONE else _own(machine, obj)
    if payload is not None:
        machine.emit(
            events.Saved(
                payload=payload,
                path=call.arg(0, "save_directory") or NONE,
                by="save_pretrained",
                chosen_by=("save_pretrained()",),
                own=given == NONE,
            ),
            call.node,
        )
    return NONE


def embeddings(model: Obj, name: str) -> Obj | None:
    """The embeddings that a language model is asked for: no part of its blocks, whatever it calls them.

    Read off ``PreTrainedModel`` of transformers 5. None: something else is asked for, or of something else.
    """
    if f"{name}()" in ASIDE and was_loaded_by_library(model) and model.atom.origin.startswith("transformers."):
        return model.child(f"{name}()")
    return None


def _own(machine: Machine, obj: Obj) -> StateDict | None:
    """The state dict of a sharded model that it writes: none gathers it in PEFT and diffusers, as of August 2026.

    Whether transformers does depends on its version (huggingface/transformers#37919, of May 2025). None: it is not
    known whose method this is.
    """
    model = adapters.inside(machine, obj)
    if not machine.libraries.in_sharded(model):
        return None
    if model is not obj:
        return StateDict("model", model, machine.now)
    if machine.libraries.is_pretrained(model) or was_loaded_by_library(model):
        return StateDict("model", model, machine.now, full=False if _of_diffusers(machine, model) else None)
    return None


def _of_diffusers(machine: Machine, model: Obj) -> bool:
    cls = machine.class_of(model)
    bases = machine.mro(cls) if cls is not None else []
    known = [base.qname for base in bases if isinstance(base, Ext)] or [model.atom.origin]
    return any(name.startswith("diffusers.") for name in known)
