"""Faults of the forward: how a sharded model is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import Step

from .operator import Mutant, Operator, Plant
from .text import Edit, Text
from .view import View, is_plain


class CalledAs(Operator):
    """``model(x)`` becomes ``model.<attribute>(x)``."""

    attribute: str

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.Unshard, events.Registered)):
            return  # by hand the parameters may be there without hooks
        for step in view.trained_calls:
            found = view.call(step) if view.sharded(step.subject, step) else None
            if found is None or step.what.method != "__call__" or not is_plain(found[1].func):
                continue
            text, call = found
            if not text.words(call.func).endswith(".forward"):
                yield Plant((text.appended(call.func, f".{self.attribute}"),), view.home(step.subject))


class DirectForward(CalledAs):
    name, code, attribute = "direct-forward", "FSDP401", "forward"
    fault = "the forward of a sharded model is called past its hooks"

    def shown(self, mutant: Mutant) -> bool:
        calls = mutant.planted(events.Called)
        return any(not call.what.hooked and mutant.view.sharded(call.subject, call) for call in calls)


class ModuleAttribute(CalledAs):
    name, code, attribute = "module-attribute", "FSDP905", "module"
    fault = "the attribute of a wrapper is read, and there is no wrapper"

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.ModuleRead))


class InferenceMode(Operator):
    name, code = "inference-mode", "FSDP406"
    fault = "a sharded model that is trained as well is called in inference mode"

    def places(self, view: View) -> Iterator[Plant]:
        for step in view.trace.of(events.Called):
            if step.what.inference is None and not step.what.inside and self._comes_first(view, step):
                edit = self._switched(view, step)
                if edit is not None:
                    yield Plant((edit,), view.home(step.subject))

    def _comes_first(self, view: View, step: Step[events.Called]) -> bool:
        """Is this the first call of a sharded model, which is called for a loss later?"""
        others = [call for call in view.trace.of(events.Called) if call.what.hooked and call.what.inference is None]
        related = [call for call in others if call is not step and view.program.related(call.subject, step.subject)]
        trained = any(call in view.trained_calls for call in related)
        return trained and view.sharded(step.subject, step) and all(step.precedes(call) for call in related)

    def _switched(self, view: View, step: Step[events.Called]) -> Edit | None:
        """The innermost ``no_grad()`` around a call, in one of the functions that led to it."""
        for site in reversed(step.when.chain):
            text = view.text(site.path)
            around = text.around(call) if text is not None and (call := text.call(site)) is not None else ()
            for node in around:
                found = _no_grad(text, node) if text is not None else None
                if found is not None and text is not None:
                    return text.replaced(found, text.words(found).replace("no_grad", "inference_mode"))
        return None

    def shown(self, mutant: Mutant) -> bool:
        calls = (call for call in mutant.view.trace.of(events.Called) if call.what.inference is not None)
        return any(self._comes_first(mutant.view, call) for call in calls)


def _no_grad(text: Text, node: ast.AST) -> ast.expr | None:
    """What switches gradients off for a statement or a function."""
    items = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    given = [*items, *getattr(node, "decorator_list", [])]
    calls = (each.func for each in given if isinstance(each, ast.Call) and not each.args)
    return next((func for func in calls if text.words(func) in ("torch.no_grad",)), None)


OPERATORS = (DirectForward(), ModuleAttribute(), InferenceMode())
