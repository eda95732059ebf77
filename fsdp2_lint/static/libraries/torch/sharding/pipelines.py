"""Stages of a pipeline: a schedule runs them, several micro-batches in a row."""

from __future__ import annotations

from ....domain import events
from ....domain.values import Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external


@external("torch.distributed.pipelining.PipelineStage", "torch.distributed.pipelining.stage.PipelineStage")
def pipeline_stage(machine: Machine, call: Call) -> Value:
    for leaf in machine.objects(call.arg(0, "submodule")):
        machine.emit(events.Pipelined(), call.node, leaf)
    return machine.libraries.call_other(call.name, call)
