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
        if len(arms) > 1 and any(self.runs_own_code(leaf) for _, leaf in arms):
            if len(arms) <= BUDGET.options:
                return self.either_of(arms, manager, inner)
            self.libraries.havoc("one of many context managers", Call(manager, [leaf for _, leaf in arms]))
        return self.in_manager(value, manager, inner)

    def either_of(
        self, arms: list[tuple[PathCondition, Value]], manager: nodes.NodeNG, inner: Callable[[Value], int]
    ) -> int:
        """``with quiet(model) if more else nullcontext():`` runs its body in the one or in the other.

        What does something comes first, as the rounds do in which it is entered: most often all but the last.
        """
        number, arm_of = self.fork()
        arms = sorted(arms, key=lambda arm: not self.runs_own_code(arm[1]))
        apart = [(path.add(arm_of(arm)) or path, leaf) for arm, (path, leaf) in enumerate(arms)]
        return self.exclusive([(path, partial(self.in_manager, leaf, manager, inner)) for path, leaf in apart], number)

    def in_manager(self, value: Value, manager: nodes.NodeNG, inner: Callable[[Value], int]) -> int:
        waiting = value.atom.state(NotEntered) if isinstance(value, Obj) and value.parent is None else None
        if waiting is not None:
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
        self.frame_flow = 0
        self.call_function(
            call.func, [*call.args], dict(call.kwargs), node, receiver=call.receiver, why=call.why, on_yield=inner
        )
        return self.frame_flow or FALL

    def runs_own_code(self, leaf: Value) -> bool:
        """Is it a context manager of the project, or one that was not followed?"""
        if not isinstance(leaf, Obj):
            return False
        if leaf.atom.kind == "opaque" or leaf.parent is None and leaf.atom.state(NotEntered) is not None:
            return True
        return self.class_of(leaf) is not None and self.find_attr(leaf, "__enter__") is not None

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
        made.keeps = (*call.args, *dict(call.kwargs).values(), *([call.receiver] if call.receiver is not None else []))
        made.know(call)
        return made.root
