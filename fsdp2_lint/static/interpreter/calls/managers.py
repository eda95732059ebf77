"""Context managers: what runs around the body of a ``with``, whichever of several is entered there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from astroid import nodes

from ....vocab.declared import record
from ...budget import BUDGET
from ...domain.path_conditions import PathCondition
from ...domain.values import AbstractObject, Bound, Func, Obj, Value
from ...frontend import relevance
from ..call import Call
from ..expressions.iteration import Iteration
from ..frames import FALL
from ..machine import L


@record
class NotEntered:
    """A call of a function under ``@contextmanager``: it runs where its result is entered."""

    func: Func
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    receiver: Value | None
    why: str

    @property
    def given(self) -> tuple[Value, ...]:
        """All that the function has in its hands."""
        owner = (self.receiver,) if self.receiver is not None else ()
        return (*self.args, *dict(self.kwargs).values(), *owner)


class Managers(Iteration[L]):
    def with_manager(self, manager: nodes.NodeNG, inner: Callable[[Value], int]) -> int:
        """``inner`` runs where a function of the project yields, or between entering and leaving an object."""
        if isinstance(manager, nodes.Call):
            found = self.generator_manager(manager)
            if found is not None:
                func, receiver, args, kwargs, why = found
                return self.around_yield(NotEntered(func, (*args,), (*kwargs.items(),), receiver, why), manager, inner)
        value = self.eval(manager)
        arms = list(self.alternatives(value))
        if len(arms) < 2:
            return self.in_manager(value, manager, inner)
        if len(arms) <= BUDGET.options and any(self.may_matter(leaf) for _, leaf in arms):
            return self.either_of(arms, manager, inner)
        for _, leaf in arms:
            self.passed_over(leaf, manager)
        flow = self.in_manager(value, manager, inner)
        for _, leaf in arms:
            self.passed_over(leaf, manager)
        return flow

    def passed_over(self, leaf: Value, manager: nodes.NodeNG) -> None:
        """One of several is not run: it can have no part in what is checked, or nobody knows what it does."""
        if (waiting := _waiting(leaf)) is not None:
            self.blur(waiting.func, [*waiting.given])
        elif isinstance(leaf, Obj) and leaf.atom.kind == "opaque":
            self.libraries.havoc("one of several context managers", Call(manager, [leaf]))

    def either_of(
        self, arms: list[tuple[PathCondition, Value]], manager: nodes.NodeNG, inner: Callable[[Value], int]
    ) -> int:
        """``with quiet(model) if more else nullcontext():`` runs its body in the one or in the other.

        What does something comes first, as the rounds do in which it is entered: most often all but the last.
        """
        number, arm_of = self.fork()
        arms = sorted(arms, key=lambda arm: not self.may_matter(arm[1]))
        apart = [(path.add(arm_of(arm)) or path, leaf) for arm, (path, leaf) in enumerate(arms)]
        return self.exclusive([(path, partial(self.in_manager, leaf, manager, inner)) for path, leaf in apart], number)

    def in_manager(self, value: Value, manager: nodes.NodeNG, inner: Callable[[Value], int]) -> int:
        if (waiting := _waiting(value)) is not None:
            return self.around_yield(waiting, manager, inner)
        modes = len(self.libraries.grad_modes)
        entered = self.libraries.enter_manager(value, manager)
        try:
            flow = inner(entered)
        finally:
            del self.libraries.grad_modes[modes:]
        self.libraries.leave_manager(value, manager)
        return flow

    def around_yield(self, call: NotEntered, node: nodes.NodeNG, inner: Callable[[Value], int]) -> int:
        self.frame_flow, self.frame_behind = 0, []
        self.call_function(
            call.func, [*call.args], dict(call.kwargs), node, receiver=call.receiver, why=call.why, on_yield=inner
        )
        for learned in self.frame_behind if len(self.frame_behind) == 1 else ():
            for formula, truth in learned.literals:  # such as that no round of a loop in the body has returned
                self.guard = self.guard.add(formula, truth) or self.guard
        return self.frame_flow or FALL

    def may_matter(self, leaf: Value) -> bool:
        """Is it a context manager of the project whose code can have a part in what is checked?"""
        if (waiting := _waiting(leaf)) is not None:
            codes, given = [(waiting.func.module, waiting.func.node)], waiting.given
        else:
            given = (leaf,)
            found = [self.find_attr(leaf, name) for name in ("__enter__", "__exit__")] if isinstance(leaf, Obj) else []
            funcs = [each.func if isinstance(each, Bound) else each for each in found]
            codes = [(each.module, each.node) for each in funcs if isinstance(each, Func)]
        if any(self.project.relevance.level(*code) == relevance.ALL for code in codes):
            return True
        return bool(codes) and any(self.matters(part, 0) for value in given for part in self.inside(value))

    def generator_manager(self, manager: nodes.Call) -> Any:
        """Is this a call of a project function under ``@contextmanager``?"""
        func = manager.func
        receiver: Value | None = None
        callee: Value | None
        if isinstance(func, nodes.Attribute):
            owner = self.eval(func.expr)
            callee = (
                self.find_attr(owner, func.attrname)
                if isinstance(owner, Obj)
                else self.get_attr(owner, func.attrname, func)
            )
        elif isinstance(func, nodes.Name):
            callee = self.lookup(func.name)
        else:
            return None
        if isinstance(callee, Bound):
            receiver, callee = callee.receiver, callee.func
        if not (isinstance(callee, Func) and self.is_generator_manager(callee.node)):
            return None
        args, kwargs, why = self.arguments(manager)
        return callee, receiver, args, kwargs, why

    def is_generator_manager(self, node: nodes.NodeNG) -> bool:
        decorators = getattr(node, "decorators", None)
        return any(self.is_context(part) for part in decorators.nodes) if decorators else False

    def waits_for_with(self, func: Func, node: nodes.NodeNG) -> bool:
        """Is what this call returns entered by a ``with``, and by nothing else? Then the function has not run yet."""
        return self.is_generator_manager(func.node) and self._comes_to_with(node, len(self.calls))

    def _comes_to_with(self, node: nodes.NodeNG, depth: int) -> bool:
        used = node.parent
        while isinstance(used, nodes.IfExp):
            node, used = used, used.parent
        if isinstance(used, (nodes.With, nodes.AsyncWith)):
            return any(item is node for item, _ in used.items)
        if isinstance(used, nodes.Return) and depth:
            return self._comes_to_with(self.calls[depth - 1][1], depth - 1)
        if isinstance(used, nodes.Assign) and isinstance(used.targets[0], nodes.AssignName) and len(used.targets) == 1:
            name, scope = used.targets[0].name, used.scope()
            loads = [each for each in scope.nodes_of_class(nodes.Name) if each.name == name]
            return bool(loads) and all(isinstance(each.parent, nodes.With) for each in loads)
        return False

    def not_entered(self, call: NotEntered) -> Value:
        """What calling the function returns: it holds what it was given, in whose hands it may come."""
        made = AbstractObject("unknown", origin=f"{call.func.name}()")
        made.keeps = call.given
        made.know(call)
        return made.root


def _waiting(value: Value) -> NotEntered | None:
    return value.atom.state(NotEntered) if isinstance(value, Obj) and value.parent is None else None
