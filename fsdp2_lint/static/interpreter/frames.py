"""Activations of functions, rounds of loops, and how a block of statements can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...vocab.answers import CannotTell
from ...vocab.declared import record
from ..domain.path_conditions import PathCondition
from ..domain.values import ClassV, Func, Obj, Value
from ..frontend.module import Module

FALL, RETURN, BREAK, CONTINUE, RAISE = 1, 2, 4, 8, 16


class Diverges(Exception):
    """The path ends here: an exception, an exit, a function that never returns."""


class CallTooLong(Exception):
    """One call took too many steps; its caller goes on without it."""


class OutOfBudget(CannotTell):
    """This entry took too many steps; what is not seen, or no longer judged, stays unknown."""


@dataclass(slots=True)
class Taken:
    """What a function's own statements have taken, over all its calls and without what they call."""

    steps: int = 0
    conditions: int = 0  # literals of paths


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function, or a module's body (then ``func`` is None)."""

    id: int
    module: Module
    func: Func | None
    guard: PathCondition
    owner: ClassV | None = None
    receiver: Value | None = None
    given: tuple[Value, ...] = ()
    returns: list[tuple[PathCondition, Value]] = field(default_factory=list)
    yields: list[tuple[PathCondition, Value]] = field(default_factory=list)
    on_yield: Callable[[Value], int] | None = None
    flow_of_body: int = 0
    behind: list[PathCondition] = field(default_factory=list)  # what holds behind the body, each time that it ran
    refuses: bool = False  # something that it calls may end the program
    steps: int = 0
    taken: Taken | None = None  # by its function; None where the code is another one's, as below a ``with``
    trains: bool | None = None  # has it what is trained in its hands? Once that was asked


def is_model(value: Value | None) -> bool:
    return isinstance(value, Obj) and value.parent is None and bool(value.atom.module)


@record
class Handled:
    """How the body of an ``except`` ends: the ways out, and whether what it calls may end the program."""

    ways: int
    may_stop: bool


@record
class Rounds:
    """One round of a loop that runs: in which activation, for how many it stands, what there was before it."""

    frame: int
    number: int | None  # None: not known
    many: bool  # whether it stands for others, rather than for one element that is known
    atoms: int
    made: int
    visits: Value | None  # what stands for all that the loop goes through, where nothing ends it early
