"""``handle = module.unshard(); handle.__enter__()``: seen in the syntax alone, in helpers that no program calls too.

That the receiver is a module of FSDP2 is proved by its type: the code asked ``isinstance(module, FSDPModule)`` around
the call, or the parameter is annotated so.
"""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....vocab.answers import Answer, yes
from ....vocab.declared import record
from ....vocab.events.migration import UnshardEntered
from ....vocab.finding import Moment, Place
from ...frontend.module import Module
from ...frontend.project import Project
from ..shared.source_edits import site_of

_FSDP2 = ("torch.distributed.fsdp", "torch.distributed._composable.fsdp")
_CLASS = "FSDPModule"
_SCOPES = (nodes.FunctionDef, nodes.Lambda, nodes.ClassDef, nodes.Module)


@record
class Receiver:
    """What ``unshard`` is called on, in the words of the source."""

    label: str
    entered: Moment

    def converted(self) -> Answer[Place]:
        return yes(Place(self.entered, "the handle is entered by hand here"))


def entered_by_hand(module: Module, project: Project) -> Iterator[UnshardEntered]:
    """In a file that takes the class of sharded modules from torch."""
    names = frozenset(_names_of_class(module))
    for function in module.tree.nodes_of_class(nodes.FunctionDef) if names else ():
        for call in function.nodes_of_class(nodes.Call):
            target = call.parent.targets[0] if isinstance(call.parent, nodes.Assign) else None
            if not isinstance(target, nodes.AssignName) or getattr(call.func, "attrname", "") != "unshard":
                continue
            entered = next(
                (other for other in function.nodes_of_class(nodes.Call) if _enters(other, target.name)), None
            )
            if entered is not None and entered.lineno >= call.lineno and _is_sharded(call, names):
                receiver = Receiver(call.func.expr.as_string(), Moment(site_of(module.path, entered)))
                yield UnshardEntered(when=Moment(site_of(module.path, call)), model=receiver)


def _names_of_class(module: Module) -> Iterator[str]:
    """Under which names this file has imported ``FSDPModule``."""
    for bound, statements in module.bindings.items():
        for node in statements:
            if isinstance(node, nodes.ImportFrom) and node.modname in _FSDP2:
                yield from (bound for name, alias in node.names if name == _CLASS and (alias or name) == bound)


def _is_sharded(call: nodes.Call, names: frozenset[str]) -> bool:
    """Is the receiver proved to be a module of FSDP2?"""
    receiver = call.func.expr
    return _asked_around(call, receiver.as_string(), names) or _annotated(receiver, names)


def _asked_around(node: nodes.NodeNG, receiver: str, names: frozenset[str]) -> bool:
    """Does the call stand under ``if isinstance(receiver, FSDPModule)``?"""
    at = node
    while not isinstance(at, _SCOPES):
        if isinstance(at.parent, nodes.If) and at in at.parent.body and _asks(at.parent.test, receiver, names):
            return True
        at = at.parent
    return False


def _asks(test: nodes.NodeNG, receiver: str, names: frozenset[str]) -> bool:
    if isinstance(test, nodes.BoolOp) and test.op == "and":
        return any(_asks(part, receiver, names) for part in test.values)
    if not isinstance(test, nodes.Call) or len(test.args) != 2 or getattr(test.func, "name", "") != "isinstance":
        return False
    return test.args[0].as_string() == receiver and getattr(test.args[1], "name", "") in names


def _annotated(receiver: nodes.NodeNG, names: frozenset[str]) -> bool:
    """Is it a parameter of this type?"""
    spec = receiver.scope().args if isinstance(receiver, nodes.Name) else None
    if not isinstance(spec, nodes.Arguments):
        return False
    pairs = [*zip(spec.args or [], spec.annotations), *zip(spec.kwonlyargs, spec.kwonlyargs_annotations)]
    return any(name.name == receiver.name and getattr(kind, "name", "") in names for name, kind in pairs)


def _enters(call: nodes.Call, name: str) -> bool:
    func = call.func
    return isinstance(func, nodes.Attribute) and func.attrname == "__enter__" and func.expr.as_string() == name
