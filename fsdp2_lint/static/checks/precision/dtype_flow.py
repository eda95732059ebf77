"""Layers that get tensors of another dtype than their weights have, because two groups compute in two dtypes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...budget import BUDGET
from ...domain import events
from ...domain.choices import options
from ...domain.events import Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import NONE, SLICE, ClassV, Const, Ext, GuardedUnion, Obj, Value, is_call
from ...interpreter.syntax import class_body
from ...libraries.torch.precision.precision import dtype_name, policy_of
from ...libraries.torch.sharding.module_tree import FREE
from ..sharding.grouping import StaticGrouping, group_of
from ..sharding.resharding import given
from ..shared.program import Program

_STRICT = (
    "Linear",
    "Bilinear",
    "MultiheadAttention",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
)
_PASSING = FREE | {"LayerNorm", "RMSNorm", "GroupNorm"}  # they return what they get, whatever their weights are
_CASTS = re.compile(r"\.(float|half|bfloat16|double|type)\(\)|\.to\(|autocast|\.type\(|float32|float16")
_BACK = re.compile(r"type_as|\.dtype|to\(dtype|to\(input_dtype")
_RESHAPED = frozenset(
    """mean sum transpose view reshape permute flatten unflatten contiguous squeeze unsqueeze clone detach expand
    relu chunk split""".split()
)  # methods of tensors that return the dtype that they get


@record
class Precision:
    """In what a group computes on one path. ``casts``: are its inputs brought to that?"""

    path: PathCondition
    dtype: str | None
    returns: str | None
    casts: bool


@record
class Made:
    """A tensor's dtype, the group that it comes from, and the module that returned it."""

    dtype: str
    group: Step[events.Sharded]
    by: Obj
    path: PathCondition


def clash(program: Program, step: Step[events.Sharded], steps: tuple[Step[events.Sharded], ...]) -> Answer[Place]:
    """Where two dtypes meet in one operation of the forward; unknown where a layer or a cast was not followed."""
    if len({each.what.options.get("mp_policy") for each in steps}) == 1:
        return _all_calls(program, step)
    if steps not in program.dtypes:
        program.dtypes[steps] = {each.dtype for other in steps for each in _precisions(other)}
    if len(program.dtypes[steps]) < 2:
        unsure = any(map(_is_unsure, steps))
        return unknown("in which dtypes the groups compute is not known") if unsure else _all_calls(program, step)
    if any(True for _ in program.trace.of(events.Autocast)):
        return unknown("autocast may bring the dtypes together")
    for call in program.trace.of(events.Called, after=step):
        layer = call.subject
        if layer is None or _kind(layer) not in _STRICT or not call.what.args:
            continue
        if group_of(program, layer, step.guard) is not step:
            continue
        for mine in _precisions(step):
            own = mine.dtype or StaticGrouping(program, step, layer).dtype(layer)
            for made in _made(program, call.what.args[0], step.guard) if own is not None else ():
                if made.group is step or made.dtype == own or mine.casts and not _inside(program, made.by, step):
                    continue
                if made.path.compatible(mine.path) and made.path.compatible(call.guard):
                    name = program.machine.parents.get(layer, (layer, "a layer"))[1]
                    return yes(Place(made.group.when, f"{name} gets {made.dtype} tensors and has {own} weights"))
    return unknown("whether tensors of one group's dtype come to the weights of another one was not followed")


def _all_calls(program: Program, step: Step[events.Sharded]) -> Answer[Place]:
    if step.what.options_open:
        return unknown("which keywords fully_shard gets is not known")
    return program.nothing(step.what.group[0], events.Sharded)


def _precisions(step: Step[events.Sharded]) -> Iterator[Precision]:
    """Without a policy, or without ``param_dtype``, a group computes in the dtype of its parameters: None."""
    if step.what.options_open and "mp_policy" not in step.what.options:
        return
    for path, value in given(step, "mp_policy"):
        if value is None or value == NONE:
            yield Precision(path, None, None, False)
        policy = policy_of(value)
        if policy is None:
            continue
        cast = policy.fields.get("cast_forward_inputs") != Const(False)
        for there, param_dtype in options(policy.fields.get("param_dtype", NONE)):
            for where, output_dtype in options(policy.fields.get("output_dtype", NONE)):
                dtype, returns = _said(param_dtype), _said(output_dtype)
                joined = path.join(there)
                joined = joined.join(where) if joined is not None else None
                if joined is not None and dtype != "" and returns != "":
                    yield Precision(joined, dtype, returns, dtype is not None and cast)


