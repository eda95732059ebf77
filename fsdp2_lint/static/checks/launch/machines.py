"""On how many machines a job may run."""

from __future__ import annotations

from urllib.parse import urlsplit

from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import PathCondition
from ...domain.values import Const, Obj, Text, Value
from ..shared.program import Program


def on_one_machine(program: Program, step: AnyStep) -> bool:
    """Do the processes meet, on the way to this step, at an address that each machine has for itself?

    Or is it a script that starts its own job, with nothing said of other machines?
    """
    if any(started.what.script == step.when.chain[0].path for started in program.trace.of(events.SelfStarted)):
        return True
    given = [
        leaf
        for group in program.trace.of(events.ProcessGroup)
        if group.together(step) and group.what.address is not None
        for path, leaf in program.machine.alternatives(group.what.address)
        if step.guard.compatible(path)
    ]
    return bool(given) and all(map(_is_this_machine, given))


def may_be_one_machine(path: PathCondition) -> bool:
    """Does this path hold a number that all processes have in common to another one, or under a limit?

    It may be that of the machines: ``WORLD_SIZE == LOCAL_WORLD_SIZE``, ``GROUP_WORLD_SIZE`` or an option of that kind.
    """
    asked = ((leaf, truth if leaf is formula else None) for formula, truth in path.literals for leaf in atoms(formula))
    return any(_limits(leaf, truth) for leaf, truth in asked)


def _limits(leaf: Formula, truth: bool | None) -> bool:
    """``truth`` is None for a part of a condition that says nothing of it alone."""
    kind, asked = leaf[:2]
    if kind == "is":
        return truth is not False and type(leaf[2]) is int and _in_common(asked)
    if kind == "compared":  # that it is larger is no limit
        return truth is not True and _in_common(asked)
    return isinstance(asked, tuple) and asked[0] in ("compare", "equal") and all(map(_in_common, asked[-2:]))


def _in_common(value: object) -> bool:
    return isinstance(value, Obj) and value.atom.shared


def _is_this_machine(address: Value) -> bool:
    """Does a name or a URL, of which the port may be open, lead to the machine that asks?"""
    text = address.value if isinstance(address, Const) else address.hint if isinstance(address, Text) else None
    if not isinstance(text, str):
        return False
    try:
        host = urlsplit(text).hostname if "://" in text else text
    except ValueError:
        return False
    return host in ("localhost", "127.0.0.1", "::1")
