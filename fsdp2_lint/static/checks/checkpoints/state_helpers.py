"""Calls of the state-dict helpers of DCP, and whether an optimizer has any state yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.events.checkpoints import StrangeKeyword
from ....vocab.finding import Fix, Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import atoms, is_fork
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Const, DictV, Ext, Obj, StateDict, StateTensor, Value, is_each
from ...interpreter.expressions.conditions import mentions_rank
from ...libraries.torch.checkpoints.gathering import is_key_of
from ...libraries.torch.checkpoints.state_helpers import KEYWORDS, Options, lenient, option
from ...libraries.torch.launch.device import device_kind
from ...libraries.torch.training.optim import Algorithm
from ..shared.conditions import objects_in
from ..shared.objects import RELATED
from ..shared.program import AtStep, Program
from ..shared.source_edits import keyword_site, renamed
from ..shared.structure import size
from .early_states import filled_early

# Names that are mixed up: what they can mean, and by which position that can be given as well.
MISSPELT = {
    "optimizer": {"optimizers": 1},
    "optimizer_state_dict": {"optim_state_dict": 2},
    "state_dict": {"model_state_dict": 1, "optim_state_dict": 2},
}
SMALL = 2**28  # parameters: one GiB in 32 bits


class StaticHelper(AtStep[events.StateHelper]):
    @property
    def name(self) -> str:
        return str(self.step.what.helper)

    def strange_keywords(self) -> Many[StrangeKeyword]:
        why = "the call is an attempt, and its error is caught" if self.step.what.tried else self.step.what.open_why
        known = KEYWORDS[self.name]
        when = self.step.when
        found = [
            StrangeKeyword(Moment(keyword_site(when, node), when.stack), keyword, self._right_name(keyword, node))
            for keyword, node in self.step.what.keywords.items()
            if keyword not in known
        ]
        end = unknown(str(why)) if why else self.program.excluded("all keywords of this call were seen")
        return many(() if self.step.what.tried else found, end)

    def _right_name(self, keyword: str, value: nodes.NodeNG) -> Fix | None:
        """The one parameter that it can mean, if nothing else is given for that."""
        known = KEYWORDS[self.name]
        meant = [(name, position) for name, position in MISSPELT.get(keyword, {}).items() if name in known]
        call = value.parent.parent if isinstance(value.parent, nodes.Keyword) else None
        if len(meant) != 1 or not isinstance(call, nodes.Call):
            return None
        ((name, position),) = meant
        rivals = {name, *(other for other, names in MISSPELT.items() if name in names)} - {keyword}
        given = {each.arg for each in call.keywords}
        starred = any(isinstance(arg, nodes.Starred) for arg in call.args)
        if None in given or rivals & given or len(call.args) > position or starred:
            return None
        edit = renamed(self.step.when.at.path, value, keyword, name)
        return Fix((edit,)) if edit is not None else None

    def kept_on_gpu(self) -> Answer[Place]:
        model = self.step.subject
        if model is None:
            return unknown("which model is gathered is not known")
        if self._on_cpu():
            return self.program.excluded("the job runs on CPUs")
        total = size(self.program.machine, model)
        if total is not None and total < SMALL:
            return self.program.excluded("the model is small")
        return self._chosen({"full_state_dict": True, "cpu_offload": False}, model)

    def _on_cpu(self) -> bool:
        """Does the job run on CPUs, where there is no other memory to keep the tensors in? Not if it does elsewhere."""
        machine, trace = self.program.machine, self.program.trace
        here = self.step.guard.compatible
        backends = [step.what.backend for step in trace.of(events.ProcessGroup) if here(step.guard)]
        devices = [step.what.device for step in trace.of(events.Mesh) if here(step.guard)]
        return _all(backend == Const("gloo") for backend in backends) or _all(
            device_kind(machine, device) == "other" for device in devices
        )

    def _chosen(self, wanted: dict[str, bool], model: Obj | None = None) -> Answer[Place]:
        """Are the options set like this, on a path on which the model is sharded? yes: Place where they are made."""
        why = ""
        for path, leaf in self.step.what.options:
            said = [option(leaf, name) for name in wanted]
            if any(each is not None and each is not want for each, want in zip(said, wanted.values())):
                continue
            if None in said:
                why = why or "which options it is given is not known"
            elif model is None or self._sharded(model, path):
                return yes(Place(_made(leaf) or self.step.when))
        if not why and not self.step.what.options:
            why = "which options it is given is not known"
        return unknown(why) if why else self.program.excluded("the options of this call were followed")

    def _sharded(self, model: Obj, path: PathCondition) -> bool:
        return any(
            step.driven_before(self.step) and step.guard.compatible(path)
            for step, _ in self.program.units(model, *RELATED)
        )

    def cold_with_gradients(self) -> Answer[Place]:
        answers = [self._cold_with_gradients(each) for each in self.step.what.optimizers]
        if self.step.subject is None or not answers:
            return unknown("which optimizer is read is not known")
        return next(
            (answer for answer in answers if answer.surely), next((a for a in answers if a.possibly), answers[0])
        )

    def _cold_with_gradients(self, optimizer: Obj) -> Answer[Place]:
        cold = without_state(self.program, optimizer, self.step)
        if not cold.possibly:
            return cold.denied()
        backward = self._live_backward()
        if not backward.surely or not cold.surely:
            return (backward if not backward.surely else cold).denied()
        return yes(Place(backward.what.when, self.program.label(optimizer)))

    def _live_backward(self) -> Answer[Step[events.Backward]]:
        """A backward through the model whose gradients nothing has cleared. yes: Step."""
        model = self.step.subject
        assert model is not None
        backward = next(self.program.trace.latest(events.Backward, before=self.step), None)
        if backward is None:
            return self.program.nothing(model, events.Backward, before=self.step)
        calls = [step.subject for step in self.program.trace.of(events.Called, before=backward) if not step.what.inside]
        called = [each for each in calls if each is not None and not _is_loss(each)]
        models = self.step.what.models or (model,)  # one of these, where the source has a choice
        if not called or any(not any(self.program.related(each, one) for one in models) for each in called):
            return unknown("through which model the gradients flow is not known")
        for step in self.program.trace.of(events.Zeroed, events.Stepped):
            if backward.index < step.index < self.step.index and step.guard.compatible(self.step.guard):
                if step.subject is None:
                    return unknown("whether the gradients are cleared is not known")
                return self.program.excluded(f"the gradients are cleared at {step.when.at}")
        if not self.step.guard.implies(backward.guard) and not backward.guard.implies(self.step.guard):
            return unknown("whether both happen in one run is not known")
        why = self.program.escaped(model, after=backward, before=self.step)
        return unknown(why) if why else yes(backward)

    def misses_unseen(self) -> Answer[Place]:
        """Only of a sharded model; what else is done with its state dicts is not this tool's to say."""
        model, why = self.step.subject, ""
        if not self.step.what.dropped or self.name == "set_optimizer_state_dict":
            return self.program.excluded("it returns nothing, or what it returns is kept")
        given = self.step.what.given
        if given and all(isinstance(leaf, StateDict) and leaf.owner == model for leaf in given):
            return self.program.excluded("its names are those that the model gave itself")
        if model is not None and any(model in self._owners(leaf) for leaf in given):
            return unknown(f"its names are perhaps those that {self.program.label(model)} gave itself")
        for path, leaf in self.step.what.options:
            if lenient(leaf):
                if model is not None and self._sharded(model, path):
                    words = "the names that do not fit are returned, and dropped"
                    return yes(Place(_made(leaf) or self.step.when, words))
                why = why or self._perhaps_sharded(model)
            elif option(leaf, "strict") is None:
                why = why or "which options it is given is not known"
        return unknown(why) if why else self.program.excluded("it is strict, or its model is not sharded by then")

    def _owners(self, state: Value) -> list[Obj]:
        """The models whose names it has: it is their state dict, or what was kept of that under the same keys."""
        machine = self.program.machine
        if isinstance(state, DictV):
            with machine.on_path(self.step.guard):
                held = machine.entries(state).entries
                parts = [(key, leaf) for key, _, value in held for _, leaf in machine.alternatives(value)]
            kept = [leaf.of for key, leaf in parts if isinstance(leaf, StateTensor) and is_key_of(leaf.of, key)]
        else:
            kept = [state] if isinstance(state, StateDict) else []
        return [owner for each in kept for owner in machine.objects(each.owner)]

    def _perhaps_sharded(self, model: Obj | None) -> str:
        """Why a model that was not seen to be sharded by now may be so; empty where it is not."""
        if model is None:
            return "which model it fills is not known"
        if any(sharding.driven_before(self.step) for sharding, _ in self.program.units(model, Relation.MAY)):
            return f"whether {self.program.label(model)} is sharded by then is not known"
        return self.program.nothing(model, events.Sharded, before=self.step).why

    def empty_here(self) -> Answer[Place]:
        """A full dict that some ranks have nothing in, without the option that sends it to them."""
        alone = self._chosen({"full_state_dict": True, "broadcast_from_rank0": False})
        for path, of_rank0 in self.step.what.missing_on:
            if not of_rank0 and not _of_ranks(path):
                if alone.possibly and _of_callers(path):
                    return unknown("whether all ranks have the state dict is for a caller to say that was not seen")
                continue
            return unknown("the call itself depends on the rank") if _of_ranks(self.step.guard) else alone
        if unfollowed := self.step.what.unfollowed:
            return unknown(f"whether all ranks have {unfollowed} whole is not known") if alone.possibly else alone
        return self.program.excluded("no part of the state dict is missing on some ranks")

    def broadcasts_shards(self) -> Answer[Place]:
        return self._chosen({"broadcast_from_rank0": True, "full_state_dict": False})


