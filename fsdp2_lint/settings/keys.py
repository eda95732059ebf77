"""The keys of the settings: what each may hold, how it is read, and its part of the JSON Schema.

The two say the same: where the schema has a pattern, reading applies that pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fsdp2_lint.files.gitignore import CLASSES
from fsdp2_lint.vocab.target import NEWEST, OLDEST, known

LEVELS = ("error", "warning", "info")
# A script, or a module behind -m, and words: a quote that is opened is closed, and nothing is escaped.
_COMMAND = r"""^(-m [A-Za-z_][A-Za-z0-9_.]*|[^\s'"\\-][^\s'"\\]*)( ([^\n'"\\]|'[^'\n\\]*'|"[^"\n\\]*")*)?$"""
_NUMBER = "(0|[1-9][0-9]{0,2})"
_REST = r"([^0-9\n][^\n]*)?$"
_VERSION = rf"^{_NUMBER}\.{_NUMBER}{_REST}"
_MINORS = "|".join(str(minor) for minor in range(OLDEST[1], NEWEST[1] + 1))  # of one major version, so far
_KNOWN = rf"^{NEWEST[0]}\.({_MINORS}){_REST}"
# No backslash but to escape what .gitignore files give a meaning: `legacy\*.py` would fit nothing, and say nothing. Nor
# would a bracket that is not closed, or of a class that does not exist.
_ESCAPED = r"\\[#!\s\[\]]"
_CLASS = rf"\[:({'|'.join(CLASSES)}):\]"
_HELD = rf"{_CLASS}|{_ESCAPED}|\[(?!:)"  # besides plain characters: right behind the [ also a ]
_BRACKET = rf"\[([!^]|(?![!^]))({_HELD}|[^\\\[])({_HELD}|[^\\\[\]])*\]"
_PATTERN = rf"^!?(?!\.\./)(?![\s#!])({_ESCAPED}|{_BRACKET}|[^\\\[])+$"
_ENTRY = r"^.+\.(ipynb|py(:[^:.\s]+)?)$"


@dataclass(frozen=True, slots=True)
class Key:
    """``read`` turns what TOML holds into the field of ``Settings``; ValueError says what it should have been."""

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    about: str


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"has to be text, and is {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError(f"has to be a list of text, and is {value!r}")
    return tuple(value)


def _code(value: str) -> str:
    from fsdp2_lint.catalogue.codes import canonical, unknown

    # What the schema has no pattern for is not forgiven here either: blanks around a code.
    if (code := canonical(value)) is None or value != value.strip():
        raise ValueError(unknown(value))
    return code


def _codes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"has to be a list of codes, and is {value!r}")
    return tuple(map(_code, value))


def _pattern(value: str) -> str:
    if not re.search(_PATTERN, value):
        how = "below this folder and with /, each [ with its ]"
        raise ValueError(f"has to be a pattern as in .gitignore files, {how}, and is {value!r}")
    value = re.sub(r"^(!?)\./?$", r"\1*", value)  # all of the folder: .gitignore files do not know this form,
    return re.sub(r"^(!?)\./", r"\1/", value)  # nor this one, and people write both


def _patterns(value: Any) -> tuple[str, ...]:
    return tuple(map(_pattern, _texts(value)))


def _entries(value: Any) -> tuple[str, ...]:
    for entry in _texts(value):
        if not re.search(_ENTRY, entry):
            raise ValueError(f"has to hold files, or functions in them, such as train.py:main, and holds {entry!r}")
    return tuple(value)


def _commands(value: Any) -> tuple[str, ...]:
    for command in _texts(value):
        if not re.search(_COMMAND, command):
            raise ValueError(
                f"has to hold scripts with their arguments, such as train.py --lr 1, and holds {command!r}"
            )
    return tuple(value)


def _table(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"has to be a table of {what}, and is {value!r}")
    return value


def _codes_by_pattern(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = _table(value, 'patterns, such as "legacy/*" = ["FSDP9"]')
    found = []
    for pattern, codes in table.items():
        try:
            found.append((_pattern(pattern), _codes(codes)))
        except ValueError as error:
            raise ValueError(f"{pattern!r}: {error}") from None
    return tuple(found)


def _levels(value: Any) -> tuple[tuple[str, str], ...]:
    table = _table(value, 'codes, such as FSDP206 = "error"')
    for code, level in table.items():
        if level not in LEVELS:
            raise ValueError(f"{code!r}: has to be one of {', '.join(LEVELS)}, and is {level!r}")
    return tuple((_code(code), level) for code, level in table.items())


def _version(value: Any) -> tuple[int, int]:
    if not isinstance(value, str):  # 2.10 as a number would be 2.1
        raise ValueError(f'has to be text, such as "2.8", and is {value!r}')
    if not re.search(_VERSION, value):
        raise ValueError(f"{value!r} is not a version of torch (expected, for example, 2.8)")
    return known(value)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"has to be true or false, and is {value!r}")
    return value


_CODE_SCHEMA = {"$ref": "#/$defs/code"}
_CODES = {"type": "array", "items": _CODE_SCHEMA}
_SWITCH = {"type": "boolean"}

KEYS: Mapping[str, Key] = {
    "select": Key(_codes, _CODES, "Codes, prefixes or names to judge, in place of all rules but advice."),
    "extend-select": Key(_codes, _CODES, "Codes, prefixes or names to judge in addition, such as advice (info)."),
    "ignore": Key(_codes, _CODES, "Codes, prefixes or names to leave out. The longer prefix wins."),
    "per-file-ignores": Key(
        _codes_by_pattern,
        {"type": "object", "propertyNames": {"pattern": _PATTERN}, "additionalProperties": _CODES},
        "Codes to leave out where a finding's first place lies in a file that fits the pattern. With ! before it: in"
        " all other files.",
    ),
    "severity": Key(
        _levels,
        {"type": "object", "propertyNames": _CODE_SCHEMA, "additionalProperties": {"enum": list(LEVELS)}},
        "Another severity for findings of a code or prefix. Info is off unless it is selected.",
    ),
    "exclude": Key(
        _patterns,
        {"type": "array", "items": {"type": "string", "pattern": _PATTERN}},
        "Files and folders not to walk into, as patterns of .gitignore.",
    ),
    "respect-gitignore": Key(_switch, _SWITCH, "Leave out what .gitignore files name. True unless set."),
    "source-roots": Key(
        _texts,
        {"type": "array", "items": {"type": "string", "minLength": 1}},
        "Folders in which absolute imports are looked up first, such as src.",
    ),
    "entry-points": Key(
        _entries,
        {"type": "array", "items": {"type": "string", "pattern": _ENTRY}},
        "Where programs begin: files (train.py), or functions in them (train.py:main). They come first.",
    ),
    "rehearsals": Key(
        _commands,
        {"type": "array", "items": {"type": "string", "pattern": _COMMAND}},
        "What `preflight` rehearses where no script is named: scripts with their arguments, such as train.py --lr 1.",
    ),
    "target-torch": Key(
        _version, {"type": "string", "pattern": _KNOWN}, "The torch that the code runs on, such as 2.8."
    ),
    "baseline": Key(
        _text, {"type": "string", "minLength": 1}, "A file of known findings, which are not reported again."
    ),
    "zero2": Key(_switch, _SWITCH, "reshard_after_forward=False everywhere is meant (FSDP312)."),
}
