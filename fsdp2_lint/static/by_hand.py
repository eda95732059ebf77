"""``handle = module.unshard(); handle.__enter__()``: seen in the syntax alone, in helpers that no program calls too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from astroid import nodes

from ..vocab.answers import Answer, yes
from ..vocab.events.migration import UnshardEntered
from ..vocab.finding import Moment, Place, Site
from .project import Module

_FSDP2 = "torch.distributed.fsdp"


@dataclass(frozen=True, slots=True)
class Receiver:
    """What ``unshard`` is called on, in the words of the source."""

    label: str
    entered: Moment

    def converted(self) -> Answer[Place]:
        return yes(Place(self.entered, "the handle is entered by hand here"))


def entered_by_hand(module: Module) -> Iterator[UnshardEntered]:
    """In a file that takes the class of sharded modules from torch, and has no ``unshard`` of its own."""
    if not _knows_fsdp2(module) or any(node.name == "unshard" for node in _functions(module)):
        return
    for function in _functions(module):
        for call in function.nodes_of_class(nodes.Call):
            target = call.parent.targets[0] if isinstance(call.parent, nodes.Assign) else None
            if not isinstance(target, nodes.AssignName) or getattr(call.func, "attrname", "") != "unshard":
                continue
            entered = next(
                (other for other in function.nodes_of_class(nodes.Call) if _enters(other, target.name)), None
            )
            if entered is not None and entered.lineno >= call.lineno:
                receiver = Receiver(call.func.expr.as_string(), _when(module, entered))
                yield UnshardEntered(when=_when(module, call), model=receiver)


def _knows_fsdp2(module: Module) -> bool:
    return any(
        isinstance(node, nodes.ImportFrom) and (node.modname or "").startswith(_FSDP2)
        for node in module.bindings.get("FSDPModule", ())
    )


def _functions(module: Module) -> Iterator[nodes.FunctionDef]:
    return module.tree.nodes_of_class(nodes.FunctionDef)


def _enters(call: nodes.Call, name: str) -> bool:
    func = call.func
    return isinstance(func, nodes.Attribute) and func.attrname == "__enter__" and func.expr.as_string() == name


def _when(module: Module, node: nodes.NodeNG) -> Moment:
    return Moment(Site(module.path, node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1))
