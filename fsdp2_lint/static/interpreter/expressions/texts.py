"""Texts that are built from parts, and whether what they are made of differs by rank."""

from __future__ import annotations

from astroid import nodes

from ...budget import BUDGET
from ...domain.values import NONE, Const, Ext, Func, GuardedUnion, ListV, Loaded, ModRef, Obj, Rank, Text, TupleV, Value
from ..machine import L
from .comprehensions import Comprehensions


class Texts(Comprehensions[L]):
    def eval_JoinedStr(self, node: nodes.JoinedStr) -> Value:
        return self.text([self.eval(part) for part in node.values])

    def eval_FormattedValue(self, node: nodes.FormattedValue) -> Value:
        return self.eval(node.value)

    def text(self, parts: list[Value]) -> Value:
        """Text built from parts: constant if all are, else known to differ by rank or not."""
        if all(isinstance(part, Const) for part in parts):
            known = "".join(str(part.value) for part in parts if isinstance(part, Const))
            return Const(known) if len(known) <= BUDGET.text else Text(False, known[: BUDGET.text])
        ranked = [self.per_rank(part) for part in parts]
        verdict = True if True in ranked else (None if None in ranked else False)
        hint = "".join(str(p.value) if isinstance(p, Const) else getattr(p, "hint", "") or "{}" for p in parts)
        ranks = [
            part if isinstance(part, Rank) else part.source
            for part in parts
            if isinstance(part, Rank) or isinstance(part, Text) and part.source
        ]
        return Text(verdict, hint[: BUDGET.text], ranks[0] if len(ranks) == 1 else None, self.made_of("text", *parts))

    def made_of(self, how: str, *parts: Value) -> int:
        """A number for what a text is made from, however deep that is: texts of texts are compared by it."""
        number = self.texts.setdefault((how, parts), len(self.texts) + 1)
        if number > len(self.text_parts):
            self.text_parts.append((how, parts))
        return number

    def per_rank(self, value: Value) -> bool | None:
        """Does a text or number differ by rank? None: cannot tell."""
        if isinstance(value, (Const, Func, Ext, ModRef)):
            return False
        if isinstance(value, Rank):
            return True
        if isinstance(value, (Text, Loaded)):
            return value.per_rank
        if isinstance(value, (TupleV, ListV, GuardedUnion)):
            found = [self.per_rank(leaf) for leaf in self.inside(value) if not isinstance(leaf, (TupleV, ListV))]
            return True if True in found else (None if None in found else False)
        if isinstance(value, Obj):
            return False if value.atom.agreed or self.is_setting(value) else None
        return None

    def is_setting(self, value: Obj, *, launched: bool = False) -> bool:
        """Is it a setting that is the same for all ranks, as a file or the command line of the job says?

        An option without default is said by whoever starts a rank, perhaps to each its own; ``launched``: but not where
        a launcher tells each its place in another way, since it starts all with one command line.
        """
        if not value.atom.shared or value.atom.agreed or "rank" in str(value.path):  # what is called so may be the rank
            return False
        if value.parent is None or not self.libraries.is_option(value):
            return True
        default = self.libraries.default_of(value)
        given = isinstance(default, Const) and default != NONE
        return given or launched and self.libraries.has_one_command_line()
