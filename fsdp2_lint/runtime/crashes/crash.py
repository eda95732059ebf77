"""What torch's own errors mean, once one of them has ended the job. The error itself is raised on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from torch import nn

from ...vocab.events.forward import Called, PartCalled
from ...vocab.events.sharding import Sharded
from .. import adapter
from ..monitors.shared.models import RuntimeModel
from ..monitors.shared.parts import RuntimePart
from ..monitors.shared.units import RuntimeUnit
from ..session import ContractViolation, Session
from ..sites import of_traceback
from . import uses
from .messages import (
    ALREADY_ROOT,
    BYPASS,
    DIRECT,
    EXPLANATIONS,
    FORWARD_MIXED,
    FSDP1,
    LOADING,
    MIXED,
    OTHER_DTYPE,
    OUTSIDE,
    USED_OUTSIDE,
    Explanation,
    dtypes_clash,
)
from .refusals import (
    judge_attribute,
    judge_dtypes,
    judge_exchange,
    judge_gathered,
    judge_gradient,
    judge_meshes,
    judge_options,
    judge_ordinal,
    judge_policies,
    judge_reset,
    judge_saving,
    tell,
)
from .uses import Frames

Judge = Callable[[Session, BaseException, Frames], Explanation | None]


def explain(session: Session, error: BaseException) -> Explanation | None:
    """Judge the rules that only a crash shows, and find the words for the error itself, or for its cause.

    What is explained is a finding of its rule: at the end, where nothing that is judged until then has found it.
    """
    if (meaning := session.quietly(_explain)(session, error)) is not None:
        when = of_traceback(error.__traceback__)
        session.at_end.append(lambda: tell(session, meaning, when))
    return meaning


def _explain(session: Session, error: BaseException) -> Explanation | None:
    for each in _chain(error):
        frames = list(_frames(each.__traceback__))
        meanings = [_judged(judge, session, each, frames) for judge in _JUDGES]
        meaning = next(filter(None, meanings), None) or _meaning(str(each), each, frames)
        if meaning is not None:
            return meaning
        if dtypes_clash(str(each)) and _count_as_trained(session):
            return OTHER_DTYPE
    return None


def _judged(judge: Judge, session: Session, error: BaseException, frames: Frames) -> Explanation | None:
    try:
        return judge(session, error, frames)
    except ContractViolation:
        return None  # the script has failed already, with an error of torch's


def _count_as_trained(session: Session) -> bool:
    """Models that failed in their first forward, and of which only parts are sharded: were there any?"""
    found = False
    for model in session.ledger.models:
        top = model.module()
        if top is not None and not model.settled:
            handle = RuntimeModel(session.ledger, top)
            if not handle.sharded().surely and handle.outside().surely:
                model.trained = found = True
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, TracebackType]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback
        traceback = traceback.tb_next


def _refused_twice(session: Session, error: BaseException, frames: Frames) -> None:
    """The second ``fully_shard`` of a module, which torch refuses before any hook sees it."""
    if "can only be applied to a module once" not in str(error):
        return
    for frame, _ in reversed(frames):
        for value in frame.f_locals.values():
            for module in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(module, nn.Module) and (known := session.ledger.of_module(module)) is not None:
                    when = of_traceback(error.__traceback__)
                    unit = RuntimeUnit(session.ledger, known, twice=known.when)
                    session.dispatch(Sharded(when=when, unit=unit))
                    return


def _ran_alone(session: Session, error: BaseException, frames: Frames) -> None:
    """Parts of a model that ran before it, for which torch refuses to run the model."""
    if ALREADY_ROOT not in str(error):
        return
    when = of_traceback(error.__traceback__)
    root = next(
        (owner for frame, _ in frames if isinstance(owner := frame.f_locals.get("root_module"), nn.Module)), None
    )
    for sharding in session.ledger.inside(root) if root is not None else ():
        if sharding.ran_alone is not None:
            session.dispatch(PartCalled(when=sharding.ran_alone, part=RuntimePart(sharding.label, when)))


def _bypassed(session: Session, error: BaseException, frames: Frames) -> None:
    """A method of a sharded module that ran into its own DTensors, or some other use of them."""
    if not MIXED.search(str(error)):
        return
    called: set[int] = set()
    for index, (frame, _) in enumerate(frames):
        owner: Any = frame.f_locals.get("self")
        if not isinstance(owner, nn.Module):
            continue
        if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl"):
            called.add(id(owner))
            continue
        method = frame.f_code.co_name
        if id(owner) in called or adapter.state_of(owner) is None or index == 0:
            continue
        known = method == "forward" or getattr(type(owner), method, None) is not None and not hasattr(nn.Module, method)
        if not known or method == "forward" and adapter.hooks_have_run(owner):
            continue
        model = RuntimeModel(session.ledger, owner, bypassed=True)
        session.dispatch(Called(when=uses.until(frames, index), model=model, method=method))
        return
    if FORWARD_MIXED.search(str(error)) and not _method_without_hooks(frames):
        uses.judge(session, frames)


def _meaning(text: str, error: BaseException, frames: Frames) -> Explanation | None:
    names = {frame.f_code.co_name for frame, _ in frames}
    if isinstance(error, KeyError) and text == "None" and any("state_dict_type" in name for name in names):
        return FSDP1
    if "optim_state_dict_config" in text:
        return FSDP1
    if MIXED.search(text) or "_local_tensor" in text:
        if "load_state_dict" in names:
            return LOADING if _loads_into_shards(frames) else None
        if names & {"clip_grad_norm_", "_clip_grads_with_norm_", "_get_total_norm"}:
            return OUTSIDE
    if MIXED.search(text):
        if method := _method_without_hooks(frames):
            return DIRECT if method == "forward" else BYPASS
        return USED_OUTSIDE if FORWARD_MIXED.search(text) else None
    return next((each for each in EXPLANATIONS if each.fits(text)), None)


def _method_without_hooks(frames: Frames) -> str:
    """The name of the first method of a sharded module that runs outside FSDP2's forward and backward."""
    for frame, _ in frames:
        owner = frame.f_locals.get("self")
        if not isinstance(owner, nn.Module) or adapter.state_of(owner) is None:
            continue
        if adapter.hooks_have_run(owner) is False:
            return frame.f_code.co_name
    return ""


def _loads_into_shards(frames: Frames) -> bool:
    """Is the model that ``load_state_dict`` was called on sharded?"""
    return any(
        isinstance(owner := frame.f_locals.get("self"), nn.Module)
        and any(isinstance(parameter, adapter.DTensor) for parameter in owner.parameters())
        for frame, _ in frames
        if frame.f_code.co_name == "load_state_dict"
    )


# Each may find what its rule says, and the words for the error too.
_JUDGES: tuple[Judge, ...] = (
    _refused_twice,
    _ran_alone,
    _bypassed,
    judge_options,
    judge_policies,
    judge_exchange,
    judge_dtypes,
    judge_gathered,
    judge_attribute,
    judge_reset,
    judge_saving,
    judge_gradient,
    judge_meshes,
    judge_ordinal,
)
