"""What lies in one group: layers, their dtypes, parameters that it shares or leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Const, ListV, Obj, Params, ParamV, Text, TupleV, Value, is_call
from ...libraries.torch.precision.dtypes import DEFAULT, SOME_DTYPE, LayerDtype
from ..shared.program import OfStep, Program
from ..shared.structure import leaves, perhaps_experts
from .hand_reduced import reduced

_BELOW = (Relation.SAME, Relation.CONTAINS)
# ``module.register_parameter(name, ...)``: which parameter of which module it is, no text tells.
_BY_COMPUTED_NAME = r"\.register_parameter\(\s*[A-Za-z_]"


def group_of(program: Program, layer: Obj, path: PathCondition | None = None) -> Step[events.Sharded] | None:
    """The call whose group a layer belongs to: that on the innermost module around it. None where that is not sure.

    ``path``: the one that is asked about. A call that it excludes does not count; one that it leaves open is not sure.
    """
    best: tuple[int, Step[events.Sharded]] | None = None
    for step, part, relation in program.touching(layer):
        if path is not None and not step.guard.compatible(path):
            continue
        if relation is Relation.MAY:
            return None
        depth = len(program.address(part)[1])
        if relation in (Relation.SAME, Relation.INSIDE) and (best is None or depth > best[0]):
            best = depth, step
        elif best is not None and depth == best[0] and step is not best[1]:
            return None  # perhaps two alternatives
    if best is None or path is not None and not path.implies(best[1].guard):
        return None
    return best[1]


def _pair(tie: Step[events.Tied]) -> frozenset[Obj]:
    assert tie.subject is not None
    return frozenset((tie.subject, tie.what.other))


class StaticGrouping(OfStep[events.Sharded]):
    def made(self) -> Answer[Moment]:
        return yes(self.step.when)

    def empty_shards(self) -> Answer[Place]:
        return unknown("the number of ranks is not known in the source")

    # -- shared parameters --------------------------------------------------------

    def tied_elsewhere(self) -> Many[tuple[str, Moment]]:
        """The layers of this group that are tied with one of another; unknown where a group depends on the path."""
        found: dict[tuple[str, Moment], None] = {}
        unsure = ""
        for tie in self.program.trace.of(events.Tied, before=self.step):
            assert tie.subject is not None
            for layer, other in ((tie.subject, tie.what.other), (tie.what.other, tie.subject)):
                mine, theirs = (group_of(self.program, each, self.step.guard) for each in (layer, other))
                unsure = unsure or self._alternatives(layer, mine) or self._alternatives(other, theirs)
                if mine is not self.step or theirs is None or theirs is mine:
                    continue
                if not mine.together(theirs):
                    unsure = unsure or f"to which group {self._name(other)} belongs depends on the path"
                if tie.precedes(theirs) and theirs.precedes(mine) and not (mine.guard.blurred or theirs.guard.blurred):
                    found[self._name(layer), theirs.when] = None
        end = unknown(unsure) if unsure else self.program.nothing(self.obj, events.Tied, events.Sharded, parts=True)
        return many(found, end)

    def tied_again(self) -> Answer[Place]:
        """The first forward looks at the parameters that the modules have by then."""
        ties = list(self.program.trace.of(events.Tied))
        known = {_pair(tie) for tie in ties if tie.index < self.step.index}
        forwards = list(self._forwards(self.program.top(self.obj)))
        for tie in ties:
            if tie.index < self.step.index or any(used.index < tie.index for used in forwards):
                continue
            if _pair(tie) not in known or self.step not in [group_of(self.program, each) for each in _pair(tie)]:
                continue
            if not self.step.precedes(tie) or not self.step.guard.implies(tie.guard):
                return unknown(f"whether the weights are tied again at {tie.when.at} depends on the path")
            return yes(Place(tie.when, "they are tied again here"))
        if self.program.project.anywhere(_BY_COMPUTED_NAME):
            return unknown("the project puts parameters into modules by computed names")
        return self.program.excluded("nothing ties them again before the first forward")

    def _forwards(self, top: Obj) -> Iterator[Step[events.Called]]:
        for used in self.program.trace.of(events.Called):
            if used.what.hooked and used.subject is not None and self.program.top(used.subject) is top:
                yield used

    def _alternatives(self, layer: Obj, group: Step[events.Sharded] | None) -> str:
        """Why it is not known to which group a layer belongs, although some call shards it."""
        if group is not None or not self.program.touching(layer):
            return ""
        return f"to which group {self._name(layer)} belongs depends on the path"

    def _name(self, layer: Obj) -> str:
        adopted = self.program.machine.parents.get(layer)
        return f"{adopted[1] if adopted is not None else self.program.label(layer)}.weight"

    # -- dtypes -------------------------------------------------------------------

    def mixed_dtypes(self) -> Answer[str]:
        if self.step.what.listed or self.step.guard.blurred:
            return unknown(f"what belongs to the group of {self.label} is not known")
        first: dict[str, str] = {}
        dtypes: set[str | None] = set()  # also of what is frozen, perhaps
        for name, layer in leaves(self.program.machine, self.obj):
            group = group_of(self.program, layer)
            if group is None:  # perhaps of this one
                dtypes.add(None)
            if group is not self.step:
                continue
            dtype = self.dtype(layer)
            dtypes.add(dtype)
            if dtype is not None and self._is_trained(layer):
                first.setdefault(dtype, f"{dtype} ({name})")
        if len(first) > 1:
            why = self.program.escaped(self.obj, before=self.step)
            return unknown(why) if why else yes(" and ".join(first.values()))
        if None in dtypes or len(dtypes) > 1 or self._exchanged():
            return unknown("the dtypes of all parameters are not written in the source")
        return self.program.nothing(self.obj, events.Cast, before=self.step, parts=True)

    def _exchanged(self) -> bool:
        """May loaded tensors, of whichever dtype, have taken the place of parameters?"""
        loads = (each for each in self.program.trace.of(events.Loaded) if each.index < self.step.index)
        return any(each.what.assign and self.program.touches(self.obj, each.subject) for each in loads)

    def dtype(self, layer: Obj) -> str | None:
        """As it is when the group is made; None if the source does not say it for sure."""
        said = layer.atom.state(LayerDtype)
        if said is None and layer.atom.parameter is not None:
            return None
        dtype = said.name if said is not None else DEFAULT
        for cast in self.program.trace.of(events.Cast):
            if cast.index > self.step.index or cast.subject is None:
                continue
            relation = self.program.relation(cast.subject, layer)
            if relation in _BELOW:
                sure = self.step.guard.implies(cast.guard) and cast.context == 0 and cast.what.dtype != SOME_DTYPE
                dtype = cast.what.dtype if sure else None
            elif relation is Relation.MAY or relation is Relation.INSIDE and not any(map(is_call, cast.subject.path)):
                dtype = None  # a weight of it, and not what it returned
        if any(True for _ in self.program.trace.of(events.DefaultDtype)):
            return None if dtype == DEFAULT or said is not None and said.name != DEFAULT else dtype
        return "float32" if dtype == DEFAULT else dtype

    def _is_trained(self, layer: Obj) -> bool:
        return not any(
            self.program.relation(step.subject, layer) in (*_BELOW, Relation.MAY)
            for step in self.program.trace.of(events.Frozen)
        )

    # -- parameters that are left out -----------------------------------------------

    def ignored_names(self) -> Many[str]:
        said: dict[str, None] = {}
        for _, leaf in self._ignored():
            if isinstance(leaf, Const) and isinstance(leaf.value, str):
                said[leaf.value] = None
            elif isinstance(leaf, Text):
                said["strings"] = None  # or numbers: no parameters in any case
        return many(said, self._all_ignored())

    def _all_ignored(self) -> Answer[Place]:
        """Was all that the keyword holds followed?"""
        value = self.step.what.options.get("ignored_params")
        if value is None:
            open_why = self.step.what.options_open
            return unknown(str(open_why)) if open_why else self.program.excluded("ignored_params is not given")
        for _, leaf in self.program.machine.leaves(value):
            if why := self.program.machine.more_inside(leaf):
                return unknown(why)
            if isinstance(leaf, Obj) and _owner(leaf) is None and leaf is value:
                return unknown("what ignored_params holds is not known")
        return self.program.excluded("all that ignored_params holds was followed")

    def _ignored(self) -> Iterator[tuple[PathCondition, Value]]:
        value = self.step.what.options.get("ignored_params")
        for path, leaf in self.program.machine.leaves(value) if value is not None else ():
            if not isinstance(leaf, (ListV, TupleV)):
                yield path, leaf

    def ignored_trained(self) -> Answer[Place]:
        """Is an ignored parameter trained? Unknown where its gradient may be reduced by hand, as of experts."""
        # what a filter lets through may be just what is frozen
        sure = [leaf for path, leaf in self._ignored() if self.step.guard.implies(path)]
        owners = [(leaf, owner) for leaf in sure if (owner := _owner(leaf)) is not None]
        if not owners:
            why = self._filtered_by_name()
            return unknown(why) if why else self._all_ignored()
        for leaf, owner in owners:
            if (trained := self._trainer(owner)) is None:
                continue
            answer = reduced(self.program, leaf, trained)
            if answer.why:
                return unknown(answer.why)
            if perhaps_experts(self.program.address(owner)[1]):
                return unknown(f"whether each rank trains {self._name(owner)} for itself, as experts are, is not known")
            if not answer:
                return yes(Place(trained.when, self._name(owner).removesuffix(".weight")))
        return self.program.nothing(self.obj, events.Optimizer)

    def _filtered_by_name(self) -> str:
        """Why trained parameters may be ignored: a filter that does not ask what is trained lets some through."""
        for path, leaf in self._ignored():
            if _owner(leaf) is not None and not any(_asks_what_is_trained(formula) for formula, _ in path.literals):
                return "whether the parameters that a filter puts into ignored_params are trained is not known"
        return ""

    def _trainer(self, owner: Obj) -> Step[events.Optimizer] | None:
        """The optimizer that trains it, where nothing else takes care of its gradients."""
        kinds: tuple[type[events.Event], ...] = (
            events.Frozen, events.Sharded, events.Wrapped, events.Parallelised, events.ParamHook, events.Managed
        )  # fmt: skip
        touched = any(
            step.subject is not None and step is not self.step and self._concerns(step, owner)
            for step in self.program.trace.of(*kinds)
        )
        if touched or self.program.escaped(owner):
            return None
        for step in self.program.trace.of(events.Optimizer, after=self.step):
            if any(self.program.relation(held.model, owner) in _BELOW for held in step.what.held):
                return step
        return None

    def _concerns(self, step: AnyStep, owner: Obj) -> bool:
        """Around the call itself everything is sharded; what matters is what is done to the owner alone."""
        assert step.subject is not None
        relation = self.program.relation(step.subject, owner)
        if isinstance(step.what, events.Sharded):
            return relation in (Relation.SAME, Relation.MAY) or relation is Relation.INSIDE
        return relation is not Relation.NONE


def _asks_what_is_trained(formula: object) -> bool:
    if isinstance(formula, Obj):
        return "requires_grad" in (formula.item, formula.atom.origin)
    if isinstance(formula, tuple):
        return any(map(_asks_what_is_trained, formula))
    return formula == "requires_grad"


def _owner(leaf: Value) -> Obj | None:
    """Whose parameters a member of ``ignored_params`` stands for."""
    if isinstance(leaf, (ParamV, Params)) and isinstance(leaf.model, Obj):
        return leaf.model
    if isinstance(leaf, Obj) and leaf.item in ("weight", "bias"):
        return leaf.parent
    return leaf if isinstance(leaf, Obj) and leaf.atom.parameter else None