def _of_ranks(path: PathCondition) -> bool:
    """Is it the path of some ranks only?"""
    return any(mentions_rank(atom) for formula, _ in path.literals for atom in atoms(formula))


def _of_callers(path: PathCondition) -> bool:
    """Does it ask for what a caller gives, as a rank perhaps?"""
    asked = (obj for formula, _ in path.literals for atom in atoms(formula) for obj in objects_in(atom))
    return any(obj.atom.kind == "parameter" for obj in asked)


def _made(leaf: Value) -> Moment | None:
    known = leaf.atom.state(Options) if isinstance(leaf, Obj) else None
    return known.made if known is not None else None


def without_state(
    program: Program, optimizer: Obj, at: Step[events.StateHelper | events.DcpLoad], path: PathCondition | None = None
) -> Answer[Moment]:
    """Has this optimizer, at this moment of a run on ``path``, surely no state? yes: Moment at which it is made."""
    made = next((step for step in program.trace.of(events.Optimizer) if step.subject is optimizer), None)
    algorithm = optimizer.atom.state(Algorithm)
    if made is None or not made.what.proven:
        return unknown("where the optimizer comes from is not known")
    stateless = algorithm.stateless if algorithm is not None else None
    if stateless:
        return program.excluded("this optimizer keeps no state")
    if not made.driven_before(at):
        return unknown("whether the optimizer is made before that is not known")
    early = filled_early(program, optimizer)
    for step in _filling(program, optimizer, helped=not early):
        earlier = step.index < at.index
        if step is not at and (
            not _avoided(step, path or at.guard) if earlier else _fills_next_round(program, at, step)
        ):
            if not step.together(at):
                return unknown("whether the optimizer has made a step is not known")
            return program.excluded(f"the optimizer has a state since {step.when.at}")
    why = program.escaped(optimizer, after=made, before=at)
    if not why and stateless is None:
        why = early or "whether the optimizer keeps a state is not known"
    return unknown(why) if why else yes(made.when)


