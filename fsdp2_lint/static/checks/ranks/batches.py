"""What a call of a root is given: is it the same on each rank?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.values import NONE, SOME, Const, Obj, Rank, Text, TupleV, Value
from ...frontend.launchers import WORLD_SIZE
from ...frontend.packages import is_listed
from ...interpreter.expressions.own_values import Own, own_in, own_of
from ...interpreter.expressions.owning import PART
from ...libraries.computed import ingredients
from ...libraries.torch.launch.meshes import dimensions
from ...libraries.torch.ranks.data import Loader, Picked, Sampler
from ...libraries.torch.ranks.seeds import Drawn
from ..launch.machines import may_be_one_machine, on_one_machine
from ..shared.program import AtStep
from .data import inputs, not_followed
from .data_sources import alike, code_varies, made_by_rank, made_of, origin_known, seeded_alike
from .own_dealing import by_node, given_to
from .peers import apart
from .split_inputs import may_split


class StaticBatch(AtStep[events.Called]):
    """What one call of a root is given."""

    def same_on_every_node(self) -> Answer[Place]:
        """Is its part of the data chosen by the rank on the node? Processes that meet at localhost have one node."""
        for loader, sampler in self._samplers_behind():
            if not self._is_of_node(sampler.rank):
                continue
            if why := not_followed(self.program) or may_split(self.program, self.step):
                return unknown(why)
            if on_one_machine(self.program, self.step):
                return self.program.excluded("the processes meet at localhost, so there is one node")
            if why := self._other_rank(sampler.rank):
                return unknown(why)
            if may_be_one_machine(sampler.made.guard):
                return unknown("a condition on the way may leave one node only")
            if made_by_rank(self.program, loader.dataset):
                return unknown("each node may have data of its own")
            return yes(Place(sampler.made.when, "this sampler takes the rank on the node for the rank in the job"))
        for loader in self._loaders():
            for stride in filter(None, (by_node(self.program, obj) for obj in given_to(self.program, loader))):
                return self._on_nodes(Place(stride.at(self.program), "these are split by the rank on the node"))
        for part in self._parts():
            own = part.atom.state(Own)
            taken = own.when if own is not None and own.when is not None else self.step.when
            return self._on_nodes(Place(taken, "this part of the data is that of the rank on the node"))
        return self.program.excluded("no sampler that was seen is given the rank on the node")

    def _on_nodes(self, place: Place) -> Answer[Place]:
        """What is dealt out at ``place`` by the rank on the node comes again on each other node, if there are any."""
        why = not_followed(self.program) or may_split(self.program, self.step)
        if why or on_one_machine(self.program, self.step) or may_be_one_machine(self.step.guard):
            return unknown(why or "whether there are several nodes is not known")
        return yes(place)

    def _loaders(self) -> Iterator[Loader]:
        """Those that what it is given is made of."""
        for value in made_of(self.program.machine, self.step.what.args):
            if isinstance(value, Obj) and (loader := value.atom.state(Loader)) is not None:
                yield loader

    def _parts(self) -> Iterator[Obj]:
        """What it is given is made of these, that each rank took by its number on the node among those of the job."""
        machine = self.program.machine
        everyone = machine.libraries.settings.get(WORLD_SIZE)
        own = [each for leaf in self._inputs() if (each := own_in(machine, leaf)) is not None]
        on_the_way = sorted((way for each in own for way in each.via), key=lambda way: way.atom.id)
        for obj in dict.fromkeys((*self._ingredients(), *on_the_way)):
            of, *taken = obj.atom.operands if obj.atom.origin == PART else (NONE,)
            ranks = {each for each in taken if isinstance(each, Rank)}
            by_node = ranks == {Rank("local")} and everyone in taken
            if by_node and own_of(machine, of) is None and not made_by_rank(self.program, of):
                yield obj

    def _inputs(self) -> list[Obj]:
        given = (leaf for value in self.step.what.args for leaf in self.program.machine.inside(value))
        return [leaf for leaf in given if isinstance(leaf, Obj)]

    def _ingredients(self) -> Iterator[Obj]:
        """What it is given, and all that this was computed of; how long one is, is none of its samples."""
        machine = self.program.machine
        stack = self._inputs()
        seen = set(stack)
        while stack:
            obj = stack.pop()
            yield obj
            more = dict.fromkeys(each for how, each in ingredients(machine, obj) if how != "len" and each not in seen)
            seen.update(more)
            stack += more

    def same_in_each_replica(self) -> Answer[Place]:
        """Is its part of the data chosen by the rank on one dimension of a mesh that replicates along the other?"""
        for loader, sampler in self._samplers():
            rank = sampler.rank
            if not isinstance(rank, Rank) or rank.mesh is None:
                continue
            if why := not_followed(self.program) or may_split(self.program, self.step):
                return unknown(why)
            known = dimensions(rank.mesh)
            if known is None or len(known.sizes) != 2 or 1 in known.sizes:
                return unknown("what the dimensions of the mesh are is not known")
            if made_by_rank(self.program, loader.dataset):
                return unknown("each replica may have data of its own")
            read = Moment(rank.at) if rank.at is not None else sampler.made.when
            return yes(Place(read, "this is the rank on one dimension of the mesh alone"))
        return self.program.excluded("no sampler that was seen is given the rank on one of several dimensions")

    def _samplers(self) -> Iterator[tuple[Loader, Sampler]]:
        """The loaders that the batch comes from, with each of torch's samplers that they may have."""
        for obj in inputs(self.program, self.step):
            yield from self._samplers_of(obj)

    def _samplers_behind(self) -> Iterator[tuple[Loader, Sampler]]:
        """Likewise, of the loaders that what it is given was computed of."""
        for obj in self._ingredients():
            yield from self._samplers_of(obj)

    def _samplers_of(self, obj: Obj) -> Iterator[tuple[Loader, Sampler]]:
        loader = obj.atom.state(Loader)
        for leaf in self.program.machine.objects(loader.sampler) if loader is not None else ():
            if loader is not None and (sampler := leaf.atom.state(Sampler)) is not None:
                yield loader, sampler

    def _is_of_node(self, rank: Value) -> bool:
        """Also an option that has it by default: a launcher gives all ranks of a job one command line."""
        machine = self.program.machine
        taken = [leaf for path, leaf in machine.alternatives(rank) if self.step.guard.compatible(path)]
        defaults = (machine.libraries.default_of(leaf) if isinstance(leaf, Obj) else leaf for leaf in taken)
        return bool(taken) and all(Rank("local") in pair for pair in zip(taken, defaults))

    def _other_rank(self, rank: Value) -> str:
        """Why an option may be what was put in its place."""
        machine = self.program.machine
        if not isinstance(rank, Obj):
            return ""
        options = rank.atom.root
        if who := next((who for held, who in machine.libraries.handed.items() if held.atom is options.atom), ""):
            return f"{who} was handed the options of the command line"
        written = machine.store.get((options, SOME)) is not None
        return "an option that is not known by name is set" if written else ""

    def apart_in_one_unit(self) -> Answer[tuple[Place, Place]]:
        return apart(self.program, self.step)

    def same_on_every_rank(self) -> Answer[Place]:
        """Does each rank read the same samples? Unknown where the loader or its data set was not followed."""
        if why := not_followed(self.program) or may_split(self.program, self.step):
            return unknown(why)
        read: list[Answer[Place]] = []
        alone, beside = True, bool(self.step.what.open_why)
        for value in made_of(self.program.machine, self.step.what.args):
            loader = value.atom.state(Loader) if isinstance(value, Obj) else None
            if isinstance(value, Obj) and any(of_rank(item) for item in value.path):
                return self.program.excluded("the rank picks its part of the batch")
            if loader is not None:
                read.append(self._loader(loader))
                alone = False
            elif isinstance(value, Obj) and value.path and (picked := value.atom.state(Picked)) is not None:
                read.append(self._picks(value, picked))
                alone = False
            elif isinstance(value, Obj) and _generator(value) != NONE:
                read.append(self._drawn(value))
            else:
                beside = beside or not alike(self.program, value)
        if alone and beside or not read:  # noise of one seed says nothing of the samples that it is added to
            return unknown("where the batch comes from was not followed")
        if all(answer.surely for answer in read) and self._picked():
            return unknown("each rank may pick its part of the batch")
        return next((answer for answer in read if not answer.surely), read[0])

    def _drawn(self, obj: Obj) -> Answer[Place]:
        why = origin_known(self.program, obj.atom.root)
        return unknown(why) if why else yes(Place(self._site(obj), "drawn from a generator of the same seed"))

    def _picks(self, obj: Obj, picked: Picked) -> Answer[Place]:
        """Samples at places that were drawn: the same ones, where the draws are and what they are taken from is."""
        data = obj.atom.root
        known = data.atom.kind in ("unknown", "external") and is_listed(data.atom.origin)
        if picked.by_rank or made_by_rank(self.program, data) or not known:
            return unknown("where the batch comes from was not followed")
        why = origin_known(self.program, data) if own_in(self.program.machine, data) is not None else ""
        why = why or next((why for each in picked.draws if (why := origin_known(self.program, each.root))), "")
        drawn = picked.draws[0].state(Drawn)
        assert drawn is not None
        return unknown(why) if why else yes(Place(drawn.made, "each rank draws the same places in the data here"))

    def _site(self, obj: Obj) -> Any:
        return next((step.when for step in self.program.trace.of(events.Loader) if step.subject is obj), self.step.when)

    def _loader(self, loader: Loader) -> Answer[Place]:
        if self._dealt_to_all(loader):
            return self.program.excluded("its DistributedSampler gives each rank a part of its own")
        sampler = self._for_one_rank(loader.sampler)
        if sampler is None and loader.sampler != NONE or loader.batch_sampler != NONE or loader.open_why:
            return unknown("the loader has a sampler of its own")
        if sampler is not None and sampler.seed != NONE and not isinstance(sampler.seed, Const):
            return unknown("each rank may have a seed of its own")
        why = origin_known(self.program, loader.dataset) or code_varies(self.program, loader.collate_fn)
        if not why and loader.shuffle not in (NONE, Const(False)):
            why = self._order(loader)
        if why:
            return unknown(why)
        if sampler is not None:
            return yes(Place(sampler.made.when, "this sampler is made for one rank, so it splits nothing"))
        return yes(Place(loader.made.when, "this loader knows nothing of ranks"))

    def _dealt_to_all(self, loader: Loader) -> bool:
        """Does torch's sampler surely deal out to all ranks of the job, each by its own number?"""
        leaves = [leaf for _, leaf in self.program.machine.alternatives(loader.sampler)]
        known = [leaf.atom.state(Sampler) if isinstance(leaf, Obj) else None for leaf in leaves]
        return loader.batch_sampler == NONE and all(
            each is not None and each.by_rank and each.rank == each.replicas == NONE for each in known
        )

    def _for_one_rank(self, sampler: Value) -> Sampler | None:
        """A DistributedSampler that is told that the job has one rank."""
        known = sampler.atom.state(Sampler) if isinstance(sampler, Obj) else None
        return known if known is not None and known.replicas == Const(1) and known.rank in (NONE, Const(0)) else None

    def _order(self, loader: Loader) -> str:
        """Why ranks may shuffle differently."""
        if loader.shuffle != Const(True):
            return "whether the loader shuffles is decided elsewhere"
        if loader.generator != NONE:
            return origin_known(self.program, loader.generator)
        return seeded_alike(self.program, self.step.index)

    def _picked(self) -> bool:
        """Does the code around take a slice or chunk that a rank decides?"""
        return any(site.path in self.program.machine.picks for site in self.step.when.chain)


def _generator(obj: Obj) -> Value:
    """That of random numbers; NONE for the common one, and for what was not drawn."""
    drawn = obj.atom.state(Drawn)
    return drawn.by if drawn is not None else NONE


def of_rank(item: Any) -> bool:
    """Does a step of a path depend on the rank?"""
    if isinstance(item, Text):
        return item.per_rank is not False
    if isinstance(item, TupleV):
        return any(map(of_rank, item.items))
    return isinstance(item, Rank) or isinstance(item, tuple) and any(map(of_rank, item))
