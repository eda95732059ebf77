"""The whole interpreter: Python's semantics plus the table of what torch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from astroid import nodes

from ..formulas import Formula
from ..project import Module, Project
from ..torch_model.model import TorchModel
from ..values import ClassV, Func, Value
from .call import Call
from .classes import Classes


class Interpreter(TorchModel, Classes):
    """Interprets one entry of a program; afterwards ``trace`` says what happened."""

    def __init__(self, project: Project, *, max_steps: int, max_unsharded: int, look: Callable[[], None]) -> None:
        super().__init__(project, max_steps=max_steps, max_unsharded=max_unsharded, look=look)
        self.reads = 0
        self.picks: set[str] = set()  # files in which a part is taken out that may be another one on each rank
        self.memo: dict[Any, tuple[Value, bool, int, int]] = {}
        self.parameters: dict[Any, Value] = {}
        self.refused: set[tuple[tuple[Formula, bool], ...]] = set()  # paths that end in what a check has made sure of
        self.doomed: set[int] = set()  # activations that end the job: with an error, whatever they do before
        self.quiet_exits = 0  # how often a process ended as if all were well
        self.finished: set[nodes.NodeNG] = set()  # functions that ran to their end
        self.whole = False  # is it a script, followed from its first line on?
        self.texts: dict[Any, int] = {}  # what texts are made from, by number
        self.module_globals: dict[tuple[Module, str], Value] = {}
        self.resolving: set[tuple[Module, str]] = set()
        self.class_values: dict[Any, Value] = {}
        self.unseen_makers: dict[ClassV, str] = {}
        self.method_values: dict[Func, Func] = {}
        self.mros: dict[ClassV, list[Value]] = {}
        self.frame_flow = 0

    def run_module(self, module: Module) -> None:
        """Run a script's body as ``__main__``."""
        from ..guards import TOP
        from ..values import Const
        from .machine import Frame

        self.whole = True
        self.frames.append(Frame(self.fresh(), module, None, TOP))
        self.store.put((module, "__name__"), Const("__main__"))
        self.reached[module.tree] = None
        self.exec_block(module.tree.body)
        self.frames.pop()

    def run_function(self, func: Func, receiver: Value | None = None) -> Value:
        """Run a function that no script calls, with unknown arguments."""
        return self.in_module(
            func.module, lambda: self.call_function(func, [], {}, func.node, receiver=receiver), self.guard
        )

    def build(self, cls: ClassV) -> Value:
        """An instance of a class that no script builds, from unknown arguments."""
        return self.in_module(cls.module, lambda: self.construct(cls, Call(self, cls.node, [], {})))

    def abandon(self, mark: int) -> None:
        """Drop what an unfinished call did to the state; what it was seen to do stays in the trace."""
        self.store.undo(mark, 0)
        self.loops = self.context = 0
        self.inside.clear()
