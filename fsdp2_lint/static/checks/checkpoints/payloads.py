"""What is saved and loaded: this rank's shard, or the whole?"""

from __future__ import annotations

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.finding import Place, Site
from ....vocab.objects import Shards
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import LARGE, atoms
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import (
    BELOW,
    BELOW_ANYHOW,
    NONE,
    PICK,
    Const,
    Ext,
    Loaded,
    Obj,
    ParamV,
    StateDict,
    StateTensor,
    Value,
    is_call,
)
from ...libraries.python.attempts import never_dtensor
from ...libraries.torch.checkpoints.gathering import replaced
from ...libraries.torch.checkpoints.key_prefixes import PREFIX
from ...libraries.torch.sharding.module_tree import PARAMETRIC
from ..ranks.rank_paths import by_one_rank
from ..sharding.units import speaks_of
from ..shared.doubts import on_path, unproven
from ..shared.objects import RELATED
from ..shared.program import AtStep
from .common_files import named_by

_DDP = Ext("torch.nn.parallel.DistributedDataParallel")
_COPIES = frozenset("data detach clone contiguous cpu cuda to float half bfloat16 numpy requires_grad_".split())
_LAYERS = frozenset(Ext(f"torch.nn.{name}") for name in PARAMETRIC)


class StaticPayload(AtStep[events.Saved | events.Loaded | events.DcpSaved]):
    def leaves(self) -> list[tuple[PathCondition, Value]]:
        with self.program.machine.on_path(self.step.guard):
            return list(self.program.machine.leaves(self.step.what.payload))

    def shards(self) -> Many[Shards]:
        found: dict[str, tuple[PathCondition, Shards]] = {}
        if self._in_memory():
            return many((), unknown("what becomes of the buffer in memory is not known"))
        why = self.program.open_why
        for guard, each in self.leaves():
            leaf = _local_of(each) or each
            if isinstance(leaf, StateDict) and replaced(self.program.machine, leaf) is not None:
                continue  # what it holds now comes next
            tensor = StateTensor(leaf) if isinstance(leaf, StateDict) else leaf
            if isinstance(tensor, (StateTensor, ParamV)) and never_dtensor(guard, tensor):
                continue  # the program asked, and keeps only what is no DTensor
            if isinstance(leaf, (StateTensor, ParamV)) and guard.blurred - self.step.guard.blurred:
                why = why or "which tensors are written is decided by conditions that are too large to keep"
                continue  # one of them may have asked whether it is a DTensor
            if isinstance(tensor, (StateTensor, ParamV)) and (who := asked_of_unseen(guard, tensor)):
                why = why or f"which tensors are written is decided by {who}, which was not followed"
                continue
            if isinstance(leaf, ParamV):
                if gathered := self._gathered(leaf):
                    why = why or gathered
                    continue
                whole = self._of(StateDict("model", leaf.model, leaf.read), guard)
                words = whole.replace("the state dict", "parameters")
            elif isinstance(leaf, (StateDict, StateTensor)):
                state = leaf.of if isinstance(leaf, StateTensor) else leaf
                words = self._of(state, guard)
                if state.full is None and not self._of_one_rank():
                    why, words = why or "whether the state dict is gathered is decided elsewhere", ""
                elif state.full:
                    words = ""
            elif isinstance(leaf, Obj) and leaf.atom.module and leaf not in self.program.machine.libraries.optimizers:
                words, open_why = self._of_module(leaf, guard)
                why = why or open_why
            else:
                continue
            if words and (doubt := unproven(self.program, guard) or on_path(self.program, guard, self.step.index)):
                why, words = why or doubt, ""
            if words and all(guard.compatible(path) for path, _ in found.values()):  # what one run has together
                found.setdefault(words, (guard, Shards(words, self._read_at(leaf))))
        return many([part for _, part in found.values()], unknown(why) if why else self.all_parts())

    def _read_at(self, leaf: Value) -> Site | None:
        """Where the state dict was asked for, if that is no part of the call that writes it."""
        state = leaf.of if isinstance(leaf, StateTensor) else leaf
        made = state.made if isinstance(state, StateDict) else None
        return None if made is None or made.within(self.step.when.at) else made

    def _of_one_rank(self) -> bool:
        """Is it for the writer to gather, which no writer can on one rank alone?"""
        return isinstance(self.step.what, events.Saved) and self.step.what.own and by_one_rank(self.step.guard)

    def _in_memory(self) -> bool:
        """Is it written into an object of Python's, from which any rank may take it back?"""
        path = self.step.what.path if isinstance(self.step.what, events.Saved) else NONE
        leaves = [leaf for _, leaf in self.program.machine.leaves(path)]
        return any(isinstance(leaf, Obj) and leaf.atom.origin == "io.BytesIO" for leaf in leaves)

    def all_parts(self) -> Answer[Place]:
        """Are these all parts of what is saved?"""
        for _, leaf in self.leaves():
            if why := self.program.machine.more_inside(leaf):
                return unknown(why)
            if isinstance(leaf, Obj) and leaf.atom.kind in ("opaque", "parameter"):
                return unknown(f"what {self.program.label(leaf)} holds is not known")
        return self.program.excluded("all parts of what is saved were followed")

    def _of(self, state: StateDict, guard: PathCondition) -> str:
        """In words, whose state dict this is, if that is sharded on this path; empty if not."""
        if any(
            0 < state.read - step.index <= 2 and guard.compatible(step.guard)
            for step in self.program.trace.of(events.Fsdp1Context)
        ):
            return ""  # read under a context of FSDP1, which is FSDP903's to say
        machine = self.program.machine
        with machine.on_path(guard):
            owners = [(path, leaf) for path, leaf in machine.leaves(state.owner) if isinstance(leaf, Obj)]
        for path, owner in owners:
            if state.what == "optimizer":
                if self._optimizer_of_sharded(owner, path):
                    return f"the state of {self.program.label(owner)}, which is sharded like its parameters"
            elif self._sharded(owner, state.read, path):
                return f"the state dict of {self.program.label(owner)}"
        return ""

    def _sharded(self, obj: Obj, read: int, guard: PathCondition) -> bool:
        if obj.atom.wrapper and obj.atom.cls != _DDP:
            return False  # a method of another library may have gathered the dict behind our back
        return any(
            step.index < read
            and step.context in (0, self.step.context)
            and guard.undriven.compatible(step.guard.undriven)
            for step, _ in self.program.units(obj, *RELATED)
        )

    def _of_module(self, leaf: Obj, guard: PathCondition) -> tuple[str, str]:
        """In words, what of a sharded model this is, and why that is not known: a setting of it holds no shards."""
        if not self._sharded(leaf, self.step.index, guard):
            return "", ""
        if _made_as_module(leaf) or self.program.has_units(leaf, Relation.SAME, Relation.CONTAINS):
            return f"the sharded module {self.program.label(leaf)} itself", ""
        layer = _layer_with(leaf)
        if layer is not None and not any(speaks_of(formula, leaf) for formula, _ in guard.literals):
            return f"a parameter of {self.program.label(layer)}", ""
        return "", f"what {self.program.label(leaf)} is was not seen"

    def _gathered(self, leaf: ParamV) -> str:
        """Why a parameter may have been whole when it was read: ``state_dict()`` frees it first, this does not."""
        for model in self.program.machine.objects(leaf.model):
            for step in self.program.trace.of(events.Unshard):
                if step.index < leaf.read and self._unshards(step, model) and not self._freed(step, leaf.read):
                    return f"{step.when.at} gathers the parameters"
        return ""

    def _unshards(self, step: AnyStep, model: Obj) -> bool:
        """Does it gather more of the model than the group of the model itself, where there are others?"""
        found = self.program.relation(step.subject, model)
        alone = not self.program.has_units(model, Relation.CONTAINS)
        return found is not Relation.NONE and (found is not Relation.SAME or alone)

    def _freed(self, gathered: AnyStep, read: int) -> bool:
        return any(
            gathered.index < step.index < read
            and step.subject is gathered.subject
            and gathered.guard.implies(step.guard)
            for step in self.program.trace.of(events.Reshard)
        )

    def _optimizer_of_sharded(self, optimizer: Obj, guard: PathCondition) -> bool:
        for created in self.program.trace.of(events.Optimizer):
            if created.subject is optimizer:
                for held in created.what.held:
                    path = guard.join(held.guard)
                    if path is not None and self._sharded(held.model, held.read, path):
                        return True
        return False

    def path_per_rank(self) -> Answer[object]:
        if by_one_rank(self.step.guard):
            return self.program.excluded("only one rank writes it")
        path = self.step.what.path if isinstance(self.step.what, events.Saved) else NONE
        verdict = self.program.machine.per_rank(path)
        if verdict is None:
            return unknown("whether each rank writes a file of its own is not known")
        return yes(True) if verdict else self.program.excluded("the path is the same on every rank")

    def full_tensors(self) -> Answer[object]:
        """Plain tensors, the same for all ranks: from a file, or gathered, or of an unsharded model."""
        answers: list[Answer[object]] = []
        unseen = unknown("where the state dict comes from is not known")
        for guard, leaf in self.leaves():
            if isinstance(leaf, Obj):
                return unknown("how each of its tensors is made is not known")  # most likely they are distributed
            if isinstance(leaf, Loaded):
                open_ = unknown("whether each rank reads a file of its own is not known")
                whole = leaf.per_rank is False or self._whole_file(leaf)
                why = self._may_be_shards(leaf) if whole else ""
                answers.append(unknown(why) if why else yes(True) if whole else open_)
            elif isinstance(leaf, StateDict):
                if replaced(self.program.machine, leaf) is not None:
                    answers.append(unknown("what was put in the place of its tensors is not known"))
                elif leaf.full is True:
                    answers.append(yes(True))
                elif leaf.full is None or self._of(leaf, guard):
                    answers.append(self.program.excluded("the state dict holds shards"))
                else:
                    answers.append(yes(True) if self._known_plain(leaf) else unseen)
        if not answers:
            return unseen
        return next((answer for answer in answers if answer.surely), answers[0])

    def _whole_file(self, loaded: Loaded) -> bool:
        """Does one rank alone write where the same settings say, and no shards? Another file no rank would find."""
        named = named_by(self.program.machine, loaded.path)
        for step in self.program.trace.of(events.Saved) if loaded.per_rank is None and named else ():
            if by_one_rank(step.guard) and named <= named_by(self.program.machine, step.what.path):
                shards = StaticPayload(self.program, step).shards()
                if not shards.items and shards.closed is not None:
                    return True
        return False

    def _may_be_shards(self, loaded: Loaded) -> str:
        """Why it may read back what the program itself has written there: distributed tensors."""
        for step in self.program.trace.of(events.Saved):
            if step.what.by.startswith("safetensors."):
                continue  # it raises where it is given distributed tensors, and leaves no file
            apart = (
                isinstance(step.what.path, Const) and isinstance(loaded.path, Const) and step.what.path != loaded.path
            )
            if not apart and StaticPayload(self.program, step).shards().items:
                return f"whether it reads what was written at {step.when.at} is not known"
        return ""

    def _known_plain(self, state: StateDict) -> bool:
        """Is it of models that nothing shards, or that are sharded only later?"""
        return all(
            step.index >= state.read and step.context == 0 and step.guard.undriven is step.guard
            for _, leaf in self.program.machine.leaves(state.owner)
            if isinstance(leaf, Obj)
            for step, _ in self.program.units(leaf, *RELATED, Relation.MAY)
        )


