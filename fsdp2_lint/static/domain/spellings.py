"""Questions about how an unknown text is spelled: one that starts with "fs" is not "ddp", and "fsdp" does."""

from __future__ import annotations

from typing import Any

Asked = tuple[str, str]  # "startswith", "endswith" or "in", and the part
METHODS = frozenset({"startswith", "endswith"})


def spelled(text: Any, asked: Asked) -> bool:
    """Is the text spelled so? What is no text has no such part."""
    how, part = asked
    if not isinstance(text, str):
        return False
    if how == "in":
        return part in text
    return text.startswith(part) if how == "startswith" else text.endswith(part)


def may_be(constant: Any, known: tuple[tuple[Asked, bool], ...]) -> bool:
    """May an unknown be this constant, of which was asked how it is spelled?"""
    return all(spelled(constant, asked) is truth for asked, truth in known)


def follows(known: tuple[tuple[Asked, bool], ...], asked: Asked) -> bool | None:
    """What the answers to other questions say; None where they leave it open."""
    if any(truth and _implies(other, asked) for other, truth in known):
        return True
    if any(not truth and _implies(asked, other) for other, truth in known):
        return False
    return False if any(truth and _excludes(other, asked) for other, truth in known) else None


def _implies(one: Asked, other: Asked) -> bool:
    """Is each text that is spelled in one way spelled in the other way as well?"""
    return other[0] in (one[0], "in") and spelled(one[1], other)


def _excludes(one: Asked, other: Asked) -> bool:
    """Can no text begin, or end, in both ways?"""
    return one[0] == other[0] != "in" and not spelled(one[1], other) and not spelled(other[1], one)


def all_alike(constants: Any, asked: Asked) -> bool | None:
    """The answer that all of these give; None where they differ."""
    answers = {spelled(each, asked) for each in constants}
    return answers.pop() if len(answers) == 1 else None
