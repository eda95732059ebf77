"""Does a handler keep a note by which the code behind it may stop, or by which the ranks agree?"""

from __future__ import annotations

from astroid import nodes

from ....vocab.declared import record
from ....vocab.finding import Site
from ...domain.events import AnyStep
from ..shared.loops import enclosing
from ..shared.program import Program
from .agreement import brought_together, exchanges, returned, with_methods
from .carrying import Carried, noted, parts_of, scope_at

_TESTED = (nodes.If, nodes.While, nodes.IfExp, nodes.Assert)
_ENDING = frozenset({"exit", "_exit", "abort"})


@record
class Round:
    """What a function does in one round of the loop around rows, or once: behind these rows, and in the next round."""

    around: nodes.NodeNG
    looped: bool
    first: int
    last: int

    def behind(self) -> list[nodes.NodeNG]:
        return [node for node in parts_of(self.around) if node.lineno > self.last]

    def before(self) -> list[nodes.NodeNG]:
        return [node for node in parts_of(self.around) if self.looped and node.lineno < self.first]

    def parts(self, *, behind: bool) -> list[nodes.NodeNG]:
        return [*(self.behind() if behind else ()), *self.before()]

    def tests(self, note: Carried, *, behind: bool) -> list[nodes.NodeNG]:
        """The conditions that ask for the note."""
        asked = (node for node in self.around.nodes_of_class(_TESTED) if note.by(node.test))
        return [
            node
            for node in asked
            if behind and node.lineno > self.last or self.looped and (node is self.around or node.lineno < self.first)
        ]

    def leaves(self, node: nodes.NodeNG) -> bool:
        """May the loop end here? A return ends one that is in the same function."""
        ways = (nodes.Break, nodes.Raise, *((nodes.Return,) if self.looped else ()))
        return (
            node is self.around
            or isinstance(node, nodes.Assert)
            or next(node.nodes_of_class(ways), None) is not None
            or any(getattr(call.func, "attrname", "") in _ENDING for call in node.nodes_of_class(nodes.Call))
        )


def note_heeded(program: Program, step: AnyStep, depth: int, handler: nodes.ExceptHandler, *, behind: bool) -> str:
    """What may come of the note that a handler keeps: empty where nothing asks for it in this round or the next one.

    ``behind``: the code behind the ``try`` runs after the handler, and not only that of the next round.
    """
    round = _round(program, step.when.chain[depth], handler.parent.lineno, handler.tolineno)
    note = _kept_in(handler, round) if round is not None else Carried()
    return _followed(program, step, depth, round, note, behind=behind) if round is not None and note.names else ""


def _followed(program: Program, step: AnyStep, depth: int, round: Round, note: Carried, *, behind: bool) -> str:
    """As ``note_heeded``, here and then in the callers, as far as the loop around."""
    note = with_methods(program, round.parts(behind=behind), note)
    if (why := _heeded(program, step, round, note, behind=behind)) or round.looped or not depth:
        return why
    site = step.when.chain[depth - 1]
    told = returned(round.behind(), note) or _decides_a_return(round, note)
    note, outer = Carried(note.kept, note.kept, site if told else None), _round(program, site, site.row, site.row - 1)
    if outer is None or not told and not note.kept:
        return ""
    return _followed(program, step, depth - 1, outer, note, behind=True)


def _round(program: Program, site: Site, first: int, last: int) -> Round | None:
    module, scope = program.project.module(site.path), scope_at(program.project, site)
    if module is None or scope is None:
        return None
    loops = enclosing(module.tree, site, nodes.For, nodes.While)
    return Round(loops[-1] if loops else scope, bool(loops), first, last)


def _kept_in(handler: nodes.ExceptHandler, round: Round) -> Carried:
    """What a handler notes; a count that goes on without an error as well is no note of one."""
    usual = {node.as_string() for node in round.parts(behind=True) if isinstance(node, nodes.AugAssign)}
    inside = (*handler.nodes_of_class((nodes.Assign, nodes.AnnAssign, nodes.AugAssign, nodes.Call)),)
    return noted(node for node in inside if not isinstance(node, nodes.AugAssign) or node.as_string() not in usual)


def _heeded(program: Program, step: AnyStep, round: Round, note: Carried, *, behind: bool) -> str:
    tests = round.tests(note, behind=behind)
    if any(map(round.leaves, tests)):
        return "the code behind may stop for what the handler keeps"
    if not tests:
        return ""
    return brought_together(program, exchanges(program, step), round.parts(behind=behind), note)


def _decides_a_return(round: Round, note: Carried) -> bool:
    """Does the note choose what the caller is given?"""
    returns = (each for test in round.tests(note, behind=True) for each in test.nodes_of_class(nodes.Return))
    return any(each.value is not None for each in returns)
