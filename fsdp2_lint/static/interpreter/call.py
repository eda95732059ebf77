"""One call, as transfer functions see it."""

from __future__ import annotations

from dataclasses import dataclass, field

from astroid import nodes

from ..domain.says import Says
from ..domain.values import Const, Ext, Obj, Value

UNREAD_KEYWORDS = "**keywords of a file or a package that was not read"  # they are the same in each run


class Spread(str):
    """Why there may be more keywords than were seen: all that ``of`` has, by their names, which nobody read."""

    of: Obj

    @classmethod
    def out_of(cls, of: Obj, why: str) -> Spread:
        made = cls(why)
        made.of = of
        return made


@dataclass(slots=True)
class Call:
    """One call as a transfer function sees it."""

    node: nodes.NodeNG
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)
    open_why: str = ""  # there may be arguments that were not seen
    name: str = ""  # by which it was found in a table of library models

    def arg(self, position: int | None, name: str = "") -> Value | None:
        if position is not None and position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name)

    @property
    def all(self) -> list[Value]:
        return [*self.args, *self.kwargs.values()]

    def result(self, of: Obj, name: str = "") -> Obj:
        """What a method of an object returned that was not followed, or the object itself where it has no name."""
        return of.child(("()", name, tuple(self.args) if len(self.args) < 3 else len(self.args)))

    @property
    def fixed(self) -> bool:
        """Is all that it is given the same in each run?"""
        return not self.open_why and all(
            isinstance(value, (Const, Ext)) or isinstance(value, Obj) and value.atom.said_by is Says.UNREAD
            for value in self.all
        )