def _is_unsure(step: Step[events.Sharded]) -> bool:
    """May it compute in a dtype that is not written down?"""
    said = [value for _, value in given(step, "mp_policy") if value is not None and value != NONE]
    policies = [policy_of(value) for value in said]
    return any(
        policy is None or any(_said(dtype) == "" for _, dtype in options(policy.fields.get("param_dtype", NONE)))
        for policy in policies
    )


def _said(value: Value | None) -> str | None:
    """A dtype; None where none is asked for; empty where it is not known."""
    if value is None or value == NONE:
        return None
    return dtype_name(value)


def _kind(layer: Obj) -> str:
    cls = layer.atom.cls
    known = layer.parent is None and isinstance(cls, Ext) and cls.qname.startswith("torch.nn.")
    return cls.qname.rsplit(".", 1)[-1] if known and isinstance(cls, Ext) else ""


def _inside(program: Program, module: Obj, step: Step[events.Sharded]) -> bool:
    return any(program.relation(module, part) is Relation.INSIDE for part in step.what.group)


def _made(program: Program, value: Value, here: PathCondition, depth: int = 0) -> Iterator[Made]:
    """What a tensor may be on a path, as far as the modules that it went through are known."""
    if depth > BUDGET.dtype_path:
        return
    if isinstance(value, GuardedUnion):
        for path, leaf in value.options:
            for made in _made(program, leaf, here, depth + 1):
                if (joined := made.path.join(path)) is not None:
                    yield Made(made.dtype, made.group, made.by, joined)
        return
    if not isinstance(value, Obj) or value in program.machine.libraries.cast_tensors:
        return
    if (module := program.machine.libraries.outputs.get(value)) is not None:
        if _keeps(program, module):
            yield from _returned(program, module, here)
        return
    if value.item == SLICE and value.parent is not None:
        yield from _made(program, value.parent, here, depth + 1)
    if value.parent is None or not is_call(value.item):
        return
    if value.item[1] in _RESHAPED:
        yield from _made(program, value.parent, here, depth + 1)
    layer = value.parent
    if value.item[1]:
        return
    if _kind(layer) in (*_STRICT, "Embedding"):
        yield from _returned(program, layer, here)
    elif _kind(layer) in _PASSING and isinstance(value.item[2], tuple) and value.item[2]:
        yield from _made(program, value.item[2][0], here, depth + 1)


def _returned(program: Program, module: Obj, here: PathCondition) -> Iterator[Made]:
    """By a block that is a group of its own, or by a layer."""
    group = group_of(program, module, here)
    own = group is not None and any(program.relation(module, part) is Relation.SAME for part in group.what.group)
    if group is None or not own and not _kind(module):
        return
    for each in _precisions(group):
        dtype = (each.returns if own else None) or each.dtype
        if dtype is None and _kind(module):
            dtype = StaticGrouping(program, group, module).dtype(module)
        if dtype is not None:
            yield Made(dtype, group, module, each.path)


def _keeps(program: Program, module: Obj, depth: int = 0) -> bool:
    """Does a module's forward, and that of its parts, return the dtype in which it computes?"""
    cls = program.machine.class_of(module)
    if not isinstance(cls, ClassV):
        return depth > 0
    if depth > BUDGET.dtype_parts:
        return False
    forward = class_body(cls.node).get("forward")
    code = program.project.relevance.code_of(cls.module, forward) if forward is not None else ()
    text = "\n".join(part.as_string() for _, part in islice(code, BUDGET.name_parts))
    if not text or _CASTS.search(text) and (depth == 0 or not _BACK.search(text)):
        return False
    parts = [child for child, (holder, _) in program.machine.parents.items() if holder is module]
    return all(_keeps(program, part, depth + 1) for part in parts)
