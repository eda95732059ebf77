"""The whole interpreter: what a program runs as."""

from __future__ import annotations

from ..domain.path_conditions import TRUE
from ..domain.values import ClassV, Const, Func, Value
from ..frontend.module import Module
from .call import Call
from .calls.classes import Classes
from .frames import Frame
from .machine import L


class Interpreter(Classes[L]):
    """Interprets one entry of a program; afterwards ``trace`` says what happened."""

    def run_module(self, module: Module) -> None:
        """Run a script's body as ``__main__``."""
        self.whole = True
        self.frames.append(Frame(self.fresh(), module, None, TRUE))
        self.store.put((module, "__name__"), Const("__main__"))
        self.reached[module.tree] = None
        self.exec_block(module.tree.body)
        self.frames.pop()

    def run_function(self, func: Func, receiver: Value | None = None) -> Value | None:
        """Run a function that no script calls, with unknown arguments."""
        return self.in_module(
            func.module, lambda: self.call_function(func, [], {}, func.node, receiver=receiver), self.guard
        )

    def build(self, cls: ClassV) -> Value | None:
        """An instance of a class that no script builds, from unknown arguments."""
        return self.in_module(cls.module, lambda: self.construct(cls, Call(cls.node, [], {})))

    def abandon(self, mark: int) -> None:
        """Drop what an unfinished call did to the state; what it was seen to do stays in the trace."""
        self.store.undo(mark, 0)
        self.loops = self.context = 0
        self.libraries.inside.clear()
