"""Faults of checkpoints: what is saved and loaded, how, and by whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import AnyStep
from fsdp2_lint.static.domain.values import Obj

from .operator import RANK_ZERO, SHOWN_BY_EDIT, TORCH, Mutant, Operator, Plant, argument, callee, keyword
from .plan import AtRoot
from .text import Edit, short
from .view import View, is_plain


class PlainSave(Operator):
    name, code = "plain-save", "FSDP701"
    fault = "each rank writes its shards with torch.save"

    def places(self, view: View) -> Iterator[Plant]:
        for helper in view.trace.of(events.StateHelper):
            found = view.call(helper) if helper.what.helper.startswith("get_") else None
            statement = found[0].statement(helper.when.at) if found is not None else None
            model = argument(found[1], 0, "model") if found is not None else None
            if found is None or statement is None or model is None or not is_plain(model):
                continue
            if view.part_sharded(helper.subject, helper):
                line = f'planted.save({found[0].words(model)}.state_dict(), "planted.pt")'
                yield Plant((found[0].before(statement, TORCH, line),), view.home(helper.subject))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Saved))


class PlainLoad(AtRoot):
    name, code = "plain-load", "FSDP705"
    fault = "full tensors are loaded into a sharded model"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return TORCH, f'{model}.load_state_dict(planted.load("planted.pt"))'

    def shown(self, mutant: Mutant) -> bool:
        loads = mutant.planted(events.Loaded)
        return any(mutant.view.sharded(load.subject, load) for load in loads)


class LoadedIntoNothing(Operator):
    name, code = "load-into-nothing", "FSDP703"
    fault = "a checkpoint is loaded into a dict that nobody keeps"

    def places(self, view: View) -> Iterator[Plant]:
        for load in view.trace.of(events.DcpLoad):
            found = view.call(load)
            given = argument(found[1], 0, "state_dict") if found is not None else None
            unit = next(view.trace.of(events.Sharded), None)
            if found is not None and given is not None and unit is not None and not load.what.nothing:
                yield Plant((found[0].replaced(given, "{}"),), view.home(unit.subject))

    def shown(self, mutant: Mutant) -> bool:
        loads = mutant.planted(events.DcpLoad)
        return any(load.what.nothing for load in loads)


class NotAwaited(Operator):
    name, code = "save-not-awaited", "FSDP706"
    fault = "the save goes on in the background, and nobody waits for it"

    def places(self, view: View) -> Iterator[Plant]:
        for save in view.trace.of(events.DcpSaved):
            found = view.call(save)
            statement = found[0].statement(save.when.at) if found is not None else None
            unit = next(view.trace.of(events.Sharded), None)
            if found is None or unit is None or not isinstance(statement, ast.Expr):
                continue
            text, call = found
            if isinstance(call.func, ast.Attribute) and callee(text, call) == "save" and statement.value is call:
                edit = text.replaced(call.func, f"{text.words(call.func.value)}.async_save")
                yield Plant((edit,), view.home(unit.subject))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.AsyncSave))


class GatheredOnGpu(Operator):
    name, code = "gathered-on-gpu", "FSDP702"
    fault = "whole state dicts are gathered on the GPU"
    unshown = SHOWN_BY_EDIT

    def places(self, view: View) -> Iterator[Plant]:
        for helper in view.trace.of(events.StateHelper):
            edit = self._on_gpu(view, helper) if view.part_sharded(helper.subject, helper) else None
            if edit is not None:
                yield Plant((edit,), view.home(helper.subject), (helper.when.at,))

    def _on_gpu(self, view: View, helper: AnyStep) -> Edit | None:
        """Where the options are written in the call itself."""
        found = view.call(helper)
        options = keyword(found[1], "options") if found is not None else None
        if found is None or not isinstance(options, ast.Call):
            return None
        full, offload = (keyword(options, name) for name in ("full_state_dict", "cpu_offload"))
        both = all(isinstance(each, ast.Constant) and each.value is True for each in (full, offload))
        return found[0].replaced(offload, "False") if both and offload is not None else None

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.kept(events.StateHelper))


class OneRankAlone(Operator):
    """A statement that all ranks must come to is run by one of them."""

    kind: type[events.Event]
    condition = RANK_ZERO

    def places(self, view: View) -> Iterator[Plant]:
        for step in view.trace.of(self.kind):
            text = view.text(step.when.at.path)
            statement = text.statement(step.when.at) if text is not None else None
            if text is None or not isinstance(statement, (ast.Expr, ast.Assign)) or not short(statement):
                continue
            if self._together(view, step):
                yield Plant((text.guarded(statement, self.condition),), view.home(step.subject or _first(view)))

    def _together(self, view: View, step: AnyStep) -> bool:
        """Do all ranks come there to do something together?"""
        there = (each for each in view.trace.of(events.Collective) if each.when == step.when)
        return any(each.what.sure and not each.asked for each in there) and any(view.trace.of(events.Sharded))

    def shown(self, mutant: Mutant) -> bool:
        there = mutant.planted(events.Collective)
        return any(each.asked for each in there)


def _first(view: View) -> Obj | None:
    return next((unit.subject for unit in view.trace.of(events.Sharded)), None)


class SavedByOne(OneRankAlone):
    name, code, kind = "saved-by-one-rank", "FSDP801", events.DcpSaved
    fault = "one rank alone saves what all ranks must save together"


class GatheredByOne(OneRankAlone):
    name, code, kind = "gathered-by-one-rank", "FSDP801", events.StateHelper
    fault = "one rank alone gathers what all ranks must gather together"


class ClippedByOne(OneRankAlone):
    name, code, kind = "clipped-by-one-rank", "FSDP801", events.Clipped
    fault = "one rank alone computes a norm that needs all ranks"


OPERATORS = (
    PlainSave(),
    PlainLoad(),
    LoadedIntoNothing(),
    NotAwaited(),
    GatheredOnGpu(),
    SavedByOne(),
    GatheredByOne(),
    ClippedByOne(),
)
