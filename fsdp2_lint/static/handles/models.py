"""Units and models: what is sharded, what is left out, what is called past the hooks."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, Many, many, no, unknown, yes
from ...vocab.finding import Moment
from ..guards import TOP, Guard
from ..relations import Relation
from ..torch_model.module_tree import CONTAINERS, FREE, PARAMETRIC, contents
from ..trace import Step
from ..values import BELOW, Ext, Obj, is_each
from .program import RELATED, ModelKey, Program


@dataclass(frozen=True, slots=True)
class StaticModel:
    """A module as of ``step`` (the end of the trace where that is None), in runs that take ``path``."""

    program: Program
    obj: Obj
    step: Step | None = None
    path: Guard = TOP

    @property
    def label(self) -> str:
        return self.program.label(self.obj)

    @property
    def model_key(self) -> ModelKey:
        return self.program.key(self.obj)

    def units(self) -> Many[Moment]:
        return many(self._calls(Relation.SAME, Relation.CONTAINS), self.program.escaped(self.obj))

    def touched(self) -> Many[Moment]:
        return many(
            self._calls(*RELATED),
            "" if not self._calls(Relation.MAY) else f"whether {self.label} is sharded is not known",
        )

    def _calls(self, *relations: Relation) -> list[Moment]:
        """Calls of ``fully_shard`` in these relations, up to this moment."""
        calls = [
            step
            for step, _ in self.program.units(self.obj, *relations)
            if (self.step is None or step.precedes(self.step)) and step.guard.compatible(self.path)
        ]
        return list(dict.fromkeys(step.when for step in calls))

    def inner_units(self) -> Many[Moment]:
        found = [
            step.when
            for step, _ in self.program.units(self.obj, Relation.CONTAINS, Relation.MAY)
            if not self._one_list(step)
        ]
        whole = next((step for step, _ in self.program.units(self.obj, Relation.SAME)), None)
        # who gets the model once it is sharded as a whole comes too late to shard its parts first
        why = self.program.escaped(self.obj, before=whole) or self._parts_unknown(before=whole)
        return many(dict.fromkeys(found), why)

    def _parts_unknown(self, before: Step | None = None) -> str:
        """Shardings of objects of unknown origin might be of parts of this model."""
        own = [step for step, _ in self.program.units(self.obj, *RELATED, Relation.MAY)]
        for step in self.program.trace.of("sharded"):
            if own and not any(step.guard.compatible(mine.guard) for mine in own):
                continue
            if before is not None and before.precedes(step):
                continue
            if step["open_why"]:
                return str(step["open_why"])
            for part in step["group"]:
                if self.program.relation(self.obj, part) is Relation.NONE and not _stands_alone(part):
                    return f"{step.when.at} shards an object of unknown origin"
        return ""

    def _one_list(self, step: Step) -> bool:
        """All blocks in one call: one group, gathered at once."""
        return bool(step["listed"]) and any(
            any(map(is_each, self.program.machine.address(part)[1][-1:])) for part in step["group"]
        )

    def sharded(self) -> Answer:
        may = ""
        for step, part in self.program.units(self.obj, Relation.SAME, Relation.MAY):
            if self.step is not None and not step.driven_before(self.step) or not step.guard.compatible(self.path):
                continue
            if self.program.relation(self.obj, part) is Relation.SAME:
                return yes(step.when)
            may = f"whether {self.label} is the module that {step.when.at} shards is not known"
        return unknown(may) if may else no()

    def one_group(self) -> Answer:
        """The sharding of the whole model in one group, if nothing shards its parts."""
        listed = [step for step, _ in self.program.units(self.obj, Relation.CONTAINS) if self._one_list(step)]
        if listed:
            return yes(listed[0].when)
        return self.sharded()

    def trained(self) -> Answer:
        if optimizer := self._optimizer():
            return yes(optimizer.when)
        if self.frozen():
            return no()
        called = [
            step
            for step in self.program.trace.of("called")
            if step.subject and self.program.relation(self.obj, step.subject) in RELATED
        ]
        for backward in self.program.trace.of("backward"):
            if any(step.precedes(backward) for step in called):
                return yes(backward.when)
        return unknown(f"no step was seen that trains {self.label}")

    def frozen(self) -> Answer:
        if not self._optimizer():
            for step in self.program.trace.of("frozen", "evaluated"):
                relation = self.program.relation(self.obj, step.subject) if step.subject else Relation.NONE
                if relation in (Relation.SAME, Relation.INSIDE):
                    return yes(step.when)
        return no()

    def _optimizer(self) -> Step | None:
        """One that holds parameters of it."""
        for step in self.program.trace.of("optimizer"):
            if any(self.program.relation(self.obj, held.model) in RELATED for held in step["held"]):
                return step
        return None

    def repeats(self) -> Answer:
        found = self._stack(self.obj, 0)
        if found:
            return yes(found)
        if self._of_a_library():
            return yes("its transformer layers")
        if self.obj.parent is None and self.obj.atom.kind in ("instance", "external"):
            return no()
        return unknown(f"what {self.label} is made of is not known")

    def _stack(self, obj: Obj, depth: int) -> str:
        """The name of a list of blocks below ``obj``."""
        machine = self.program.machine
        for child, (holder, name) in machine.parents.items():
            if holder is not obj or depth > 4:
                continue
            held = contents(machine, child)
            cls = child.atom.cls
            if held is not None and isinstance(cls, Ext) and cls.qname in CONTAINERS:
                blocks = [
                    item
                    for item, (where, _) in machine.parents.items()
                    if where is child and self._has_parameters(item, 0)
                ]
                if any(is_each(machine.parents[item][1]) for item in blocks) or len(blocks) > 2:
                    return name
            found = self._stack(child, depth + 1)
            if found:
                return f"{name}.{found}"
        return ""

    def _has_parameters(self, obj: Obj, depth: int) -> bool:
        if owns_parameters(obj):
            return True
        parts = [child for child, (holder, _) in self.program.machine.parents.items() if holder is obj]
        return depth < 6 and any(self._has_parameters(child, depth + 1) for child in parts)

    def parameter_count(self) -> Answer:
        total = self._size(self.obj, 0)
        return yes(total) if total is not None else unknown("the model's size is not written in the source")

    def _size(self, obj: Obj, depth: int) -> int | None:
        if obj.atom.kind not in ("instance", "external") or depth > 8:
            return None
        if isinstance(obj.atom.cls, Ext):
            name = obj.atom.cls.qname.rsplit(".", 1)[-1]
            if "size" in obj.atom.facts:
                return int(obj.atom.facts["size"])
            if name in FREE:
                return 0
            if obj.atom.cls.qname not in CONTAINERS:
                return None
        total = 0
        for child, (holder, where) in self.program.machine.parents.items():
            if holder is obj:
                size = self._size(child, depth + 1)
                if size is None or is_each(where):
                    return None
                total += size
        return total

    def outside(self) -> Answer:
        if self._of_a_library():
            return self._outside_blocks()
        if self.program.partial and self.obj.atom.kind != "instance":
            return unknown(f"{self.label} is built by a caller that was not seen")
        if self.obj.parent is not None or self.obj.atom.kind != "instance" or not self.obj.atom.facts.get("module"):
            return unknown(f"the fields of {self.label} are not known")
        left = [(name, leaf) for name, leaf in self._leaves(self.obj, "", 0) if not self._covered(leaf)]
        if not left:
            return no()
        if why := self.program.escaped(self.obj) or self._parts_unknown() or self._filters():
            return unknown(why)
        frozen = [step.subject for step in self.program.trace.of("frozen") if step.subject is not None]
        live = [
            (name, leaf)
            for name, leaf in left
            if not any(
                self.program.relation(at, leaf) in (Relation.SAME, Relation.CONTAINS, Relation.MAY) for at in frozen
            )
        ]
        if not live:
            return no() if frozen else unknown("whether the rest is trained is not known")
        return self._held(live)

    def _of_a_library(self) -> bool:
        """A transformer of Hugging Face: a stack of blocks between embeddings and a last norm."""
        return self.obj.parent is None and self.obj.atom.origin.startswith(("transformers.", "diffusers."))

    def _outside_blocks(self) -> Answer:
        parts = [part for step, part in self.program.units(self.obj, Relation.CONTAINS, Relation.MAY)]
        if not all(is_each(part.item) for part in parts):
            return unknown(f"what {self.label} is made of is not known")
        frozen = any(
            step.subject and self.program.relation(self.obj, step.subject) is not Relation.NONE
            for step in self.program.trace.of("frozen")
        )
        why = self.program.escaped(self.obj) or self._parts_unknown() or self._filters()
        if why or frozen:
            return unknown(why or "whether the rest is trained is not known")
        return yes(["its embeddings and last norm"])

    def _held(self, live: list[tuple[str, Obj]]) -> Answer:
        """Those that an optimizer trains; all of them where none is known."""
        optimizers = list(self.program.trace.of("optimizer"))
        if not all(step["complete"] for step in optimizers) and not any(step["held"] for step in optimizers):
            return yes([name for name, _ in live])
        held = [one.model for step in optimizers for one in step["held"]]
        named = [
            name
            for name, leaf in live
            if any(self.program.relation(model, leaf) in (Relation.SAME, Relation.CONTAINS) for model in held)
        ]
        if named or not optimizers:
            return yes(named or [name for name, _ in live])
        return unknown("which parameters the optimizer holds is not known")

    def _filters(self) -> str:
        for step in self.program.trace.of("sharded"):
            for part in step["group"]:
                if str(part.item).startswith(BELOW) and self.program.relation(self.obj, part) is not Relation.NONE:
                    return "which modules the filter over modules() matches is not known"
        return ""

    def _leaves(self, obj: Obj, prefix: str, depth: int) -> list[tuple[str, Obj]]:
        """Modules and parameters below ``obj`` that own parameters themselves."""
        found: list[tuple[str, Obj]] = []
        for child, (holder, name) in self.program.machine.parents.items():
            if holder is not obj or depth > 8:
                continue
            where = f"{prefix}{name}"
            if owns_parameters(child):
                found.append((where, child))
            else:
                found += self._leaves(child, f"{where}.", depth + 1)
        return found

    def _covered(self, leaf: Obj) -> bool:
        units = self.program.units(leaf, Relation.SAME, Relation.INSIDE, Relation.MAY)
        return any(step.guard.compatible(self.path) for step, _ in units)

    def added_late(self) -> Many[tuple[Moment, str, Moment]]:
        found = []
        for attached in self.program.trace.of("attached"):
            owner, part = attached.subject, attached["value"]
            if owner is None or self.program.top(owner) is not self.obj:
                continue
            before = [
                step for step, _ in self.program.units(owner, Relation.SAME, Relation.INSIDE) if step.precedes(attached)
            ]
            after = [
                step
                for step in self.program.trace.of("sharded")
                if step.index > attached.index and self._touches(step, owner, part)
            ]
            if (
                before
                and not after
                and not self.program.escaped(part, after=attached)
                and self._new(part)
                and self._trains(part, attached)
            ):
                found.append((attached.when, str(attached["name"]), before[0].when))
        return many(found)

    def _touches(self, step: Step, owner: Obj, part: Obj) -> bool:
        return any(
            self.program.relation(at, other) is not Relation.NONE for at in step["group"] for other in (owner, part)
        )

    def _new(self, part: Obj) -> bool:
        """Has it parameters of its own, none of them sharded?"""
        if not (owns_parameters(part) or self._has_parameters(part, 0)):
            return False
        return not any(True for _ in self.program.units(part, Relation.SAME, Relation.CONTAINS, Relation.MAY))

    def _trains(self, part: Obj, attached: Step) -> bool:
        return not any(
            step.subject and step.index > attached.index and self.program.relation(step.subject, part) in RELATED
            for step in self.program.trace.of("frozen")
        )

    def hooks_bypassed(self, method: str) -> Answer:
        assert self.step is not None
        trace = self.program.trace
        if self.obj in self.step["inside"]:  # its own forward runs already, behind its hooks
            return no()
        for registered in trace.of("registered"):
            if (
                registered.subject
                and registered["method"] in (method, None)
                and self.program.relation(registered.subject, self.obj) is not Relation.NONE
            ):
                return no()
        for gathered in trace.of("unshard", before=self.step):
            relation = self.program.relation(gathered.subject, self.obj) if gathered.subject else Relation.NONE
            if relation is Relation.MAY or relation is not Relation.NONE and self.step.guard.implies(gathered.guard):
                return no()
        why = self.program.managed(self.obj)
        return unknown(why) if why else yes()

    def wrapped(self) -> Answer:
        """Is an FSDP1 wrapper somewhere around or inside it?"""
        for step in self.program.trace.of("wrapped"):
            if self.step is not None and not step.together(self.step):
                continue
            if step["by"].endswith("FullyShardedDataParallel") and step.subject:
                if any(self.program.relation(self.obj, at) in RELATED for at in (step.subject, step["outer"])):
                    return yes(step.when)
        return no()


def owns_parameters(obj: Obj) -> bool:
    """A layer of ``torch.nn`` with weights, or a trainable ``nn.Parameter``."""
    if obj.parent is not None or not isinstance(obj.atom.cls, Ext):
        return False
    if obj.atom.facts.get("parameter"):
        return True
    return obj.atom.cls.qname.startswith("torch.nn.") and obj.atom.cls.qname.rsplit(".", 1)[-1] in PARAMETRIC


def _stands_alone(obj: Obj) -> bool:
    """Is this a model of its own, or of a caller, rather than perhaps a part of another that was looked up somehow?"""
    atom = obj.atom
    if atom.kind in ("instance", "parameter", "configuration") or atom.facts.get("module"):
        return True
    made = atom.origin.rsplit(".", 1)[-1].removesuffix("()")
    return atom.kind == "unknown" and (
        made[:1].isupper() or made.startswith(("from_", "instantiate", "load", "create", "build"))
    )
