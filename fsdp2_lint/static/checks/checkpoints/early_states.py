"""Optimizers that may have something in their state before their first step, where torch then adds nothing to it."""

from __future__ import annotations

from astroid import nodes

from ...domain.values import ClassV, Ext, Obj
from ..shared.program import Program

_AT_FIRST = ("__init__", "__setstate__", "add_param_group")


def filled_early(program: Program, optimizer: Obj) -> str:
    """Why the state-dict helpers may find a state that is not whole; empty for the optimizers of torch.

    They make the state by a step with gradients of zero, but for an optimizer whose ``state`` is not empty.
    """
    label = program.label(optimizer)
    cls = program.machine.class_of(optimizer) or optimizer.atom.cls
    if isinstance(cls, Ext) and cls.qname.startswith("torch.optim."):
        return ""
    if not isinstance(cls, ClassV):
        return f"whether {label} has a state before its first step is not known"
    bases = program.machine.mro(cls)
    if any(isinstance(base, Ext) and not base.qname.startswith(("torch.optim.", "builtins.")) for base in bases):
        return f"what the base classes of {label} put into its state was not followed"
    methods = _methods([base for base in bases if isinstance(base, ClassV)])
    pending, seen = [name for name in _AT_FIRST if name in methods], set(_AT_FIRST)
    while pending:
        names = _of_self(methods[pending.pop()])
        if "state" in names:
            return f"{label} touches its state before its first step, and the helpers then add nothing to it"
        pending += [name for name in names if name in methods and name not in seen]
        seen |= names
    return ""


def _methods(classes: list[ClassV]) -> dict[str, nodes.FunctionDef]:
    found: dict[str, nodes.FunctionDef] = {}
    for cls in classes:
        for part in cls.node.body:
            if isinstance(part, nodes.FunctionDef):
                found.setdefault(part.name, part)
    return found


def _of_self(function: nodes.FunctionDef) -> set[str]:
    """The attributes of ``self`` that it names; its own name stands for that of a base class, which is looked at."""
    first = next(iter(function.args.args or ()), None)
    return {
        at.attrname
        for at in function.nodes_of_class((nodes.Attribute, nodes.AssignAttr))
        if first is not None and isinstance(at.expr, nodes.Name) and at.expr.name == first.name
    }
