"""Batches: what is trained on, where it comes from, and whether the ranks share it."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import NONE, ClassV, Const, Ext, Obj, Rank, TupleV, Value
from ...frontend.names import names_in
from ...interpreter.expressions.own_values import own_of
from ...libraries.torch.ranks.data import Loader, Sampler
from ...libraries.torch.ranks.seeds import differs
from ..shared.loops import Loop
from ..shared.program import AtStep, Program
from .alike import same_on_all_ranks
from .own_choices import agreed


def trained_on(program: Program, call: AnyStep) -> AnyStep | None:
    """The backward that this call of a root is the last one before, in the same round of the same loops."""
    backward = followed_by(program, call)
    for other in program.trace.of(events.Called, after=call) if backward is not None else ():
        if backward is not None and other.index < backward.index and not other.what.inside:
            if other.subject is not None and program.concerned(other.subject):
                return None
    return backward


def followed_by(program: Program, call: AnyStep) -> AnyStep | None:
    """A backward after this call, in the same round of the same loops."""
    around = set(program.loops(call))
    for backward in program.trace.of(events.Backward, after=call):
        if around <= set(program.loops(backward)):
            return backward
    return None


def inputs(program: Program, call: Step[events.Called]) -> Iterator[Obj]:
    """Where the arguments of a call come from."""
    for value in call.what.args:
        for _, leaf in program.machine.leaves(value):
            while isinstance(leaf, Obj):
                yield leaf
                made = leaf.atom.left_of
                leaf = made[1] if made is not None else NONE


_PLAIN_SAMPLERS = frozenset(
    f"torch.utils.data.{where}{name}"
    for where in ("", "sampler.")
    for name in "Sampler SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler".split()
)


class StaticEpochs(AtStep[events.Event]):
    """A loader as one loop reads it."""

    def same_order(self) -> Answer[Place]:
        """Is the order of samples the same in each epoch? Unknown where something else may set the epoch."""
        found = self._sampler()
        if found is None:
            why = self._sampler_unseen()
            return unknown(why) if why else self.program.excluded("no DistributedSampler shuffles for it")
        obj, sampler = found
        trained, several = self._trained(), self._several_rounds(sampler.made)
        once = not trained or not several
        elsewhere = self._read_elsewhere() if once else ""
        if several and not trained and not elsewhere:
            elsewhere = self._trained_on_unseen()
        if once and not elsewhere:
            return self.program.excluded("no model is trained on it in several rounds")
        if sampler.shuffle != Const(True):
            if sampler.shuffle == Const(False):
                return self.program.excluded("the sampler does not shuffle")
            return unknown("whether the sampler shuffles is decided elsewhere")
        if why := self.program.managed_by or self.program.open_why:
            return unknown(why)
        steps = list(self.program.trace.of(events.EpochSet))
        own = [step for step in steps if step.subject is not None and step.subject in (obj, self.step.subject)]
        if any(not self._before_all_rounds(step, sampler.made) for step in own):
            return self.program.excluded("set_epoch is called on its sampler")
        if elsewhere:
            return unknown(elsewhere)
        others = [step.subject for step in steps if step not in own]
        if any(other is not None and not _is_of_loading(other) for other in others) or self._mentioned():
            return unknown("set_epoch() is called on something that was not followed")
        if own:
            return yes(Place(own[-1].when, "its epoch is set here, once for all of them"))
        return yes(Place(sampler.made.when, "its sampler is made here and shuffles"))

    def _sampler(self) -> tuple[Obj, Sampler] | None:
        loader = self.step.subject.atom.state(Loader) if self.step.subject is not None else None
        for path, leaf in self.program.machine.alternatives(loader.sampler) if loader is not None else ():
            known = leaf.atom.state(Sampler) if isinstance(leaf, Obj) else None
            if isinstance(leaf, Obj) and known is not None and self.step.guard.compatible(path):
                return leaf, known
        return None

    def _sampler_unseen(self) -> str:
        """Why a sampler that was not seen may be one that shuffles."""
        loader = self.step.subject.atom.state(Loader) if self.step.subject is not None else None
        if loader is None or loader.open_why:
            return "what the loader is given was not followed"
        if any(leaf != NONE and not self._no_sampler_of_torch(leaf) for leaf in self._given(loader)):
            return "what the sampler of this loader is was not followed"
        return ""

    def _given(self, loader: Loader) -> Iterator[Value]:
        for value in (loader.sampler, loader.batch_sampler):
            for path, leaf in self.program.machine.alternatives(value):
                if self.step.guard.compatible(path):
                    yield leaf

    def _no_sampler_of_torch(self, leaf: Value) -> bool:
        """Is it a sampler of torch that knows no ranks, or one of the project that derives from none that does?"""
        if not isinstance(leaf, Obj) or leaf.parent is not None:
            return False
        cls = self.program.machine.class_of(leaf)
        bases = self.program.machine.mro(cls) if isinstance(cls, ClassV) else []
        names = [leaf.atom.origin] if not bases else [base.qname for base in bases if isinstance(base, Ext)]
        return all(name in _PLAIN_SAMPLERS or name.startswith(("builtins.", "typing.")) for name in names)

    def _read_elsewhere(self) -> str:
        """Why the loader may be read in more rounds than were seen."""
        if self.program.partial:
            return "no script was seen that runs this: its callers may do more"
        if why := self.program.managed_by or self.program.open_why:
            return why
        loader = self.step.subject
        handed = self.program.machine.libraries.handed
        return next((f"{who} may read it in more rounds" for obj, who in handed.items() if obj is loader), "")

    def _trained(self) -> bool:
        """Is a model trained on what the loader yields?"""
        own = self.step.subject
        for call in self.program.trace.of(events.Called):
            if call.what.inside or call.subject is None or not self.program.concerned(call.subject):
                continue
            fed = any(obj.atom.root is own for obj in inputs(self.program, call))
            if (fed or self._headed(call) or self._alone(call)) and followed_by(self.program, call) is not None:
                return True
        return False

    def _trained_on_unseen(self) -> str:
        """Where a model is trained on what was not followed, which may be what this loader yields."""
        for call in self.program.trace.of(events.Called):
            if call.what.open_why and call.subject is not None and self.program.concerned(call.subject):
                if not call.what.inside and followed_by(self.program, call) is not None:
                    return f"whether {call.when.at} is given what this loader yields is not known"
        return ""

    def _alone(self, call: AnyStep) -> bool:
        """Is there no other loader, and is the call behind this reading in the same loops?"""
        if any(step.subject is not self.step.subject for step in self.program.trace.of(events.LoaderRead)):
            return False
        return set(self.program.loops(self.step)) <= set(self.program.loops(call)) and self.step.precedes(call)

    def _headed(self, call: AnyStep) -> bool:
        """Is the call in the loop that begins with this reading?"""
        here = self.step.when.at
        return any(
            loop.site.path == here.path and loop.site.row <= here.row < loop.node.body[0].fromlineno
            for loop in self.program.loops(call)
        )

    def _several_rounds(self, made: AnyStep) -> bool:
        return any(not loop.once for loop in self._rounds(made))

    def _rounds(self, made: AnyStep) -> list[Loop]:
        around = set(self.program.loops(made))
        return [loop for loop in self.program.loops(self.step) if loop not in around]

    def _before_all_rounds(self, step: AnyStep, made: AnyStep) -> bool:
        """Is this done once, and not in one of the rounds in which the loader is read?"""
        return (
            not step.context
            and step.precedes(self.step)
            and set(self._rounds(made)).isdisjoint(self.program.loops(step))
        )

    def _mentioned(self) -> bool:
        """Is there a call of ``set_epoch`` in these files that the interpreter did not come to?"""
        project = self.program.project
        paths = {site.path for step in (self.step,) for site in step.when.chain}
        trees = [module.tree for path in paths if (module := project.module(path)) is not None]
        return not any(True for _ in self.program.trace.of(events.EpochSet)) and any(
            "set_epoch" in names_in(tree) for tree in trees
        )


class StaticKeptLoader(StaticEpochs):
    """A loader that nobody was seen to read, as of where it is made."""

    def is_shuffled(self) -> bool:
        found = self._sampler()
        return found is not None and found[1].shuffle != Const(False)

    def same_order(self) -> Answer[Place]:
        return unknown("who reads this loader was not followed")


def _is_of_loading(obj: Obj) -> bool:
    """A sampler or a loader that was seen where it is made."""
    return obj.atom.state(Sampler) is not None or obj.atom.state(Loader) is not None


def not_followed(program: Program) -> str:
    """Why it is not known which ranks are to have batches of their own."""
    if program.partial and not _shards_over_all_ranks(program):
        return "the script that trains was not seen"
    if why := program.managed_by or program.open_why:
        return why
    for mesh in program.trace.of(events.Mesh):
        shape = mesh.what.shape
        if not (isinstance(shape, TupleV) and len(shape.items) == 1 or _whole_mesh_shards(program, mesh)):
            return "ranks of this mesh may need the same batch"
    return ""


def _shards_over_all_ranks(program: Program) -> bool:
    """Is no mesh given to ``fully_shard``? Then no caller of this part splits a batch: that needs a mesh."""
    meshes = [step.what.options.get("mesh", NONE) for step in program.trace.of(events.Sharded)]
    return bool(meshes) and all(mesh == NONE for mesh in meshes)


def _whole_mesh_shards(program: Program, mesh: AnyStep) -> bool:
    """Is ``fully_shard`` given the mesh with all its dimensions? They replicate and shard, and none splits a batch."""
    given = (step.what.options.get("mesh", NONE) for step in program.trace.of(events.Sharded))
    return any(leaf is mesh.subject for value in given for _, leaf in program.machine.leaves(value))


class StaticSampler(AtStep[events.Sampler]):
    """A distributed sampler, as it is made."""

    def seed_differs(self) -> Answer[Place]:
        known = self.step.subject.atom.state(Sampler) if self.step.subject is not None else None
        if known is None or known.shuffle == Const(False):
            return self.program.excluded("the sampler does not shuffle")
        if why := not_followed(self.program):
            return unknown(why)
        if known.shuffle != Const(True) or known.rank != NONE and not isinstance(known.rank, Rank):
            return unknown("whether the sampler shuffles, and for which rank, is decided elsewhere")
        machine, same = self.program.machine, True
        if known.seed != NONE:
            if differs(machine, known.seed):
                return yes(Place(self.step.when, "a seed that is computed from the rank"))
            own = own_of(machine, known.seed)
            if own is not None and not agreed(self.program, own, self.step):
                return yes(Place(own.when or self.step.when, f"a seed that depends on {own.words}"))
            same = same_on_all_ranks(self.program, known.seed)
        for step in self.program.trace.of(events.EpochSet):
            if step.subject is self.step.subject and differs(machine, step.what.epoch):
                return yes(Place(step.when, "an epoch that is computed from the rank"))
            same = same and same_on_all_ranks(self.program, step.what.epoch)
        same_order = self.program.excluded("the ranks shuffle with the same numbers")
        return same_order if same else unknown("whether the ranks shuffle with the same numbers is not known")
