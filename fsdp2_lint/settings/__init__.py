"""What a project sets for itself: ``[tool.fsdp2-lint]`` in pyproject.toml, or the file fsdp2-lint.toml."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fsdp2_lint.errors import BadSetting
from fsdp2_lint.vocab.target import Version, parse

OWN_FILE, SHARED_FILE, TABLE = "fsdp2-lint.toml", "pyproject.toml", "fsdp2-lint"


@dataclass(frozen=True, slots=True)
class Settings:
    """One field for each key, with the default. ``_READERS`` says how its value is read."""

    target_torch: Version | None = None
    zero2: bool = False  # no group is resharded after forward, and that is meant

    @property
    def answered(self) -> tuple[str, ...]:
        """Codes of what the project says it does on purpose."""
        return ("FSDP312",) if self.zero2 else ()


def settings(root: str) -> Settings:
    """Those of the nearest folder, from ``root`` upward, that has any. What is wrong with them is a BadSetting."""
    for folder in (Path(root), *Path(root).parents):
        for name in (OWN_FILE, SHARED_FILE):
            table = _table(folder / name)
            if table is not None:
                return _read(table, folder / name)
    return Settings()


def _table(file: Path) -> Mapping[str, Any] | None:
    """The tool's own table; None if the file says nothing about it."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if file.name == SHARED_FILE and TABLE not in text:
        return None  # other tools complain about files that only they read
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"{file}: {error}") from None
    if file.name == SHARED_FILE:
        found = found.get("tool", {}).get(TABLE)
        if found is not None and not isinstance(found, dict):
            raise BadSetting(f"{file}: tool.{TABLE} has to be a table")
    return found  # type: ignore[no-any-return]


def _read(table: Mapping[str, Any], file: Path) -> Settings:
    known = [field.name.replace("_", "-") for field in fields(Settings)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.3)
            hint = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(known)})"
            raise BadSetting(f"{file}: unknown setting {key!r}{hint}")
        name = key.replace("-", "_")
        try:
            values[name] = _READERS[name](value)
        except ValueError as error:
            raise BadSetting(f"{file}: {key}: {error}") from None
    return Settings(**values)


def _version(value: Any) -> Version:
    if not isinstance(value, str):  # 2.10 as a number would be 2.1
        raise ValueError(f'has to be text, such as "2.8", and is {value!r}')
    return parse(value)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"has to be true or false, and is {value!r}")
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {"target_torch": _version, "zero2": _switch}
