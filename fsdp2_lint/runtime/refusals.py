"""Calls of ``fully_shard`` that torch refuses before any hook sees them, as their errors tell."""

from __future__ import annotations

import re
from types import FrameType, TracebackType

from ..vocab.events.policies import OptionsGiven
from .handles.options import RuntimeOptions
from .ledger import label_of
from .session import Session
from .sites import of_traceback

Frames = list[tuple[FrameType, TracebackType]]
# Messages of torch 2.13, measured.
_REFUSALS = (
    (r"fully_shard expects a 1D or 2D DeviceMesh", "the mesh has other than one or two dimensions"),
    (r"Please init the 2D mesh for HSDP with mesh_dim_names", "the mesh has two dimensions and no mesh_dim_names"),
    (r"reshard_after_forward as an int, it should be a factor", "reshard_after_forward is no divisor of the ranks"),
)


def judge_options(session: Session, error: BaseException, frames: Frames) -> None:
    words = next((words for pattern, words in _REFUSALS if re.search(pattern, str(error))), "")
    frame = next((frame for frame, _ in frames if frame.f_code.co_name == "fully_shard"), None)
    if not words or frame is None or "module" not in frame.f_locals:
        return
    module = frame.f_locals["module"]
    when = of_traceback(error.__traceback__)
    label = label_of(*(module if isinstance(module, (list, tuple)) else [module]))
    if not session.ledger.shardings:
        session.file.write("sharded")  # the job does use FSDP2
    options = RuntimeOptions(when, label, frame.f_locals.get("mesh"), words)
    session.hear(OptionsGiven(when=when, options=options))
