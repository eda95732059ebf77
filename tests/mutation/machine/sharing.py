"""Faults of what ranks share: keys and files of checkpoints, the order of collectives, and who comes to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import Step
from fsdp2_lint.static.domain.values import Rank, StateDict
from fsdp2_lint.static.libraries.torch.ranks.data import Sampler

from .launch import model_file
from .operator import RANK, SHOWN_BY_EDIT, TORCH, Mutant, Operator, Plant, argument, callee, keyword
from .plan import AtRoot
from .saving import OneRankAlone
from .view import View, is_plain

OWN_CLOCK = '__import__("time").time() % 600 < 300'
LOCAL_RANK = 'int(__import__("os").environ["LOCAL_RANK"])'


class OwnUnderKey(Operator):
    name, code = "own-under-one-key", "FSDP712"
    fault = "a number of each rank is saved under one key"

    def places(self, view: View) -> Iterator[Plant]:
        for save in view.trace.of(events.DcpSaved):
            found = view.call(save) if not save.what.alone else None
            given = argument(found[1], 0, "state_dict") if found is not None else None
            if found is not None and given is not None and model_file(view):
                both = f'{{"planted": {found[0].words(given)}, "planted_place": {RANK} * 100}}'
                yield Plant((found[0].replaced(given, both),), model_file(view))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.DcpSaved))


class Numbered(Operator):
    name, code = "numbered-state", "FSDP713"
    fault = "the state of an optimizer is saved under the numbers of its parameters"

    def places(self, view: View) -> Iterator[Plant]:
        for helper in view.trace.of(events.StateHelper) if any(view.trace.of(events.DcpSaved)) else ():
            found = view.call(helper)
            model, optimizer = (
                (argument(found[1], place, "") for place in (0, 1)) if found is not None else (None, None)
            )
            if found is None or model is None or optimizer is None or not is_plain(optimizer) or not is_plain(model):
                continue
            text, state = found[0], f"{found[0].words(optimizer)}.state_dict()"
            both = f"({text.words(model)}.state_dict(), {state})"
            edit = {"get_optimizer_state_dict": state, "get_state_dict": both}.get(helper.what.helper)
            if edit is not None and callee(*found) == helper.what.helper:
                yield Plant((text.replaced(found[1], edit),), view.home(helper.subject))

    def shown(self, mutant: Mutant) -> bool:
        machine = mutant.view.program.machine
        saved = (leaf for step in mutant.view.trace.of(events.DcpSaved) for leaf in machine.inside(step.what.payload))
        return any(isinstance(leaf, StateDict) and leaf.what == "optimizer" and leaf.numbered for leaf in saved)


class WrittenByAll(Operator):
    name, code = "written-by-all", "FSDP714"
    fault = "all ranks write one file, and only the first has what belongs in it"

    def places(self, view: View) -> Iterator[Plant]:
        for helper in view.trace.of(events.StateHelper):
            found = view.call(helper) if self._on_first_rank(view, helper) else None
            statement = found[0].statement(helper.when.at) if found is not None else None
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if found is not None and statement is not None and len(targets) == 1 and isinstance(targets[0], ast.Name):
                if isinstance(statement, ast.Assign) and statement.value is found[1]:
                    line = f'planted.save({targets[0].id}, "planted.pt")'
                    yield Plant((found[0].after(statement, TORCH, line),), view.home(helper.subject))

    def _on_first_rank(self, view: View, helper: Step[events.StateHelper]) -> bool:
        """Does it gather on the CPU, by options that are written in the call?"""
        found = view.call(helper) if view.part_sharded(helper.subject, helper) else None
        options = keyword(found[1], "options") if found is not None else None
        given = (
            [keyword(options, name) for name in ("full_state_dict", "cpu_offload")]
            if isinstance(options, ast.Call)
            else []
        )
        literal = all(isinstance(each, ast.Constant) and each.value is True for each in given)
        return bool(given) and literal and not helper.guard.literals

    def shown(self, mutant: Mutant) -> bool:
        machine = mutant.view.program.machine
        saved = (leaf for step in mutant.planted(events.Saved) for leaf in machine.inside(step.what.payload))
        return any(isinstance(leaf, StateDict) and leaf.rank0 for leaf in saved)


class OfOtherNames(AtRoot):
    name, code = "loaded-by-other-names", "FSDP703"
    fault = "what is loaded need not fit, and nobody looks whether it does"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return "from torch.distributed.checkpoint import state_dict as planted", (
            f'planted.set_model_state_dict({model}, {{f"module.{{name}}": value for name, value in '
            f"{model}.state_dict().items()}}, options=planted.StateDictOptions(strict=False))"
        )

    def shown(self, mutant: Mutant) -> bool:
        return any(helper.what.dropped for helper in mutant.planted(events.StateHelper))


class InASet(AtRoot):
    name, code = "gathered-in-a-set", "FSDP806"
    fault = "parameters are gathered in the order of a set, which is another one on each rank"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return f"for planted in set({model}.parameters()):", "    planted.full_tensor()"

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Collective))


class OfLocalRank(Operator):
    name, code = "part-of-local-rank", "FSDP808"
    fault = "each node trains on the same parts of the data"
    unshown = SHOWN_BY_EDIT

    def places(self, view: View) -> Iterator[Plant]:
        for made in view.trace.of(events.Sampler) if model_file(view) else ():
            found = view.call(made)
            if found is None or callee(*found) != "DistributedSampler":
                continue
            rank = keyword(found[1], "rank")
            given = [*found[1].args, *(each.value for each in found[1].keywords)]
            written = found[0].replaced(rank, LOCAL_RANK) if rank is not None else None
            if len(found[1].args) < 3:
                edit = written or found[0].appended(given[-1], f", rank={LOCAL_RANK}")
                yield Plant((edit,), model_file(view))

    def shown(self, mutant: Mutant) -> bool:
        known = [
            made.subject.atom.state(Sampler) for made in mutant.planted(events.Sampler) if made.subject is not None
        ]
        return any(each is not None and each.rank == Rank("local") for each in known)


class SavedByOwnClock(OneRankAlone):
    name, code, kind = "saved-by-own-clock", "FSDP801", events.DcpSaved
    fault = "the clock of each rank says whether it saves"
    condition = OWN_CLOCK

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Collective))


OPERATORS = (
    OwnUnderKey(),
    Numbered(),
    WrittenByAll(),
    OfOtherNames(),
    InASet(),
    OfLocalRank(),
    SavedByOwnClock(),
)
