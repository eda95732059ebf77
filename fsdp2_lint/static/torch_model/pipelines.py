"""Stages of a pipeline: a schedule runs them, several micro-batches in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import events
from ..values import NONE, Obj, Value
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter


@external("torch.distributed.pipelining.PipelineStage", "torch.distributed.pipelining.stage.PipelineStage")
def pipeline_stage(machine: Interpreter, call: Call) -> Value:
    for _, leaf in machine.alternatives(call.arg(0, "submodule") or NONE):
        if isinstance(leaf, Obj):
            machine.emit(events.Pipelined(), call.node, leaf)
    return machine.call_other(machine.called_name, call)
