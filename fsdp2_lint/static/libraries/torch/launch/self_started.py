"""Scripts that start themselves: ``subprocess.run([sys.executable, "-m", "torch.distributed.run", ..., __file__])``."""

from __future__ import annotations

from collections.abc import Sequence

from ....domain import events
from ....domain.values import Const, Text, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

_STARTERS = tuple(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
_OF_NODES = ("--nnodes", "--node", "--rdzv", "--master")  # without these torchrun asks no other machine


@external(*_STARTERS)
def started(machine: Machine, call: Call) -> Value:
    if (command := call.arg(0, "args")) is not None:
        for script in _here([item for _, item in machine.listing(command).items]):
            machine.emit(events.SelfStarted(script=script), call.node)
    return machine.libraries.call_other(call.name, call)


def _here(command: Sequence[Value]) -> list[str]:
    """The script that a launcher is told to run on this machine alone; what comes behind it are its own arguments."""
    words = [_word(each) for each in command]
    launcher = next((at for at, word in enumerate(words) if word in _LAUNCHERS), None)
    if launcher is None:
        return []
    for word in words[launcher + 1 :]:
        if word is None or word.startswith(_OF_NODES) and word != "--nnodes=1":
            return []
        if word.endswith(".py"):
            return [word]
    return []


def _word(value: Value) -> str | None:
    """A word of a command, or how it begins."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    return value.hint if isinstance(value, Text) and value.hint[:1] not in ("", "{") else None
