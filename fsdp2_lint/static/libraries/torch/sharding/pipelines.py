"""Stages of a pipeline: a schedule runs them, several micro-batches in a row."""

from __future__ import annotations

from ....domain import events
from ....domain.values import Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external


@external("torch.distributed.pipelining.PipelineStage", "torch.distributed.pipelining.stage.PipelineStage")
def pipeline_stage(machine: Machine, call: Call) -> Value:
    module = call.arg(0, "submodule")
    for leaf in machine.objects(module):
        machine.emit(events.Pipelined(stages=call.arg(2, "num_stages")), call.node, leaf)
    stage = machine.libraries.call_other(call.name, call)
    if isinstance(stage, Obj) and module is not None:
        machine.store.put((stage, "submod"), module)
    return stage
