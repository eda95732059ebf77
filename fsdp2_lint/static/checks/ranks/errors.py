"""Handlers of exceptions around a training step."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place, Site
from ...domain import events
from ...domain.events import AnyStep
from ...domain.values import NONE, ClassV, Ext, TupleV, Value
from ...frontend.names import names_in
from ...frontend.project import Project
from ...interpreter.frames import CONTINUE, FALL, RETURN
from ...libraries.interface import Machine
from ..launch.collectives import StaticCollection
from ..shared.loops import enclosing
from ..shared.program import AtStep
from .notes import note_heeded
from .rank_paths import by_one_rank

# What a kernel or an allocation raises, and what these are derived from.
_BROAD = (
    "builtins.RuntimeError", "builtins.Exception", "builtins.BaseException", "torch.OutOfMemoryError",
    "torch.cuda.OutOfMemoryError", "torch.AcceleratorError", "torch.cuda.CudaError",
)  # fmt: skip
_AGREEING = frozenset({"all_reduce", "all_gather", "all_gather_object", "broadcast", "barrier", "abort"})


@record
class Caught:
    """One ``except`` around a step: at which depth of its calls, and in which ``try``."""

    depth: int
    path: str
    attempt: nodes.Try
    handler: nodes.ExceptHandler


def handlers_around(project: Project, step: AnyStep) -> Iterator[Caught]:
    for depth, site in enumerate(step.when.chain):
        module = project.module(site.path)
        if module is None:
            continue
        for attempt in enclosing(module.tree, site, nodes.Try):
            for handler in attempt.handlers:
                yield Caught(depth, site.path, attempt, handler)


@record
class StaticHandler(AtStep[events.Called | events.Backward]):
    caught: Caught

    @property
    def when(self) -> Moment:
        handler = self.caught.handler
        last = handler.type or handler
        column = last.end_col_offset if handler.type is not None else handler.col_offset + len("except")
        site = Site(self.caught.path, handler.lineno, handler.col_offset + 1, handler.lineno, (column or 0) + 1)
        return Moment(site, self.step.when.chain[: self.caught.depth])

    def swallows(self) -> Answer[Place]:
        """Does the loop go on when a step fails on one rank? Unknown where the handler may end the job."""
        if by_one_rank(self.step.guard):
            return self.program.excluded("one rank comes here alone, so no other waits for it here")
        broad = self._broad()
        if not broad.possibly or not self._in_a_loop():
            return self.program.excluded("the handler is narrow, or in no loop")
        handled = self.program.machine.handled.get(self.caught.handler)
        if handled is None:
            return unknown("the handler was not followed")
        if not handled.ways & (CONTINUE | FALL | RETURN):
            return self.program.excluded("the handler ends the loop or the job")
        if names_in(self.caught.handler) & _AGREEING:
            return unknown("the ranks may agree on what to do in the handler")
        if handled.may_stop:
            return unknown("what the handler calls may stop the loop")
        if "break" in ways_out([*self.caught.attempt.body, *self.caught.attempt.orelse]):
            return unknown("the loop repeats what failed, until it succeeds")
        behind = bool(handled.ways & FALL)
        if why := note_heeded(self.program, self.step, self.caught.depth, self.caught.handler, behind=behind):
            return unknown(why)
        goes_on = StaticCollection(self.program, self.step).needs_model()
        goes_on = goes_on & broad
        if not handled.ways & (CONTINUE | FALL):
            goes_on = goes_on & self._caller_goes_on()
        what = "backward" if isinstance(self.step.what, events.Backward) else "forward"
        if goes_on.surely:
            return yes(Place(self.step.when, f"this {what} fails on one rank, and the others wait for it"))
        return goes_on.denied()

    def _broad(self) -> Answer[object]:
        """Does it catch what a kernel or an allocation raises?"""
        kind, machine = self.caught.handler.type, self.program.machine
        module = machine.project.module(self.caught.path)
        if kind is None:
            return yes(True)
        value = machine.in_module(module, lambda: machine.eval(kind)) if module is not None else None
        caught = [leaf for leaf in machine.inside(value or NONE) if not isinstance(leaf, TupleV)]
        if any(isinstance(leaf, Ext) and leaf.qname in _BROAD for leaf in caught):
            return yes(True)
        known = all(isinstance(leaf, Ext) and _is_python(leaf) for base in caught for leaf in _bases(machine, base))
        if known:
            return self.program.excluded("the handler is narrow")
        return unknown("which exceptions are caught is not known")

    def _in_a_loop(self) -> bool:
        """Is there a loop around the ``try``, here or in a caller?"""
        here = self.step.when.chain[: self.caught.depth]
        first = self.caught.attempt.fromlineno
        for loop in self.program.loops(self.step):
            inner = len(loop.calls) == len(here)
            if loop.calls == here[: len(loop.calls)] and (not inner or loop.site.row < first) and not loop.once:
                return True
        return False

    def _caller_goes_on(self) -> Answer[object]:
        """A handler that returns: does the loop around the call go on, whatever comes back?"""
        around = [
            loop
            for loop in self.program.loops(self.step)
            if len(loop.calls) < self.caught.depth and loop.calls == self.step.when.chain[: len(loop.calls)]
        ]
        if not around or ways_out(around[-1].node.body) & {"break", "raise", "return"}:
            return unknown("the caller may stop for what the handler returns")
        return yes(True)


def _bases(machine: Machine, value: Value) -> list[Value]:
    """Of a class of the project, what it is derived from outside of it."""
    if not isinstance(value, ClassV):
        return [value]
    return [base for base in machine.mro(value) if not isinstance(base, ClassV)] or [Ext("builtins.object")]


def _is_python(value: Ext) -> bool:
    """A narrow exception of Python itself."""
    return value.qname not in _BROAD and hasattr(builtins, value.qname.removeprefix("builtins."))


def ways_out(body: list[nodes.NodeNG]) -> set[str]:
    """How a block can end: by falling through, or by a jump."""
    found: set[str] = set()
    for node in body:
        ways = _ways(node)
        found |= ways - {"fall"}
        if "fall" not in ways:
            return found
    return found | {"fall"}


def _ways(node: nodes.NodeNG) -> set[str]:
    """The ways out of a statement: fall, raise, continue, break, return."""
    if isinstance(node, nodes.Raise):
        return {"raise"}
    if isinstance(node, (nodes.Continue, nodes.Break, nodes.Return)):
        return {type(node).__name__.lower()}
    if isinstance(node, nodes.If):
        return ways_out(node.body) | ways_out(node.orelse)
    if isinstance(node, (nodes.For, nodes.While)):
        return (ways_out(node.body) - {"break", "continue"}) | {"fall"}
    if isinstance(node, nodes.With):
        return ways_out(node.body)
    if isinstance(node, nodes.Try):
        ways = ways_out([*node.body, *node.orelse])
        return ways.union(*(ways_out(handler.body) for handler in node.handlers))
    return {"fall"}
