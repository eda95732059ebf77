"""What is put around modules besides ``fully_shard``, and collectives on their parameters."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.events import AnyStep
from ....domain.formulas import Formula, atoms, intern
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import NONE, Const, DictV, Obj, ParamV, Value, unknown
from ....frontend.torch_api import canonical
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method
from ...words import describe
from .modules import wrapped
from .parallel_styles import LEAVE_ALONE, SPLIT, needs_one_input

_CHECKPOINT = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper."


def _emit(machine: Machine, what: events.Event, call: Call, target: Value | None) -> None:
    for leaf in machine.objects(target):
        machine.emit(what, call.node, leaf)


@external("torch.distributed.tensor.parallel.parallelize_module")
def parallelize(machine: Machine, call: Call) -> Value:
    plan = call.arg(2, "parallelize_plan") or NONE
    if needs_one_input(machine, plan):
        for leaf in machine.objects(call.arg(0, "module")):
            machine.emit(events.LayersSplit(mesh=call.arg(1, "device_mesh") or NONE), call.node, leaf)
    machine.emit(events.InputSplit(why="parallelize_module() is called"), call.node)
    if machine.libraries.any_sharded:
        _emit(machine, events.Parallelised(splits=_splits_parameters(machine, plan)), call, call.arg(0, "module"))
    return wrapped(machine, call)


@external("torch.distributed.tensor.distribute_module")
def distribute(machine: Machine, call: Call) -> Value:
    """A function of its own makes DTensors of the parameters of each module; without one, all are replicated."""
    module, partition = call.arg(0, "module"), call.arg(2, "partition_fn")
    machine.emit(events.InputSplit(why="distribute_module() is called"), call.node)
    if machine.libraries.any_sharded:
        _emit(machine, events.Parallelised(splits=False if partition in (None, NONE) else None), call, module)
    if partition is not None and module is not None:
        mesh = call.arg(1, "device_mesh") or NONE
        machine.call(partition, Call(call.node, [unknown("a module's name"), module, mesh]))
    around = [hook for at, name in ((3, "input_fn"), (4, "output_fn")) if (hook := call.arg(at, name)) is not None]
    machine.libraries.callbacks(Call(call.node, around))
    return wrapped(machine, call)


def _splits_parameters(machine: Machine, plan: Value) -> bool | None:
    """Does a style of this plan surely split parameters, or none of them?"""
    answers: set[bool | None] = set()
    for _, leaf in machine.alternatives(plan):
        if isinstance(leaf, DictV):
            held = machine.entries(leaf)
            answers.update(_splits_parameters(machine, style) for _, _, style in held.entries)
            answers.update({None} if held.open_why else ())
        else:
            name = canonical(leaf.atom.origin) if isinstance(leaf, Obj) and leaf.parent is None else ""
            answers.add(True if name in SPLIT else False if name in LEAVE_ALONE else None)
    return True if True in answers else None if None in answers else False


@external(_CHECKPOINT + "checkpoint_wrapper", "torch.distributed._composable.checkpoint")
def checkpoint(machine: Machine, call: Call) -> Value:
    _emit(machine, events.Checkpointed(), call, call.arg(0, "module"))
    return wrapped(machine, call)


@external(_CHECKPOINT + "apply_activation_checkpointing")
def checkpoint_parts(machine: Machine, call: Call) -> Value:
    """Of what is sharded or compiled, the parts that the filter surely lets through."""
    check = call.arg(2, "check_fn")
    if call.arg(3, "auto_wrap_policy") not in (None, NONE) or call.open_why:
        return NONE
    done: list[tuple[AnyStep, Obj]] = [
        (step, part) for step in machine.trace.of(events.Sharded) for part in step.what.group
    ]
    done += [(step, step.subject) for step in machine.trace.of(events.Compiled) if step.subject is not None]
    before = machine.guard
    for step, part in done:
        if (path := before.join(step.guard)) is None:
            continue
        with machine.on_path(path):
            passed = machine.call(check, Call(call.node, [part])) if check is not None else Const(True)
            asked = machine.truth(passed)
            if path.decide(asked) is True and before.implies(_but_for(step.guard, asked)):
                machine.emit(events.Checkpointed(filtered_as=step), call.node, part)
    return NONE


def _but_for(path: PathCondition, asked: Formula) -> PathCondition:
    """What a run must choose to come here, besides what a filter asks of each module."""
    leaves = set(atoms(intern(asked)))
    return path.without_literals(frozenset(part for part in path.literals if leaves.issuperset(atoms(part[0]))))


def _compiled(machine: Machine, call: Call, target: Value | None) -> None:
    if b"skip_fsdp_hooks" in machine.project.data(machine.frame.module.path):
        return  # an experiment with a compiler that traces the hooks
    _emit(machine, events.Compiled(whole_graph=call.arg(None, "fullgraph") == Const(True)), call, target)


@external("torch.compile")
def compile_function(machine: Machine, call: Call) -> Value:
    _compiled(machine, call, call.arg(0, "model"))
    return wrapped(machine, call)


@method("compile")
def compile_module(machine: Machine, obj: Obj, call: Call) -> Value:
    if obj.atom.module or machine.libraries.in_sharded(obj):
        _compiled(machine, call, obj)
    elif not machine.libraries.harmless_object(obj):
        machine.libraries.havoc(f"{describe(obj)}.compile()", call, receiver=obj)
    return NONE


def exchanged(machine: Machine, call: Call) -> None:
    """``dist.broadcast(p.data, 0)`` and its kin, on each parameter of a model."""
    tensor = call.arg(0, "tensor")
    if not machine.libraries.any_sharded or tensor is None:
        return
    for guard, leaf in machine.alternatives(tensor):
        if isinstance(leaf, ParamV) and guard is TRUE and not _is_chosen(call.node):
            name = call.name.rsplit(".", 1)[-1]
            for model in machine.objects(leaf.model):
                machine.emit(events.Exchanged(name=f"{name}()", read=leaf.read), call.node, model)


def _is_chosen(node: nodes.NodeNG) -> bool:
    """Is it asked before what the parameter is, or which model it belongs to?"""
    names: set[str] = set()
    inner, at = node, node.parent
    while at is not None and not isinstance(at, (nodes.FunctionDef, nodes.Module)):
        if isinstance(at, nodes.Try) and not names:
            return True
        if isinstance(at, (nodes.If, nodes.IfExp)) and not _asks_for_gradient(at.test):
            asked = {each.name for each in at.test.nodes_of_class(nodes.Name)}
            if not names or names & asked:
                return True
        if isinstance(at, nodes.For):
            names |= {each.name for each in at.iter.nodes_of_class(nodes.Name)}
            if any(each.lineno < inner.lineno for each in at.nodes_of_class(nodes.Continue)):
                return True
        inner, at = at, at.parent
    return False


def _asks_for_gradient(test: nodes.NodeNG) -> bool:
    return bool(test.as_string().endswith((".requires_grad", ".grad is not None")))


# -- stages of a pipeline: a schedule runs them, several micro-batches in a row
@external("torch.distributed.pipelining.PipelineStage", "torch.distributed.pipelining.stage.PipelineStage")
def pipeline_stage(machine: Machine, call: Call) -> Value:
    module = call.arg(0, "submodule")
    for leaf in machine.objects(module):
        machine.emit(events.Pipelined(stages=call.arg(2, "num_stages")), call.node, leaf)
    stage = machine.libraries.call_other(call.name, call)
    if isinstance(stage, Obj) and module is not None:
        machine.store.put((stage, "submod"), module)
    return stage
