"""The one place of the static analysis that closes the world: why there is nothing but what was seen.

A *no* says that something did not happen, in a program of which parts may not have been seen. So it is only made here,
and only where all of these hold, as far as the question needs them:

- what is asked about began in code that was followed, and not in a package or a caller that was not;
- nothing that was not followed had it in hand, in the stretch of the program that matters;
- no statement on the way was cut off by a budget;
- where the question is about what a model is made of, its class and those of its parts were seen.
"""

from __future__ import annotations

from ....vocab.answers import Closed, No, Unknown, no, unknown
from ...domain.events import AnyStep, Counted
from ...domain.trace import Trace
from ...domain.values import AbstractObject
from ...libraries.interface import Machine


def followed(trace: Trace, *kinds: type[Counted]) -> Closed:
    return Closed(tuple((kind.words, trace.count(kind)) for kind in kinds))


def excluded(fact: str) -> No:
    """No: what was seen says otherwise."""
    return no(Closed(fact=fact))


def closed(trace: Trace, why: str, *kinds: type[Counted]) -> No | Unknown:
    """No, unless something that was not seen may have done it: then ``why``."""
    return unknown(why) if why else no(followed(trace, *kinds))


def origin_unseen(machine: Machine, atom: AbstractObject, label: str) -> str:
    """Why the object may have a past that was not seen; empty where it began in code that was followed."""
    if atom.kind == "parameter":
        return f"{label} comes from a caller that was not seen"
    if atom.kind == "opaque":
        return f"where {label} comes from was not followed"
    if atom.kind == "instance" and not machine.libraries.harmless_object(atom.root):
        return f"what the base classes of {label} do was not followed"
    return ""


def between(step: AnyStep, after: AnyStep | None, before: AnyStep | None) -> bool:
    """May ``step`` have happened in this stretch of the program?"""
    return not (after is not None and step.index < after.index or before is not None and before.driven_before(step))
