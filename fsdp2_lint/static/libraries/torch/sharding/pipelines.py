"""Stages of a pipeline: a schedule runs them, several micro-batches in a row."""

from __future__ import annotations

from ....domain import events
from ....domain.values import NONE, Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external


@external("torch.distributed.pipelining.PipelineStage", "torch.distributed.pipelining.stage.PipelineStage")
def pipeline_stage(machine: Machine, call: Call) -> Value:
    for _, leaf in machine.alternatives(call.arg(0, "submodule") or NONE):
        if isinstance(leaf, Obj):
            machine.emit(events.Pipelined(), call.node, leaf)
    return machine.libraries.call_other(call.name, call)
