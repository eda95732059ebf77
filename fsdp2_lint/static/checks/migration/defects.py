"""Whether a program does what a defect of torch needs (``vocab/defects.py``)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.choices import options
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import NONE, Const, Value
from ...libraries.torch.launch.device import device_kind
from ...libraries.torch.launch.meshes import Mesh, dimensions, possible
from ...libraries.torch.precision.precision import LOW, Policy, dtype_name, policy_of
from ..sharding.resharding import given
from ..shared.program import OfStep

_PART_OF = (Relation.SAME, Relation.INSIDE)
HOOK = "register_post_accumulate_grad_hook"


def policies(step: Step[events.Sharded], keyword: str) -> Iterator[tuple[PathCondition, Policy]]:
    """The policies that a call may get, as far as they were seen whole."""
    for path, value in given(step, keyword):
        policy = policy_of(value)
        if policy is not None and (joined := step.guard.join(path)) is not None:
            yield joined, policy


def replicated(step: Step[events.Sharded]) -> bool:
    """Is the mesh of this call surely one with replicas?"""
    meshes = [dimensions(value) for value in possible(step.what.options.get("mesh"), step.guard)]
    return bool(meshes) and all(mesh is not None and _has_replicas(mesh) for mesh in meshes)


def _has_replicas(mesh: Mesh) -> bool:
    return len(mesh.sizes) == 2 and mesh.sizes[0] != 1


class _OfSharding(OfStep[events.Sharded]):
    def _perhaps_on_cpu(self) -> str:
        """Why it is not known whether the model is sharded over GPUs; empty: it is."""
        trace = self.program.trace
        devices = {device_kind(self.program.machine, mesh.what.device) for mesh in trace.of(events.Mesh)}
        backends = {group.what.backend for group in trace.of(events.ProcessGroup)}
        if devices == {"cuda"} or not devices and backends == {Const("nccl")}:
            return ""
        return f"whether {self.label} is sharded over GPUs is not known"


@record
class UnfrozenLater(_OfSharding):
    """A group whose policy has a dtype for the computation."""

    path: PathCondition

    def meets(self) -> Answer[Place]:
        trace = self.program.trace
        first = next((call for call in trace.of(events.Called, after=self.step) if self._runs(call)), None)
        if first is None:
            return self.program.nothing(self.obj, events.Called, after=self.step)
        frozen = [step for step in trace.of(events.Frozen) if self._is_whole(step, first)]
        if not frozen or self._thawed(frozen[-1], first):
            return self.program.nothing(self.obj, events.Frozen, before=first)
        for thawed in trace.of(events.Thawed, after=first):
            if self.program.related(self.obj, thawed.subject) and self._is_trained_after(thawed):
                why = self.program.unseen(self.obj, after=frozen[-1], before=thawed)
                return unknown(why) if why else yes(Place(thawed.when, "it is unfrozen after the first forward"))
        return self.program.nothing(self.obj, events.Thawed, after=first)

    def _runs(self, call: Step[events.Called]) -> bool:
        """A forward of its model settles the dtypes of all groups in it."""
        return call.guard.compatible(self.path) and self.program.related(self.obj, call.subject)

    def _is_whole(self, step: Step[events.Frozen], first: AnyStep) -> bool:
        """Does it surely freeze all parameters of the group, in the runs that come to that forward?"""
        whole = self.program.relation(self.obj, step.subject) in _PART_OF
        return step.what.surely and whole and step.precedes(first) and first.guard.implies(step.guard)

    def _thawed(self, frozen: AnyStep, first: AnyStep) -> bool:
        between = self.program.trace.of(events.Thawed, after=frozen, before=first)
        return any(self.program.touches(self.obj, step.subject) for step in between)

    def _is_trained_after(self, thawed: AnyStep) -> bool:
        trace = self.program.trace
        again = [call for call in trace.of(events.Called, after=thawed) if self._runs(call) and thawed.precedes(call)]
        return any(again[0].precedes(step) for step in trace.of(events.Backward, after=again[0])) if again else False


@record
class HookedGradients(_OfSharding):
    """A group whose gradients are offloaded, on one path."""

    path: PathCondition

    def meets(self) -> Answer[Place]:
        if not self._is_pinned():
            return self.program.excluded("its gradients are copied before anything goes on")
        for hook in self.program.trace.of(events.ParamHook, after=self.step):
            later = hook.what.name == HOOK and hook.what.read > self.step.index
            if later and hook.guard.compatible(self.path) and self.program.related(self.obj, hook.subject):
                why = self._perhaps_on_cpu()
                return unknown(why) if why else yes(Place(hook.when, "its gradient may not be there yet"))
        return self.program.nothing(self.obj, events.ParamHook, after=self.step)

    def _is_pinned(self) -> bool:
        found = [policy.fields for path, policy in policies(self.step, "offload_policy") if path.compatible(self.path)]
        pinned = [fields.get("pin_memory", fields.get("param_dtype", Const(True))) for fields in found]
        return bool(pinned) and all(value == Const(True) for value in pinned)


class DividedScatter(_OfSharding):
    """A group with replicas."""

    def meets(self) -> Answer[Place]:
        for factor in self.program.trace.of(events.Divided, after=self.step):
            same = self.program.relation(self.obj, factor.subject) is Relation.SAME
            if same and factor.what.scatter and self.step.precedes(factor):
                if not self._is_for_all(factor.what.factor):
                    return unknown(f"whether the factor at {factor.when.at} is meant for the replicas too is not known")
                return yes(Place(factor.when, "this is the number of all ranks, replicas too"))
        return self.program.nothing(self.obj, events.Divided, after=self.step)

    def _is_for_all(self, factor: Value | None) -> bool:
        """Is it the number of all ranks of the mesh? Nobody divides by that and then by the replicas."""
        meshes = [dimensions(value) for value in possible(self.step.what.options.get("mesh"), self.step.guard)]
        numbers = {math.prod(size or 0 for size in mesh.sizes) if mesh is not None else 0 for mesh in meshes}
        return isinstance(factor, Const) and 0 not in numbers and numbers == {factor.value}


@record
class ReducedInHalf(_OfSharding):
    """A group with replicas, whose policy has a dtype for the computation."""

    path: PathCondition
    policy: Policy

    def meets(self) -> Answer[Place]:
        reduced = [value for _, value in options(self.policy.fields.get("reduce_dtype", NONE))]
        if any(value != NONE and dtype_name(value) not in LOW for value in reduced):
            return self.program.excluded("its policy reduces in another dtype")
        trace = self.program.trace
        cast = any(self.program.touches(self.obj, step.subject) for step in trace.of(events.Cast))
        if cast or trace.count(events.DefaultDtype):
            return unknown(f"which dtype the parameters of {self.label} have is not known")
        if not any(self.program.related(self.obj, call.subject) for call in trace.of(events.Called, after=self.step)):
            return self.program.nothing(self.obj, events.Called, after=self.step)
        why = self._perhaps_on_cpu()
        return unknown(why) if why else yes(Place(self.policy.made, "gradients are reduced in 16 bits"))


def computes_low(policy: Policy, path: PathCondition) -> bool:
    """Does it surely compute in 16 bits?"""
    given = [value for guard, value in options(policy.fields.get("param_dtype", NONE)) if path.compatible(guard)]
    return bool(given) and all(dtype_name(value) in LOW for value in given)
