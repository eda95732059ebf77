"""Mutable state with a trail: a branch is run, undone, and only its writes are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...vocab.declared import record
from ..budget import BUDGET
from .choices import choose, options
from .path_conditions import TRUE, PathCondition
from .values import NONE, ClassV, Const, Ext, GuardedUnion, Obj, Text, Value

Key = Any  # (frame id, name), (Obj, attribute), (Module, name) or a heap id
_ABSENT = object()
KNOWN_KEYS = (Const, ClassV, Ext)  # a class, or a function of a package, is the same key wherever it is written
ALL_KEYS = Text(None, "**")  # the key of an entry that stands for all that a mapping holds


@record
class Items:
    """Contents of a list: each item with the path on which it is in it.

    ``exact``: order and number are known. Otherwise an item may stand for several.
    ``open_why``: there may be items that were not seen.
    """

    items: tuple[tuple[PathCondition, Value], ...] = ()
    exact: bool = True
    open_why: str = ""

    def joined(self, mine: PathCondition, other: Items, theirs: PathCondition) -> Items:
        if self == other:
            return self
        if self.exact and other.exact and len(self.items) == len(other.items):  # each element is one of two
            pairs = zip(self.items, other.items)
            both = [one if one == two else (TRUE, choose([(mine, one[1]), (theirs, two[1])])) for one, two in pairs]
            return Items(tuple(both), True, self.open_why or other.open_why)
        shared = 0
        for left, right in zip(self.items, other.items):
            if left != right:
                break
            shared += 1
        items = list(self.items[:shared])
        items += _under(mine, self.items[shared:])
        items += _under(theirs, other.items[shared:])
        exact = self.exact and other.exact and len(self.items) == len(other.items) == shared
        return Items(tuple(items), exact, self.open_why or other.open_why).bounded()

    def bounded(self) -> Items:
        if len(self.items) <= BUDGET.list_items:
            return self
        return Items(self.items[: BUDGET.list_items], False, "a list too long to follow")


@record
class Entries:
    """Contents of a dict, by key value."""

    entries: tuple[tuple[Value, PathCondition, Value], ...] = ()
    open_why: str = ""

    def copied(self) -> Obj | None:
        """The mapping that was copied into it, if nothing else says what a key that is not listed may stand for."""
        others = [(key, path, value) for key, path, value in self.entries if not isinstance(key, KNOWN_KEYS)]
        if len(others) == 1 and others[0][:2] == (ALL_KEYS, TRUE) and isinstance(others[0][2], Obj):
            return others[0][2]
        return None

    def get(self, key: Value) -> Value | None:
        found = [(guard, value) for name, guard, value in self.entries if name == key]
        return choose(found) if found else None

    def holds(self, value: Value, path: PathCondition) -> bool:
        """Is it there under a key that is not known? Put in under another such key, it is no further element."""
        return any(
            each == value and there in (TRUE, path) and not isinstance(key, KNOWN_KEYS)
            for key, there, each in self.entries
        )

    def put(self, key: Value, value: Value) -> Entries:
        kept = tuple(entry for entry in self.entries if entry[0] != key)
        return replace(self, entries=(*kept, (key, TRUE, value))).bounded()

    def added(self, key: Value, path: PathCondition, value: Value) -> Entries:
        """With a key that is there on some paths only, and has the new value on ``path``."""
        entries = []
        for name, there, before in self.entries:
            kept = there if name != key else there.add(path.formula, False)
            if kept is not None:
                entries.append((name, kept, before))
        return replace(self, entries=(*entries, (key, path, value))).bounded()

    def bounded(self) -> Entries:
        if len(self.entries) <= BUDGET.dict_entries:
            return self
        return Entries(self.entries[: BUDGET.dict_entries], "a dict too large to follow")

    def joined(self, mine: PathCondition, other: Entries, theirs: PathCondition) -> Entries:
        if self == other:
            return self
        both = set(self.entries) & set(other.entries)
        entries = [entry for entry in self.entries if entry in both]
        for guard, side in ((mine, self), (theirs, other)):
            for key, path, value in side.entries:
                if (key, path, value) not in both and (joined := guard.join(path)) is not None:
                    entries.append((key, joined, value))
        return Entries(tuple(entries), self.open_why or other.open_why).bounded()


def _under(guard: PathCondition, items: tuple[tuple[PathCondition, Value], ...]) -> list[tuple[PathCondition, Value]]:
    return [(joined, value) for path, value in items if (joined := guard.join(path)) is not None]


class Store:
    """All state of one entry: locals, fields, globals and heap contents in one dict."""

    def __init__(self) -> None:
        self.state: dict[Key, Any] = {}
        self.fields: dict[Obj, dict[str, None]] = {}  # which attributes were ever assigned
        self.shared_writes = 0  # writes to anything but locals; calls without any may be memoised
        self.captured: set[int] = set()  # frames whose locals a function or class closes over
        self.lasting = 0  # above 0: writes are those of a module's import, which no branch undoes
        self._trail: list[tuple[Key, Any]] = []

    def get(self, key: Key, default: Any = None) -> Any:
        return self.state.get(key, default)

    def put(self, key: Key, value: Any, *, local: bool = False) -> None:
        if isinstance(value, (Items, Entries)):
            value = value.bounded()
        if not self.lasting:
            self._trail.append((key, self.state.get(key, _ABSENT)))
        self.state[key] = value
        self.shared_writes += not local
        if isinstance(key, tuple) and isinstance(key[0], Obj):
            self.fields.setdefault(key[0], {})[key[1]] = None

    def exchange(self, old: Obj, new: Obj) -> None:
        """What was changed in place is something else from here on, under each name and in each container."""

        def now(value: Value) -> Value:
            if isinstance(value, GuardedUnion) and any(leaf is old for _, leaf in value.options):
                return choose([(path, new if leaf is old else leaf) for path, leaf in value.options])
            return new if value is old else value

        for key, held in list(self.state.items()):
            changed = held
            if isinstance(held, Items):
                items = tuple((path, now(value)) for path, value in held.items)
                changed = held if items == held.items else replace(held, items=items)
            elif isinstance(held, Entries):
                entries = tuple((name, path, now(value)) for name, path, value in held.entries)
                changed = held if entries == held.entries else replace(held, entries=entries)
            elif isinstance(held, (Obj, GuardedUnion)):
                changed = now(held)
            if changed is not held:
                self.put(key, changed, local=isinstance(key, tuple) and isinstance(key[0], int))

    def mark(self) -> int:
        return len(self._trail)

    def changed(self, mark: int) -> Iterator[tuple[str, Any, Any]]:
        """Attributes and items that were there at ``mark`` and are others now: the name, what it was, and what it is.

        An item of a dict has no name.
        """
        first: dict[Key, Any] = {}
        for key, old in self._trail[mark:]:
            first.setdefault(key, old)
        for key, old in first.items():
            now = self.state.get(key)
            if isinstance(key, tuple) and isinstance(key[0], Obj) and old not in (_ABSENT, now):
                yield key[1], old, now
            elif isinstance(old, Entries) and isinstance(now, Entries) and now is not old:
                yield from (("", value, now.get(own)) for own, _, value in old.entries if isinstance(own, KNOWN_KEYS))

    def undo(self, mark: int, frame: int) -> dict[Key, Any]:
        """Go back to ``mark``; what had been written since then, by key.

        Locals of calls that ``frame`` made meanwhile are over, unless something closes over them.
        """
        written: dict[Key, Any] = {}
        while len(self._trail) > mark:
            key, old = self._trail.pop()
            if not (
                isinstance(key, tuple) and isinstance(key[0], int) and key[0] > frame and key[0] not in self.captured
            ):
                written.setdefault(key, self.state[key])
            if old is _ABSENT:
                del self.state[key]
            else:
                self.state[key] = old
        return written

    def join(self, arms: list[tuple[PathCondition, dict[Key, Any]]], derive: Callable[[Key], Value | None]) -> None:
        """Write back what exclusive arms wrote, each under its path.

        ``derive`` gives the value that an untouched key stands for: an arm that did not
        assign an attribute still has the one that was there before.
        """
        keys: dict[Key, None] = {}
        for _, written in arms:
            keys.update(dict.fromkeys(written))
        for key in keys:
            before = self.state.get(key, _ABSENT)
            if before is _ABSENT:
                before = derive(key)
            values = [(guard, written.get(key, before)) for guard, written in arms]
            present = [(guard, value) for guard, value in values if value is not None]
            local = isinstance(key, tuple) and isinstance(key[0], int)
            self.put(key, _join(present), local=local)


def _join(values: list[tuple[PathCondition, Any]]) -> Any:
    if not values:
        return NONE
    first = values[0][1]
    if not isinstance(first, (Items, Entries)):
        return choose(_apart(values))
    guard, merged = values[0]
    for other_guard, other in values[1:]:
        merged = merged.joined(guard, other, other_guard) if isinstance(other, type(merged)) else merged
        guard = TRUE
    return merged


def _apart(values: list[tuple[PathCondition, Value]]) -> list[tuple[PathCondition, Value]]:
    """Options that all arms share stand as they did; only the others get the condition of their arm."""
    if len(values) < 2 or not any(isinstance(value, GuardedUnion) for _, value in values):
        return values
    shared = set(options(values[0][1])).intersection(*(options(value) for _, value in values[1:]))
    if not shared:
        return values
    kept = [option for option in options(values[0][1]) if option in shared]
    for guard, value in values:
        kept += [
            (joined, leaf)
            for path, leaf in options(value)
            if (path, leaf) not in shared and (joined := guard.join(path))
        ]
    return kept
