"""What torch refuses before any hook sees it, as its errors tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ...catalogue import registry
from ...vocab.defects import UNFROZEN_AFTER_FORWARD
from ...vocab.events.initialisation import ResetCalled
from ...vocab.events.precision import PoliciesTaken
from ...vocab.events.sharding import OptionsGiven, ParametersExchanged, PolicySettled
from ...vocab.finding import Moment
from .. import adapter
from ..expressions import executed, operands
from ..ledger import label_of
from ..monitors.checkpoints.payloads import RuntimePayload
from ..monitors.initialisation import meta_device
from ..monitors.launch.process import RuntimeDevice
from ..monitors.precision.policies import RuntimePolicy
from ..monitors.sharding.composition import RuntimeComposition
from ..monitors.sharding.options import RuntimeOptions
from ..monitors.sharding.replacement import look_up_lost
from ..monitors.shared.policies import WANTED, RefusedPolicies, wrong
from ..monitors.shared.units import unfinished
from ..session import Session
from ..sites import is_of_the_user, is_users, of_traceback
from ..stand_ins import copy_behind
from .messages import (
    CLASH,
    GATHERED,
    GLOBAL_RANK,
    GRADIENT_DTYPE,
    MESHES,
    MIXED,
    NO_MEMORY,
    OPEN,
    ORDINAL,
    OTHER_MESH,
    POLICY,
    SHARDS_SAVED,
    UNFROZEN,
    Explanation,
    dtypes_clash,
)

Frames = list[tuple[FrameType, TracebackType]]
# Messages of torch 2.13, measured.
_REFUSALS = (
    (r"fully_shard expects a 1D or 2D DeviceMesh", "the mesh has other than one or two dimensions"),
    (r"Please init the 2D mesh for HSDP with mesh_dim_names", "the mesh has two dimensions and no mesh_dim_names"),
    (r"reshard_after_forward as an int, it should be a factor", "reshard_after_forward is no divisor of the ranks"),
)


def judge_options(session: Session, error: BaseException, frames: Frames) -> None:
    words = next((words for pattern, words in _REFUSALS if re.search(pattern, str(error))), "")
    given = _given(frames)
    if not words or not given:
        return
    when, label = _refused(session, error, given)
    options = RuntimeOptions(when, label, given.get("mesh"), words)
    session.dispatch(OptionsGiven(when=when, options=options))


def judge_policies(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """What is no policy of mixed precision: from torch 2.15 on ``fully_shard`` itself makes a copy of it, and fails."""
    given = _given(frames)
    policies = tuple((name, given[name]) for name in WANTED if name in given)
    if not isinstance(error, (TypeError, AttributeError)) or all(name != "mp_policy" for name, *_ in wrong(policies)):
        return None
    when, label = _refused(session, error, given)
    session.dispatch(PoliciesTaken(when=when, policies=RefusedPolicies(when, label, policies)))
    return POLICY


def _given(frames: Frames) -> Mapping[str, Any]:
    """The arguments of a ``fully_shard`` that failed; empty if none did."""
    calls = (frame.f_locals for frame, _ in frames if frame.f_code.co_name == "fully_shard")
    return next((each for each in calls if "module" in each), {})


def _refused(session: Session, error: BaseException, given: Mapping[str, Any]) -> tuple[Moment, str]:
    module = given["module"]
    if not session.ledger.shardings:
        session.file.write("sharded")  # the job does use FSDP2
    label = label_of(*(module if isinstance(module, (list, tuple)) else [module]))
    return of_traceback(error.__traceback__), label


def judge_exchange(session: Session, error: BaseException, frames: Frames) -> None:
    """A collective on a DTensor."""
    if not re.search(r"Operator c10d\.\w+\.default does not have a sharding strategy", str(error)):
        return
    if any(isinstance(frame.f_locals.get("self"), DistributedDataParallel) for frame, _ in frames):
        return  # that was told when DDP was put around the model
    for frame, _ in frames:
        name, tensor = frame.f_code.co_name, frame.f_locals.get("tensor")
        if name in ("broadcast", "all_reduce") and isinstance(tensor, adapter.DTensor) and session.ledger.shardings:
            sharding = session.ledger.shardings[-1]
            composition = RuntimeComposition(sharding.label, (sharding,))
            when = of_traceback(error.__traceback__)
            session.dispatch(ParametersExchanged(when=when, name=f"{name}()", composition=composition))
            return


def judge_dtypes(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """A layer of one group that got tensors of the dtype in which another group computes."""
    if not dtypes_clash(str(error)):
        return None
    owners = [frame.f_locals.get("self") for frame, _ in reversed(frames)]
    layer = next((each for each in owners if isinstance(each, nn.Module) and adapter.own_parameters(each)), None)
    model = session.ledger.model_of(layer) if layer is not None else None
    top = model.module() if model is not None else None
    if layer is None or top is None:
        return None
    computes = {
        sharding: dtype
        for sharding in session.ledger.inside(top)
        if (dtype := next((group.computes_in for group in sharding.groups()), None)) is not None
    }
    mine = next((each for each in computes if any(p.module is layer for g in each.groups() for p in g.params)), None)
    other = next((each for each, dtype in computes.items() if mine is not None and dtype != computes[mine]), None)
    if mine is None or other is None:
        return None
    theirs, own = (adapter.dtype_name(computes[each]) for each in (other, mine))
    words = f"a layer gets {theirs} tensors and has {own} weights"
    policy = RuntimePolicy(session.ledger, mine, top, (words, other.when))
    session.dispatch(PolicySettled(when=mine.when, policy=policy))
    return CLASH


def judge_attribute(session: Session, error: BaseException, frames: Frames) -> None:
    """An attribute that parameters had before they were sharded."""
    owner, name = getattr(error, "obj", None), getattr(error, "name", None)
    if not isinstance(error, AttributeError) or not isinstance(owner, adapter.DTensor) or not isinstance(name, str):
        return
    look_up_lost(session, name, of_traceback(error.__traceback__))


def judge_reset(session: Session, error: BaseException, frames: Frames) -> None:
    """A call of ``reset_parameters`` on a module of a sharded model, or on one whose parameters have no memory."""
    owner = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or error.name != meta_device.NAME or not isinstance(owner, nn.Module):
        return
    hollow = any(parameter.is_meta for parameter in owner.parameters())
    if not (hollow or session.ledger.inside(owner) or owner in session.ledger.below):
        return
    when = of_traceback(error.__traceback__)
    key = session.ledger.key_of(owner, label_of(owner), when)
    session.dispatch(ResetCalled(when=when, model=meta_device.RuntimeInitialised(owner, when, key)))


def judge_gathered(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """A shard and a plain tensor that is a gathered parameter, as an average of weights meets it after a forward."""
    if not MIXED.search(str(error)):
        return None
    found = (copy_behind(session.ledger, each) for each in _involved(frames))
    for sharding in filter(None, found):
        runs = any(map(adapter.hooks_have_run, sharding.live_modules()))  # then it is gathered for what runs
        if sharding.gathered_at is not None and not runs and not sharding.unsharded_by_user:
            open_since = unfinished(sharding)
            meaning, place = (OPEN, open_since.when) if open_since is not None else (GATHERED, sharding.gathered_at)
            when = of_traceback(error.__traceback__)
            tell(session, meaning, place, (when, "the gathered parameters meet shards here"))
            return meaning
    return None


def judge_saving(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """Shards that safetensors is to write, be it by ``save_pretrained``."""
    if not NO_MEMORY.search(str(error)):
        return None
    writers = (frame for frame, _ in frames if str(frame.f_globals.get("__name__")).startswith("safetensors"))
    held = (value for frame in writers for value in list(frame.f_locals.values()))
    return SHARDS_SAVED if any(RuntimePayload(each).shards().items for each in held) else None


def judge_meshes(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """A norm of gradients of several meshes. Experts, and what tensor parallelism cuts, have a mesh of their own."""
    if not MESHES.search(str(error)) or not any("clip_grad" in frame.f_code.co_name for frame, _ in frames):
        return None
    for top in session.ledger.whole_models():
        policies = (RuntimePolicy(session.ledger, each, top) for each in session.ledger.inside(top))
        if any(each.other_mesh().surely or each.replicas_forgotten().surely for each in policies):
            return OTHER_MESH
    return None


def judge_ordinal(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """A GPU that no node has, whose number is the rank in the whole job and is not written there."""
    if (found := ORDINAL.search(str(error))) is None:
        return None
    device = RuntimeDevice(session.cuda, int(found[1]), "")
    calls = (
        executed(frame.f_code, entry.tb_lasti) for frame, entry in frames if is_of_the_user(frame.f_code.co_filename)
    )
    given = [each for call in calls if isinstance(call, ast.Call) for each in (*call.args, *call.keywords)]
    literals = (node.value for each in given for node in ast.walk(each) if isinstance(node, ast.Constant))
    written = any(found[1] in str(each) for each in literals)
    return GLOBAL_RANK if device.from_global_rank().surely and not written else None


def judge_gradient(session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    """The gradient of a group that was unfrozen too late for this torch, as was found right before."""
    met = [each for each in session.findings.values() if each.code == UNFROZEN.code]
    words = UNFROZEN_AFTER_FORWARD.behaviour.words
    return UNFROZEN if GRADIENT_DTYPE.search(str(error)) and any(words in each.message for each in met) else None


def _involved(frames: Frames) -> Iterator[torch.Tensor]:
    """What the failing expressions of the job name, and what torch's own functions below them have at hand."""
    for frame, entry in reversed(frames):
        own = is_users(frame.f_code.co_filename)
        for value in operands(frame, entry.tb_lasti) if own else list(frame.f_locals.values()):
            found = value if isinstance(value, (list, tuple)) else [value]
            yield from (each for each in found if isinstance(each, torch.Tensor))
        if own:
            return


def tell(session: Session, meaning: Explanation, when: Moment, *because: tuple[Moment, str]) -> None:
    """A finding of the rule behind an error, unless there is one."""
    rule = next((rule for rule in registry.rules() if rule.code == meaning.code), None)
    if rule is not None and all(known.code != rule.code for known in session.findings.values()):
        session.tell(rule.found(when, meaning.why, "torch refuses what is done here", *because))
