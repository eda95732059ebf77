"""Other versions of torch: what not every one has, and handlers for those that are older than FSDP2."""

from __future__ import annotations

from astroid import nodes

from .....vocab.fsdp1 import KEYWORDS
from ....domain import events
from ....domain.path_conditions import TRUE
from ....domain.values import Const, DictV, Ext, GuardedUnion, Obj
from ....frontend.module import Module
from ....frontend.torch_api import (
    always_takes,
    canonical,
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


# -- where a program uses what not every version of torch has
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
                paths=tuple(path for path, _ in value.options) if isinstance(value, GuardedUnion) else (),
            ),
            keyword_sites(machine, call)[keyword],
        )


def _questionable(qname: str, keywords: set[str]) -> set[str]:
    """Those that some versions lack, or all; FSDP1's have a rule of their own."""
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


# -- handlers for a torch that is older than FSDP2: what they do is never done where FSDP2 is at hand
_MISSING = {"ImportError", "ModuleNotFoundError"}
_OTHERWISE = {"TypeError", "AttributeError"}  # where a name is there and takes less, or has less


def only_for_older_torch(machine: Machine, node: nodes.Try) -> bool:
    """Would the handlers only run where torch, or a part or a keyword that FSDP2 came with, is missing?"""
    caught = {name for handler in node.handlers for name in _caught(handler)}
    if caught & _MISSING and caught <= _MISSING | _OTHERWISE:
        wanted = [part.modname or "" for part in node.body if isinstance(part, nodes.ImportFrom) and not part.level]
        return any(name.split(".")[0] == "torch" for name in wanted)
    if caught != {"TypeError"} or len(node.body) != 1:
        return False
    return _without_keywords(machine, node) or _takes_all(machine, getattr(node.body[0], "value", None))


def _caught(handler: nodes.ExceptHandler) -> list[str]:
    """The names of what it catches; an empty one for what has none."""
    parts = handler.type.elts if isinstance(handler.type, nodes.Tuple) else [handler.type]
    return [getattr(part, "name", "") for part in parts]


def _takes_all(machine: Machine, call: nodes.NodeNG | None) -> bool:
    """Is nothing tried but a call of torch with keywords of a known dict, ``StateDictOptions(**wanted)``?"""
    if not isinstance(call, nodes.Call) or call.args or not call.keywords:
        return False
    keywords: set[str] = set()
    for each in call.keywords:
        given = machine.eval(each.value) if each.arg is None and isinstance(each.value, nodes.Name) else None
        entries = machine.entries(given) if isinstance(given, DictV) else None
        if entries is None or entries.open_why:
            return False
        names = [key.value for key, path, _ in entries.entries if isinstance(key, Const) and path is TRUE]
        if len(names) != len(entries.entries):
            return False
        keywords |= set(names)
    called = machine.eval(call.func)
    return isinstance(called, Ext) and always_takes(canonical(called.qname), keywords)


def _without_keywords(machine: Machine, node: nodes.Try) -> bool:
    """Does each handler call the same function of torch again, without keywords that it has had since FSDP2?"""
    tried = {call.func.as_string(): call for call in node.body[0].nodes_of_class(nodes.Call) if call.keywords}
    for handler in node.handlers:
        again = (call for part in handler.body for call in part.nodes_of_class(nodes.Call))
        if not any(_drops(machine, tried[name], call) for call in again if (name := call.func.as_string()) in tried):
            return False
    return True


def _drops(machine: Machine, tried: nodes.Call, again: nodes.Call) -> bool:
    dropped = {each.arg for each in tried.keywords} - {each.arg for each in again.keywords}
    if not dropped or None in dropped:
        return False
    called = machine.eval(tried.func)
    return isinstance(called, Ext) and always_takes(canonical(called.qname), dropped)
