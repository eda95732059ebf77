"""What a program does, and does not do, because a module is none of FSDP1's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place, Site
from ...budget import BUDGET
from ...domain import events
from ...domain.relations import Relation
from ...frontend.origins import full_name
from ...libraries.torch.migration.migration import FSDP1
from ..shared.objects import RELATED
from .fsdp1 import asks_for_fsdp2, files_around, wraps_with_fsdp1
from .migration_checks import StaticConverted

# Methods of FSDPModule and functions that gather: who calls them behind the test meant FSDP2.
_OF_FSDP2 = frozenset(
    """unshard reshard set_requires_gradient_sync set_requires_all_reduce set_is_last_backward
    set_reshard_after_forward set_reshard_after_backward set_modules_to_forward_prefetch
    set_modules_to_backward_prefetch get_model_state_dict get_optimizer_state_dict get_state_dict
    set_model_state_dict set_optimizer_state_dict set_state_dict full_tensor register_fsdp_forward_method""".split()
)  # fmt: skip
_SAYING = ("log", "warn", "warning", "info", "debug")
_LEAVING = (nodes.Return, nodes.Raise, nodes.Continue, nodes.Break)
Statements = Sequence[nodes.NodeNG]


class StaticTested(StaticConverted[events.Fsdp1Asked]):
    """At ``isinstance(model, FullyShardedDataParallel)``."""

    def converted(self) -> Answer[Place]:
        model = self._below()
        if model is None:
            return self.sharded_by(Relation.SAME)
        whole = StaticConverted(self.program, self.step, model)
        return whole.sharded_by(*RELATED)

    def neglected(self) -> Answer[Place]:
        project = self.program.project
        files = sorted(files_around(project, self.step.when.at.path))
        if wraps_with_fsdp1(project, files):
            return unknown("the program also wraps models with FSDP1, for which the test may be meant")
        if asks_for_fsdp2(project, files):
            return unknown("the program also tests for FSDP2")
        asked = self.step.what.written
        model = asked.args[0].as_string()
        for node, holds, module_path in _decided(asked, list(self.step.what.calls), self.step.when):
            if words := _neglected(node, holds, model):
                return yes(Place(_moment(node, module_path), words))
        return self.program.excluded("what the program does behind the test is right for FSDP2")


def _moment(node: nodes.NodeNG, path: str) -> Moment:
    row, column = node.lineno, (node.col_offset or 0) + 1
    head = node.test if isinstance(node, (nodes.If, nodes.Assert)) else node
    return Moment(Site(path, row, column, head.end_lineno or row, (head.end_col_offset or 0) + 1))


def _decided(
    node: nodes.NodeNG, calls: list[nodes.NodeNG], when: Moment, depth: int = 0
) -> Iterator[tuple[nodes.NodeNG, bool, str]]:
    """What the answer, which is no, decides: statement, what its test comes to, and the file."""
    holds = False
    at = node
    while depth < BUDGET.consequences:
        parent = at.parent
        if isinstance(parent, nodes.UnaryOp) and parent.op == "not":
            holds = not holds
        elif isinstance(parent, nodes.BoolOp):
            if holds is not (parent.op == "or"):
                return  # the other operands decide
        elif isinstance(parent, nodes.GeneratorExp) and at is parent.elt and not holds and _is_any(parent.parent):
            parent = parent.parent
        elif isinstance(parent, (nodes.If, nodes.IfExp, nodes.Assert)) and at is parent.test:
            yield parent, holds, when.at.path
            return
        elif isinstance(parent, nodes.Comprehension) and at in parent.ifs and not holds:
            yield parent.parent, holds, when.at.path
            return
        elif isinstance(parent, nodes.Return) and calls and not holds and isinstance(calls[-1], nodes.Call):
            if _is_only_return(parent):
                caller = Moment(when.stack[-1], when.stack[:-1])
                yield from _decided(calls[-1], calls[:-1], caller, depth + 1)
            return
        elif isinstance(parent, nodes.Assign) and isinstance(parent.targets[0], nodes.AssignName) and not holds:
            for read in _reads(parent.targets[0], parent.scope()):
                yield from _decided(read, calls, when, depth + 1)
            return
        else:
            return
        at = parent


def _is_any(node: nodes.NodeNG) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name) and node.func.name == "any"


def _is_only_return(node: nodes.Return) -> bool:
    return sum(1 for _ in node.scope().nodes_of_class(nodes.Return)) == 1


def _reads(target: nodes.AssignName, scope: nodes.NodeNG) -> list[nodes.NodeNG]:
    """Where a name is read that one statement alone sets."""
    if sum(1 for other in scope.nodes_of_class(nodes.AssignName) if other.name == target.name) != 1:
        return []
    return [name for name in scope.nodes_of_class(nodes.Name) if name.name == target.name]


def _neglected(node: nodes.NodeNG, holds: bool, model: str) -> str:
    """What a module of FSDP2 lacks for it, in words; empty where it may be well without."""
    if isinstance(node, nodes.Assert):
        return "" if holds else "the assertion fails"
    if isinstance(node, nodes.IfExp):
        return _of_fsdp2([node.orelse if holds else node.body])
    if not isinstance(node, nodes.If):
        return "the filter lets nothing through"
    if holds and node.body and isinstance(node.body[-1], nodes.Raise):
        return "it is rejected"
    skipped, other = (node.orelse, node.body) if holds else (node.body, node.orelse)
    if words := _of_fsdp2(skipped):
        return words
    if holds:  # an early way out
        rest = _behind(node) if not node.orelse and _leaves_without_value(node.body) else []
        return _of_fsdp2(rest) or _works_on(rest, model)
    if other or skipped and isinstance(skipped[-1], _LEAVING):
        return ""  # what stands there instead may be right for it
    return _works_on(skipped, model)


def _of_fsdp2(skipped: Statements) -> str:
    for call in _calls(skipped):
        name = _callee(call)
        if name in _OF_FSDP2:
            return f"{name}() is skipped, which is meant for FSDP2"
    return ""


def _works_on(skipped: Statements, model: str) -> str:
    """Statements, not values that have a default, that do something with the model."""
    for statement in skipped:
        for call in _calls([statement]):
            parent = call.parent
            acts = isinstance(parent, (nodes.Expr, nodes.With))
            name = _callee(call)
            static = full_name(call.func).startswith(f"{FSDP1.qname}.")
            if not acts or not _is_known(call, model) or static and name != "summon_full_params":
                continue
            if model in [part.as_string() for part in call.nodes_of_class((nodes.Name, nodes.Attribute))]:
                return f"{name}() is skipped"
    return ""


def _is_known(call: nodes.Call, model: str) -> bool:
    """Is it a method of the model, or a function of torch or of the program? Others may only say something of it."""
    if isinstance(call.func, nodes.Attribute) and call.func.expr.as_string() == model:
        return True
    full = full_name(call.func)
    return full.startswith("torch.") or not full and isinstance(call.func, nodes.Name) and call.func.name not in _SAYING


def _behind(node: nodes.If) -> Statements:
    """The statements after it in the same block."""
    for block in (getattr(node.parent, name, None) for name in ("body", "orelse", "finalbody")):
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return []


def _leaves_without_value(body: Statements) -> bool:
    last = body[-1] if body else None
    return len(body) == 1 and (
        isinstance(last, nodes.Continue) or isinstance(last, nodes.Return) and last.value is None
    )


def _calls(statements: Statements) -> Iterator[nodes.Call]:
    for statement in statements:
        yield from statement.nodes_of_class(nodes.Call)


def _callee(call: nodes.Call) -> str:
    return str(getattr(call.func, "attrname", "") or getattr(call.func, "name", ""))
