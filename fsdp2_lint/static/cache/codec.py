"""Values of frozen classes as JSON and back, by the types of their fields. Nothing but data is ever made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ...vocab.finding import Site

T = TypeVar("T")
Decoder = Callable[[Any, list[Site]], Any]


def dumps(value: object) -> bytes:
    """Places are told again and again: each is written once, in a table, and so is each path."""
    paths: dict[str, int] = {}
    sites: dict[Site, int] = {}
    body = _encode(value, sites)
    rows = [[paths.setdefault(site.path, len(paths)), *_numbers(site)] for site in sites]
    return json.dumps([list(paths), rows, body], separators=(",", ":")).encode()


def loads(kind: type[T], data: bytes) -> T:
    """The value that was written as one of ``kind``. ValueError, TypeError, KeyError or IndexError if it is none."""
    paths, rows, body = json.loads(data)
    sites = [Site(paths[path], *numbers) for path, *numbers in rows]
    decoder: Decoder = _decoder(kind)  # type: ignore[arg-type]  # whatever is a class can be hashed
    value: T = decoder(body, sites)
    return value


def kept(kind: type[T], data: bytes | None) -> T | None:
    """The value that was kept; None for nothing, and for something else, which another version has put there."""
    try:
        return loads(kind, data) if data is not None else None
    except (ValueError, TypeError, LookupError):
        return None


def _numbers(site: Site) -> tuple[int, ...]:
    return site.row, site.column, site.end_row, site.end_column, site.cell


def _encode(value: Any, sites: dict[Site, int]) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Site):
        return sites.setdefault(value, len(sites))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return [[_encode(key, sites), _encode(each, sites)] for key, each in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_encode(each, sites) for each in value]
    if is_dataclass(value):
        return [_encode(getattr(value, each.name), sites) for each in fields(value)]
    raise TypeError(f"{type(value).__name__} is not kept")


@cache
def _decoder(kind: Any) -> Decoder:
    """For one type, as it is written at a field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Site:
        return lambda data, sites: sites[data]
    if origin in (Union, UnionType):
        return _optional(*(each for each in arguments if each is not NoneType))
    if origin in (list, set, frozenset) or origin is tuple and arguments[-1:] == (...,):
        return _many(origin, _decoder(arguments[0]))
    if origin is tuple:
        parts = [_decoder(each) for each in arguments]
        return lambda data, sites: tuple(part(each, sites) for part, each in zip(parts, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(origin, _decoder(arguments[0]), _decoder(arguments[1] if len(arguments) > 1 else int))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda data, sites: kind(data)
    if is_dataclass(kind):
        return _record(kind)
    return lambda data, sites: data


def _optional(kind: Any, *others: Any) -> Decoder:
    """What may be missing; of several types all must be as JSON has them."""
    decoder = _decoder(kind)
    return lambda data, sites: None if data is None else data if others else decoder(data, sites)


def _many(kind: Callable[[Any], Any], decoder: Decoder) -> Decoder:
    return lambda data, sites: kind([decoder(each, sites) for each in data])


def _mapping(origin: type, key: Decoder, value: Decoder) -> Decoder:
    kind = origin if issubclass(origin, dict) else dict
    return lambda data, sites: kind({key(name, sites): value(each, sites) for name, each in data})


def _record(kind: Any) -> Decoder:
    hints = get_type_hints(kind)
    parts = [_decoder(hints[each.name]) for each in fields(kind)]
    return lambda data, sites: kind(*(part(each, sites) for part, each in zip(parts, data, strict=True)))
