"""The keys of the settings: what each may hold, how it is read, and its part of the JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fsdp2_lint.vocab.target import parse

LEVELS = ("error", "warning", "info")
_CODE = r"^(FSDP[0-9]{0,3}|ALL)$"


@dataclass(frozen=True, slots=True)
class Key:
    """``read`` turns what TOML holds into the field of ``Settings``; ValueError says what it should have been."""

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    about: str


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"has to be text, and is {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"has to be a list of text, and is {value!r}")
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in _texts(value))


def _table(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"has to be a table of {what}, and is {value!r}")
    return value


def _codes_by_pattern(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = _table(value, 'patterns, such as "legacy/*" = ["FSDP9"]')
    found = []
    for pattern, codes in table.items():
        try:
            found.append((pattern, _codes(codes)))
        except ValueError as error:
            raise ValueError(f"{pattern}: {error}") from None
    return tuple(found)


def _levels(value: Any) -> tuple[tuple[str, str], ...]:
    table = _table(value, 'codes, such as FSDP206 = "error"')
    for code, level in table.items():
        if level not in LEVELS:
            raise ValueError(f"{code}: has to be one of {', '.join(LEVELS)}, and is {level!r}")
    return tuple((code.upper(), level) for code, level in table.items())


def _version(value: Any) -> tuple[int, int]:
    if not isinstance(value, str):  # 2.10 as a number would be 2.1
        raise ValueError(f'has to be text, such as "2.8", and is {value!r}')
    return parse(value)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"has to be true or false, and is {value!r}")
    return value


_CODES = {"type": "array", "items": {"type": "string", "pattern": _CODE}}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_SWITCH = {"type": "boolean"}

KEYS: Mapping[str, Key] = {
    "select": Key(_codes, _CODES, "Codes or prefixes to judge, in place of all clauses but advice."),
    "extend-select": Key(_codes, _CODES, "Codes or prefixes to judge in addition, such as advice (info)."),
    "ignore": Key(_codes, _CODES, "Codes or prefixes to leave out. The longer prefix wins."),
    "per-file-ignores": Key(
        _codes_by_pattern,
        {"type": "object", "additionalProperties": _CODES},
        "Codes to leave out where a finding's first place lies in a file that fits the pattern.",
    ),
    "severity": Key(
        _levels,
        {
            "type": "object",
            "propertyNames": {"pattern": _CODE},
            "additionalProperties": {"enum": list(LEVELS)},
        },
        "Another severity for findings of a code or prefix. Info is off unless it is selected.",
    ),
    "exclude": Key(_texts, _TEXTS, "Files and folders not to walk into, as patterns of .gitignore."),
    "respect-gitignore": Key(_switch, _SWITCH, "Leave out what .gitignore files name. True unless set."),
    "source-roots": Key(_texts, _TEXTS, "Folders in which absolute imports are looked up first, such as src."),
    "entry-points": Key(
        _texts, _TEXTS, "Where programs begin: files (train.py), or functions in them (train.py:main). They come first."
    ),
    "target-torch": Key(
        _version, {"type": "string", "pattern": r"^[0-9]+\.[0-9]+"}, "The torch that the code runs on, such as 2.8."
    ),
    "baseline": Key(_text, {"type": "string"}, "A file of known findings, which are not reported again."),
    "zero2": Key(_switch, _SWITCH, "reshard_after_forward=False everywhere is meant (FSDP312)."),
}