def _avoided(step: AnyStep, path: PathCondition) -> bool:
    """May a run take the path without it? A step of training is made again and again, so it says nothing."""
    if isinstance(step.what, events.Stepped) or step.guard.blurred:
        return False
    extra = [formula for formula, truth in step.guard.literals if path.decide(formula) is not truth]
    return any(not is_fork(formula) for formula in extra)


def _fills_next_round(program: Program, at: Step[events.StateHelper | events.DcpLoad], step: AnyStep) -> bool:
    """May ``step``, which comes later, come before the first round of a loop that has ``at``?"""
    if not at.what.loops or not _comes_and_goes(at, step):
        return False
    around = list(program.loops(step))
    return program.partial or any(loop in around for loop in program.loops(at))


def _comes_and_goes(at: AnyStep, step: AnyStep) -> bool:
    """Is ``at`` left out in some of the rounds that have ``step``? What a setting decides is the same in all."""
    extra = [formula for formula, truth in at.guard.literals if step.guard.decide(formula) is not truth]
    return not all(_is_setting(part) for formula in extra if not is_fork(formula) for part in atoms(formula))


def _is_setting(atom: object) -> bool:
    subject = atom[1] if isinstance(atom, tuple) and len(atom) > 1 else None
    return isinstance(subject, Obj) and subject.atom.kind == "configuration" and not any(map(is_each, subject.path))


def _is_loss(obj: Obj) -> bool:
    """A module of torch without parameters."""
    return (
        isinstance(obj.atom.cls, Ext)
        and obj.atom.cls.qname.startswith("torch.nn.")
        and obj.atom.cls.qname.endswith("Loss")
    )


def _filling(program: Program, optimizer: Obj, *, helped: bool) -> Iterator[AnyStep]:
    """What gives an optimizer its state; the state-dict helpers where they find none."""
    yield from (step for step in program.trace.of(events.Stepped, events.OptimizerLoaded) if step.subject is optimizer)
    for step in program.trace.of(events.StateHelper) if helped else ():
        if optimizer in step.what.optimizers:
            yield step


def _all(said: Iterable[bool]) -> bool:
    """Of several, and not of none."""
    return {*said} == {True}
