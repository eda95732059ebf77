"""On how many machines a job may run."""

from __future__ import annotations

from urllib.parse import urlsplit

from ...domain import events
from ...domain.events import AnyStep
from ...domain.values import Const, Text, Value
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
