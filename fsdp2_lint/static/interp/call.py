"""One call, as transfer functions see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astroid import nodes

from ..values import Value

if TYPE_CHECKING:
    from .interpreter import Interpreter


@dataclass(slots=True)
class Call:
    """One call as a transfer function sees it."""

    machine: Interpreter
    node: nodes.NodeNG
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)
    open_why: str = ""  # there may be arguments that were not seen

    def arg(self, position: int | None, name: str = "") -> Value | None:
        if position is not None and position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name)

    @property
    def all(self) -> list[Value]:
        return [*self.args, *self.kwargs.values()]
