"""What objects are called in messages."""

from __future__ import annotations

from ..domain.values import BELOW, PICK, SOME, Obj

IMPORTED = "what a computed name imports"


def describe(obj: Obj) -> str:
    """An object in the words of the source."""
    words = _origin(obj.atom.origin) or obj.atom.kind
    for item in obj.path:
        if item == SOME:
            words = words if words == IMPORTED else f"a part of {words}"
        elif isinstance(item, str):
            words += "'s modules" if item.startswith(BELOW) else item if item.startswith("[") else f".{item}"
        elif item[0] != PICK:
            words += "(…)"
    return words


def _origin(words: str) -> str:
    """Where an object began, without what only the interpreter knows of."""
    if words.startswith(("__getitem__", "an item of a dict", "one of many values", "an entry of a registry.")):
        maker = words.rsplit(".", 1)
        return f"the result of {maker[1]}" if len(maker) > 1 else "an entry of a registry"
    return words
