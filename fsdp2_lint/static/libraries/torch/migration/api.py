"""Where a program uses what not every version of torch has."""

from __future__ import annotations

from astroid import nodes

from .....vocab.fsdp1 import KEYWORDS
from ....domain import events
from ....domain.values import Choice, Obj
from ....frontend.module import Module
from ....frontend.torch_api import (
    history_of_keyword,
    history_of_method,
    invented_keywords,
    varying_keywords,
    varying_methods,
)
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import observer
from ..sharding.sharding import keyword_sites


@observer
def called(machine: Machine, qname: str, call: Call) -> None:
    """A function of torch; its import speaks for the name itself, so only keywords matter here."""
    for keyword in sorted(_questionable(qname, {*call.kwargs})):
        value = call.kwargs[keyword]
        machine.emit(
            events.ApiUsed(
                name=f"{qname.rsplit('.', 1)[-1]}({keyword}=)",
                history=history_of_keyword(qname, keyword),
                written=_written(machine, call),
                paths=tuple(path for path, _ in value.options) if isinstance(value, Choice) else (),
            ),
            keyword_sites(machine, call)[keyword],
        )


def _questionable(qname: str, keywords: set[str]) -> set[str]:
    """Those that some versions lack, or all; FSDP1's have a clause of their own."""
    varying = keywords & varying_keywords().get(qname, frozenset())
    return varying | invented_keywords(qname, keywords) - KEYWORDS.keys()


def method_called(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """A method of a module that FSDP2 may have sharded."""
    if machine.libraries.any_sharded and name in varying_methods() and machine.libraries.in_sharded(obj):
        machine.emit(
            events.ApiUsed(
                name=f"FSDPModule.{name}()", history=history_of_method(name), written=_written(machine, call), paths=()
            ),
            call.node,
            obj,
        )


def _written(machine: Machine, call: Call) -> tuple[tuple[Module, nodes.NodeNG], ...]:
    """The call and those that led to it, each with its file: a test of the version may stand around any."""
    return ((machine.frame.module, call.node), *machine.calls)
