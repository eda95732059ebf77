"""Where the value of an expression that a frame executes comes to decide what the job does next.

The source says what becomes of the value: it is followed through arithmetic, functions of torch and of Python that only
compute, local names, and returns to the callers that wait for them. Where anything else gets hold of it, it may be put
together with those of other ranks, and nothing is said.
"""

from __future__ import annotations

import ast
import os
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType

from torch import nn
from torch.optim import Optimizer

from ..vocab.finding import Moment, Site
from . import adapter
from .expressions import executed, source, value_of
from .sites import is_users

COMPUTING = frozenset({"torch", "torch.linalg", "torch.special", "torch.nn.functional", "math"})  # modules
BUILTINS = frozenset("abs all any bool float int len list max min round sum tuple".split())
# What a shard is, whatever it holds: an empty one is left out in many places, and rightly.
DESCRIBING = frozenset(
    "device dim dtype is_cuda is_meta layout ndim nelement numel requires_grad shape size stride".split()
)
_PASSING = (
    *(ast.Attribute, ast.BinOp, ast.BoolOp, ast.Compare, ast.GeneratorExp, ast.List, ast.ListComp, ast.Starred),
    *(ast.Subscript, ast.Tuple, ast.UnaryOp),
)
_INNER = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
Branch = ast.If | ast.While


class Elsewhere(Exception):
    """Something that may do anything has got hold of the value."""


def decision(frame: FrameType) -> Moment | None:
    """The place of a branch that depends on the expression, if that concerns a model's training."""
    node = executed(frame.f_code, frame.f_lasti)
    try:
        return _Value(_of_function(frame)).of(node) if node is not None else None
    except Elsewhere:
        return None


def _of_function(frame: FrameType) -> FrameType:
    """The frame of the function that a comprehension stands in."""
    while frame.f_code.co_name in _INNER and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _asks_which(node: ast.AST) -> bool:
    """``x is None``, ``x in seen``"""
    which = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(node, ast.Compare) and any(isinstance(each, which) for each in node.ops)


def _binds(scope: ast.AST, name: str) -> bool:
    """Has a function a variable of its own of this name?"""
    inside = list(ast.walk(scope))
    if any(isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in inside):
        return False
    stored = (each for each in inside if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    given = (each.arg for each in inside if isinstance(each, ast.arg))
    return name in given or any(each.id == name for each in stored)


@dataclass(frozen=True, slots=True)
class _Value:
    """What becomes of a value in one frame. ``names`` are those that were followed, with the places of their scopes."""

    frame: FrameType
    names: set[tuple[ast.AST, str]] = field(default_factory=set)

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        return source(self.frame.f_code.co_filename).parents

    def of(self, node: ast.AST) -> Moment | None:
        parent = self.parents.get(node)
        while parent is not None and self._passes(node, parent):
            node, parent = parent, self.parents.get(parent)
        if isinstance(parent, (ast.If, ast.While)) and node is parent.test:
            return self._of_branch(parent)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            return self._of_name(parent.targets[0])
        if isinstance(parent, (ast.AugAssign, ast.AnnAssign)):
            return self._of_name(parent.target)
        if isinstance(parent, (ast.Return, ast.Lambda)):
            return self._of_result()
        if isinstance(parent, (ast.Expr, ast.Assert, ast.Attribute, ast.Compare)):
            return None  # nothing asks for the value
        raise Elsewhere

    def _passes(self, node: ast.AST, parent: ast.AST) -> bool:
        """Is the value of ``parent`` only computed from that of ``node``?"""
        if isinstance(parent, ast.Call):
            return node is parent.func or self._only_computes(parent.func)
        if isinstance(parent, ast.Attribute) and parent.attr in DESCRIBING:
            return False
        return isinstance(parent, _PASSING) and not _asks_which(parent)

    def _only_computes(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute):
            owner = value_of(self.frame, function.value)
            return isinstance(owner, types.ModuleType) and owner.__name__ in COMPUTING
        own = value_of(self.frame, function)
        if callable(own):
            return getattr(own, "__module__", None) in COMPUTING
        return isinstance(function, ast.Name) and function.id in BUILTINS

    def _of_name(self, target: ast.AST) -> Moment | None:
        """All that reads a local name, wherever it stands in its function: a loop may come back."""
        if not isinstance(target, ast.Name):
            raise Elsewhere
        scope = self._scope(target)
        if (scope, target.id) in self.names:
            return None
        self.names.add((scope, target.id))
        found = [self.of(each) for each in self._reads(scope, target.id) if not self._is_printed(each)]
        return next(filter(None, found), None)

    def _reads(self, scope: ast.AST, name: str) -> list[ast.Name]:
        known = [each for each in ast.walk(scope) if isinstance(each, ast.Name) and each.id == name]
        inner = {own for each in known if (own := self._scope(each)) is not scope}
        if any(not _binds(each, name) for each in inner):
            raise Elsewhere  # functions that read it, whenever they are called
        return [each for each in known if isinstance(each.ctx, ast.Load) and self._scope(each) is scope]

    def _scope(self, node: ast.AST) -> ast.AST:
        return next(each for each in self._above(node) if isinstance(each, _SCOPES))

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def _is_printed(self, node: ast.AST) -> bool:
        calls = (each.func for each in self._above(node) if isinstance(each, ast.Call))
        return any(isinstance(each, ast.Name) and each.id == "print" for each in calls)

    def _of_result(self) -> Moment | None:
        """In the frame that waits for the result of this one."""
        caller = self.frame.f_back
        while caller is not None and adapter.only_wraps(caller):
            caller = caller.f_back
        node = executed(caller.f_code, caller.f_lasti) if caller is not None else None
        if caller is None or not is_users(caller.f_code.co_filename) or not isinstance(node, ast.Call):
            raise Elsewhere
        return _Value(_of_function(caller)).of(node)

    def _of_branch(self, branch: Branch) -> Moment | None:
        inside = [each for part in (*branch.body, *branch.orelse) for each in ast.walk(part)]
        if any(self._trains(each) for each in (*inside, *self._left_out(branch, inside))):
            return Moment(Site(os.path.abspath(self.frame.f_code.co_filename), branch.lineno))
        for each in inside:  # what it notes or returns may decide further on
            further = None
            if isinstance(each, ast.Assign) and len(each.targets) == 1:
                further = self._of_name(each.targets[0])
            elif isinstance(each, ast.Return):
                further = self._of_result()
            if further is not None:
                return further
        return None

    def _left_out(self, branch: Branch, inside: list[ast.AST]) -> Iterator[ast.AST]:
        """What a ``continue`` or ``break`` in a branch leaves out of its loop."""
        loop = next((each for each in self._above(branch) if isinstance(each, _LOOPS)), None)
        leaves = any(isinstance(each, ast.Break) for each in inside)
        skips = any(isinstance(each, ast.Continue) for each in inside)
        for part in loop.body if loop is not None and (leaves or skips) else ():
            if leaves or part.lineno > (branch.end_lineno or branch.lineno):
                yield from ast.walk(part)

    def _trains(self, node: ast.AST) -> bool:
        """Is it an optimizer, or a sharded model? An optimizer's own methods are judged by what they write."""
        value = value_of(self.frame, node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if isinstance(value, Optimizer) and value is self.frame.f_locals.get("self"):
            return False
        values = value if isinstance(value, (list, tuple)) else [value]
        return any(
            isinstance(each, Optimizer) or isinstance(each, nn.Module) and adapter.state_of(each) is not None
            for each in values
        )
