"""What a project sets for itself: ``[tool.fsdp2-lint]`` in pyproject.toml, or the file fsdp2-lint.toml."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fsdp2_lint.errors import BadSetting, nearest
from fsdp2_lint.files.reading import SETTINGS_BYTES, read, reason_of
from fsdp2_lint.vocab.target import Version

OWN_FILE, SHARED_FILE, TABLE = "fsdp2-lint.toml", "pyproject.toml", "fsdp2-lint"


@dataclass(frozen=True, slots=True)
class Settings:
    """One field for each key of ``keys.KEYS``, with the default. Paths are relative to the folder of ``file``."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    source_roots: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    rehearsals: tuple[str, ...] = ()
    target_torch: Version | None = None
    baseline: str | None = None
    zero2: bool = False  # no group is resharded after forward, and that is meant
    file: Path | None = field(default=None, compare=False)  # where they were read
    stated: frozenset[str] = field(default=frozenset(), compare=False, repr=False)  # the fields that the file names

    @property
    def answered(self) -> tuple[str, ...]:
        """Codes of what the project says it does on purpose."""
        return ("FSDP312",) if self.zero2 else ()

    def path(self, given: str) -> Path:
        """A path of the settings, absolute."""
        return (self.file.parent if self.file is not None else Path.cwd()) / given

    @property
    def roots(self) -> list[str]:
        """The folders for absolute imports."""
        return [str(self.path(each)) for each in self.source_roots]

    def check_paths(self, overlay: Mapping[str, bytes] = MappingProxyType({})) -> None:
        """BadSetting if a folder, a file or a function that is named is not there.

        ``overlay`` holds what files contain in place of what is on disk.
        """
        for path in self.source_roots:
            if not os.path.isdir(self.path(path)):
                raise BadSetting(f"{self.file}: source-roots: there is no folder {path}")
        for path in self.entry_points:
            if not os.path.isfile(self.path(file_of(path))):
                raise BadSetting(f"{self.file}: entry-points: there is no file {file_of(path)}")
            _, _, function = path.partition(".py:")
            if function and not _defines(self.path(file_of(path)), function, overlay):
                raise BadSetting(f"{self.file}: entry-points: there is no function {function} in {file_of(path)}")


def file_of(entry_point: str) -> str:
    """Of ``train.py:main`` the file."""
    file, colon, _ = entry_point.partition(".py:")
    return f"{file}.py" if colon else file


def _defines(file: Path, function: str, overlay: Mapping[str, bytes]) -> bool:
    """Has the file the function at its top? Also true of a file that cannot be read: that is said of it elsewhere."""
    import ast

    from fsdp2_lint.files.syntax import readable

    path = os.path.realpath(file)
    try:
        tree = ast.parse(readable(overlay[path] if path in overlay else read(path)))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function for node in tree.body)


def settings(start: str) -> Settings:
    """Those of the nearest folder, from ``start`` upward, that has any. What is wrong with them is a BadSetting."""
    for folder in (Path(start), *Path(start).parents):
        for name in (OWN_FILE, SHARED_FILE):
            if (found := _from(folder / name)) is not None:
                return found
    return Settings()


def settings_in(file: Path) -> Settings:
    """Those of a file that was named. That it is not there, or says nothing about this tool, is a BadSetting."""
    if not file.is_file():
        raise BadSetting(f"{file}: no such file")
    # Paths of files that are checked are free of links; the file itself may be one, and counts where it is named.
    found = _from(file.parent.resolve() / file.name)
    if found is None:
        raise BadSetting(f"{file}: has no table tool.{TABLE}")
    return found


def _from(file: Path) -> Settings | None:
    """None if there is no such file, or it says nothing about this tool."""
    try:
        text = read(file, SETTINGS_BYTES).decode("utf-8-sig", "replace")
    except IsADirectoryError:
        return None
    except OSError as error:
        if not os.path.exists(file):  # or only its folder may not be looked into
            return None
        raise BadSetting(f"{file}: {reason_of(error)}") from None
    if file.name == SHARED_FILE and TABLE not in text:
        return None  # other tools complain about files that only they read
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: Any = tomllib.loads(text)
    except ValueError as error:  # also of a number of thousands of digits
        raise BadSetting(f"{file}: {error}") from None
    except RecursionError:
        if not _is_own(file, text):
            return None
        raise BadSetting(f"{file}: is nested too deeply to be read") from None
    if file.name == SHARED_FILE:
        tools = table.get("tool")
        if not isinstance(tools, dict) or TABLE not in tools:
            return None
        table = tools[TABLE]
        if not isinstance(table, dict):
            raise BadSetting(f"{file}: tool.{TABLE} has to be a table")
    return _read(table, file)


def _is_own(file: Path, text: str) -> bool:
    """Does a file that cannot be read as a whole speak to this tool? The deep table may be another one's."""
    return file.name != SHARED_FILE or f"[tool.{TABLE}" in text


def _read(table: Mapping[str, Any], file: Path) -> Settings:
    from fsdp2_lint.settings.keys import KEYS

    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            hint = nearest(key, KEYS) or f" (known: {', '.join(KEYS)})"
            raise BadSetting(f"{file}: unknown setting {key!r}{hint}")
        try:
            values[key.replace("-", "_")] = KEYS[key].read(value)
        except ValueError as error:
            raise BadSetting(f"{file}: {key}: {error}") from None
    return Settings(**values, file=file, stated=frozenset(values))
