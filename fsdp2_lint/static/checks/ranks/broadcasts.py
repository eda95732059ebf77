"""Loops that broadcast: do all ranks go through the same names in the same order?"""

from __future__ import annotations

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.values import Loaded
from ...frontend.relevance import names_in
from ..shared.loops import Loop
from ..shared.program import AtStep

_NAMES = frozenset({"keys", "state_dict", "named_parameters", "named_buffers", "named_modules"})
_SAME_ORDER = frozenset({"list", "tuple", "enumerate", "iter", "reversed", "tqdm"})


class StaticNames(AtStep[events.Broadcast]):
    def differ(self) -> Answer[Place]:
        """Do the ranks broadcast in different orders? Unknown where each reads the names from a file of its own."""
        loop = next(reversed(list(self.program.loops(self.step))), None)
        if loop is None or not isinstance(loop.node, nodes.For):
            return self.program.excluded("no loop is around it")
        here = Moment(loop.site, loop.calls)
        for uneven in self.program.trace.of(events.Uneven):
            row = uneven.when.at.row
            if uneven.when.stack == loop.calls and loop.node.fromlineno <= row < loop.node.body[0].fromlineno:
                return yes(Place(here, "only some ranks have what this loop goes through"))
        if _unordered(loop.node.iter, loop):
            return yes(Place(here, "this loop goes through a set of strings, whose order differs by process"))
        tensors = [leaf for _, leaf in self.program.machine.alternatives(self.step.what.tensor)]
        if any(isinstance(leaf, Loaded) and leaf.per_rank for leaf in tensors):
            return unknown("each rank reads the names from a file of its own")
        return self.program.excluded("what the loop goes through has one order on every rank")


def _unordered(node: nodes.NodeNG, loop: Loop) -> bool:
    """Is it a set of names?"""
    if isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name):
        if node.func.name in _SAME_ORDER and node.args:
            return _unordered(node.args[0], loop)
        return node.func.name in ("set", "frozenset") and _strings(node)
    if isinstance(node, nodes.Name):
        bound = [
            assigned
            for assigned in loop.node.scope().nodes_of_class(nodes.Assign)
            if any(isinstance(target, nodes.AssignName) and target.name == node.name for target in assigned.targets)
        ]
        return bool(bound) and all(_unordered(assigned.value, loop) for assigned in bound)
    if isinstance(node, nodes.BinOp) and node.op in ("|", "&", "-", "^"):
        return _unordered(node.left, loop) or _unordered(node.right, loop) or _keys(node.left) and _keys(node.right)
    return isinstance(node, (nodes.Set, nodes.SetComp)) and _strings(node)


def _keys(node: nodes.NodeNG) -> bool:
    return isinstance(node, nodes.Call) and node.func.as_string().endswith(".keys")


def _strings(node: nodes.NodeNG) -> bool:
    """Are there strings in it? Those of numbers have the same order everywhere."""
    texts = node.nodes_of_class(nodes.Const)
    return bool(names_in(node) & _NAMES) or any(isinstance(text.value, str) for text in texts)