class StaticKeys(AtStep[events.KeysWritten]):
    def prefixed(self) -> Answer[Place]:
        if wrapped := self.step.what.wrapped:
            return yes(Place(wrapped[0], repr(PREFIX)))
        return self.program.nowhere(events.Wrapped)


def _local_of(leaf: Value) -> ParamV | StateTensor | None:
    """The tensor of which this is the rank's own part, or a copy of that: ``p.to_local().detach().cpu()``."""
    if not isinstance(leaf, Obj) or leaf.atom.origin != "to_local()":
        return None
    copied = all(item in _COPIES or is_call(item) and item[1] in _COPIES for item in leaf.path)
    of = next(iter(leaf.atom.operands), None)
    return of if copied and isinstance(of, (ParamV, StateTensor)) else None


def _made_as_module(leaf: Obj) -> bool:
    """Is it what a constructor made, one of several that it made, or a module as ``modules()`` gives them?"""
    while leaf.parent is not None and isinstance(leaf.item, tuple) and leaf.item[0] == PICK:
        leaf = leaf.parent
    return leaf.parent is None or leaf.item in (BELOW, BELOW_ANYHOW)


def _layer_with(leaf: Obj) -> Obj | None:
    """The layer of torch, seen where it was made, whose ``weight`` or ``bias`` this is."""
    layer = leaf.parent if leaf.item in ("weight", "bias") else None
    made = layer.atom.cls if layer is not None and layer.parent is None else None
    return layer if made in _LAYERS else None


def asked_of_unseen(guard: PathCondition, leaf: StateTensor | ParamV) -> str:
    """Which code, that was not followed, was given this tensor and answered a condition of the path."""
    for formula, _ in guard.literals:
        for atom in atoms(formula):
            asked = atom[1][1] if isinstance(atom[1], tuple) and atom[1][0] == LARGE else atom[1]
            if isinstance(asked, Obj) and any(_same_tensor(leaf, kept) for kept in asked.atom.keeps):
                return asked.atom.origin
    return ""


def _same_tensor(leaf: StateTensor | ParamV, kept: Value) -> bool:
    if isinstance(leaf, ParamV) and isinstance(kept, ParamV):
        return leaf.model == kept.model and leaf.read == kept.read
    return leaf == kept
