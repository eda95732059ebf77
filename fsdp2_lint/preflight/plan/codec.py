"""The values of a rehearsal as JSON, and back: the process that reads a report is another one than wrote it."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ...report.codec import finding_as_json, finding_from_json
from ...vocab.finding import Finding

T = TypeVar("T")


def as_json(value: Any) -> Any:
    """Of a dataclass its fields by name, of a tuple a list; a finding as the other commands write it."""
    if isinstance(value, Finding):
        return finding_as_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return value


def from_json(kind: type[T], values: Any) -> T:
    """ValueError, TypeError or LookupError where the values are not of this kind. Fields that are not known are left
    out, as a later version may have written them.
    """
    found: T = _read(kind, values)
    return found


def _read(kind: Any, values: Any) -> Any:
    if kind is Finding:
        return finding_from_json(values)
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, values)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], each) for each in _of(list, values))
    if get_origin(kind) is types.UnionType:
        choices = get_args(kind)
        if values is None and type(None) in choices:
            return None
        plain = [each for each in choices if not is_dataclass(each) and type(values) is each]
        return _read((plain or [each for each in choices if each is not type(None)])[0], values)
    return _of(kind, values)


def _object(kind: type, values: Any) -> Any:
    hints, given = _hints(kind), _of(Mapping, values)
    return kind(**{name: _read(hint, given[name]) for name, hint in hints.items() if name in given})


def _of(kind: Any, values: Any) -> Any:
    if not isinstance(values, kind) or (kind is int and isinstance(values, bool)):
        raise ValueError(f"{values!r} is not a {kind.__name__}")
    return values


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}
