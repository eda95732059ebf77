"""The one place of the static analysis that closes the world: why there is nothing but what was seen.

A *no* says that something did not happen, in a program of which parts may not have been seen. So it is only made here,
and only where all of these hold, as far as the question needs them:

- what is asked about began in code that was followed, and not in a package or a caller that was not;
- nothing that was not followed had it in hand, in the stretch of the program that matters;
- no statement on the way was cut off by a budget;
- where the question is about what a model is made of, its class and those of its parts were seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab.answers import Closed, No, Unknown, no, unknown
from .trace import Step, Trace
from .values import Atom

if TYPE_CHECKING:
    from .interp.interpreter import Interpreter

# What steps of a kind are called. A closure that names a kind says: all of them were looked at.
KINDS = {
    "async_save": "save in the background",
    "attached": "attached module",
    "autocast": "autocast",
    "backward": "backward pass",
    "called": "call of a module",
    "cast": "change of dtype",
    "clipped": "clipping of gradients",
    "collective": "collective",
    "consumed": "reading of a generator",
    "dcp_load": "load of a checkpoint",
    "device_set": "selection of a device",
    "device_touch": "use of the current device",
    "emptied": "to_empty call",
    "frozen": "freezing of parameters",
    "loaded": "load of weights",
    "mesh": "mesh",
    "moved": "move to a device",
    "optimizer": "optimizer",
    "param_hook": "hook on a parameter",
    "param_marked": "attribute of a parameter",
    "process_group": "process group",
    "reshard": "reshard call",
    "saved": "save",
    "seeded": "setting of a seed",
    "sharded": "sharding call",
    "state_helper": "state-dict helper",
    "stepped": "optimizer step",
    "sync": "switch of gradient synchronisation",
    "tied": "tie of weights",
    "unshard": "unshard call",
    "wrapped": "wrapper",
    "written": "write to parameters",
}  # fmt: skip


def followed(trace: Trace, *kinds: str) -> Closed:
    return Closed(tuple((KINDS[kind], trace.count(kind)) for kind in kinds))


def excluded(fact: str) -> No:
    """No: what was seen says otherwise."""
    return no(Closed(fact=fact))


def closed(trace: Trace, why: str, *kinds: str) -> No | Unknown:
    """No, unless something that was not seen may have done it: then ``why``."""
    return unknown(why) if why else no(followed(trace, *kinds))


def origin_unseen(machine: Interpreter, atom: Atom, label: str) -> str:
    """Why the object may have a past that was not seen; empty where it began in code that was followed."""
    if atom.kind == "parameter":
        return f"{label} comes from a caller that was not seen"
    if atom.kind == "opaque":
        return f"where {label} comes from was not followed"
    if atom.kind == "instance" and not machine.harmless_object(atom.root):
        return f"what the base classes of {label} do was not followed"
    return ""


def between(step: Step, after: Step | None, before: Step | None) -> bool:
    """May ``step`` have happened in this stretch of the program?"""
    return not (after is not None and step.index < after.index or before is not None and before.driven_before(step))
