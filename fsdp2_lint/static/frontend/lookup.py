"""Imports, read off a file's text, and the files that they mean. Nothing is parsed here, and astroid is not loaded."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...vocab.declared import record

NEVER_LOCAL = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
# Names that projects also give to modules deep inside: theirs only in the root, which is on the path of scripts there.
_LOCAL_IN_ROOT = frozenset({"transformers", "accelerate"})
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+"
    rb"(\([^()]*(?:\([^()\n]*\)[^()]*)*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))",  # what opens inside is of a comment
    re.MULTILINE,
)
_NAME = re.compile(rb"[A-Za-z_]\w*")
# ``import_module("a.b")``, and by names that are put together: ``import_module(f"{__name__}.{name}")``.
_BY_NAME = re.compile(rb"\b(?:import_module|__import__)\s*\(\s*(?:[rRbBfFuU]{0,2}([\"'])([.\w]*))?(\1?)")
_CALLS_FOR_IMPORT = (b"import_module", b"__import__")  # a look for plain words takes a tenth of the time
_DOTTED = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)[\"']")  # such as those that a tuple has, one by one
_LISTS = re.compile(rb"\b(?:iter_modules|walk_packages|listdir|scandir|glob|iterdir|__path__|__package__|__name__\})")
_INIT = "__init__.py"


@record
class Surroundings:
    """The project around the files that are to be analysed. Programs may begin in ``programs`` only."""

    files: list[str]
    programs: frozenset[str]
    imported_by: dict[str, list[str]]


class Lookup:
    """Finds files by the imports that name them. Nothing outside ``root`` and the source roots is read.

    ``files`` are those of the project: a package that no folder above its importer holds is looked for among them.
    """

    def __init__(self, root: str, overlay: Mapping[str, bytes] | None = None, source_roots: Sequence[str] = ()) -> None:
        self.files: list[str] = []
        self._top = os.path.realpath(root)
        self._below_top = self._top.rstrip(os.sep) + os.sep
        self._source_folders = [os.path.realpath(folder) for folder in source_roots]
        self._only_here: Mapping[str, bytes] = overlay or {}  # files that need not be on disk
        self._beyond_disk = _with_folders(self._only_here)
        self.meanings: dict[tuple[str, str, int, str], str | None] = {}  # of all names that were asked for so far
        self._listings: dict[str, frozenset[str]] = {}
        self._above: dict[str, list[str]] = {}  # by a folder, where absolute names are looked for
        self._begun: dict[tuple[str, str], bool] = {}
        self._packages: dict[str, list[str]] | None = None

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        """The file that ``import name`` (or ``from`` with dots) in ``importer`` means, or None."""
        here = os.path.dirname(importer)
        found = self.means(here, name, level)
        return self.means(here, name, level, importer) if found == importer else found

    def means(self, here: str, name: str, level: int, but: str = "") -> str | None:
        """The file that a name means in the files of a folder, or None; ``but``: the one that asks for another."""
        key = (here, name, level, but)
        if key not in self.meanings:
            self.meanings[key] = self._look_up(*key)
        return self.meanings[key]

    def _look_up(self, here: str, name: str, level: int, importer: str) -> str | None:
        parts = [part for part in name.split(".") if part]
        if level:
            for _ in range(level - 1):
                here = os.path.dirname(here)
            return self._file(here, parts) if f"{here}{os.sep}".startswith(self._below_top) else None
        if not parts or parts[0] in NEVER_LOCAL:
            return None
        if parts[0] in _LOCAL_IN_ROOT:
            return None if self._is(self._top, _INIT) else self._file(self._top, parts)
        if here not in self._above:
            self._above[here] = [*self._source_folders, *self._around(here)]
        for folder in self._above[here]:
            if (found := self._file(folder, parts)) and found != importer:
                return found
        return self._by_suffix(parts, here) or self._root_as_package(parts)

    def _around(self, here: str) -> Iterator[str]:
        """The folder of a file and those above it, without packages: a name in those needs dots."""
        folder, above = here, os.path.dirname(here)
        yield here
        while folder not in (self._top, above):
            folder, above = above, os.path.dirname(above)
            if folder == self._top or not self._is(folder, _INIT):  # scripts run with the root on their path
                yield folder

    def _root_as_package(self, parts: list[str]) -> str | None:
        """A checkout whose root folder is the package itself, under a name that no file has."""
        if len(parts) < 2 or not self._is(self._top, _INIT):
            return None
        return self._file(self._top, parts[1:])

    def _by_suffix(self, parts: list[str], here: str) -> str | None:
        """A package that lives in some source folder of the project, such as ``src/``: of several, the nearest one."""
        if self._packages is None:
            self._packages = {}
            for file in self.files:
                folder, name = os.path.split(file)
                top, holder = (name.rpartition(".")[0], folder)
                if name == _INIT:
                    holder, top = os.path.split(folder)
                if not self._is(holder, _INIT):
                    self._packages.setdefault(top, []).append(holder)
        holders = [(self._file(folder, parts), folder) for folder in self._packages.get(parts[0], ())]
        found = {file: folder for file, folder in holders if file is not None}
        if len(found) > 1:
            near = {file: len(_common(folder, here)) for file, folder in found.items()}
            found = {file: found[file] for file in found if near[file] == max(near.values())}
        return next(iter(found)) if len(found) == 1 else None

    def dotted(self, path: str) -> str:
        """The name of a file as a module, with the packages that it lies in."""
        folder, name = os.path.split(path)
        parts = [] if name == _INIT else [os.path.splitext(name)[0]]
        while self._is(folder, _INIT) and os.path.dirname(folder) != folder:
            folder, package = os.path.split(folder)
            parts.insert(0, package)
        return ".".join(parts)

    def modules_below(self, here: str, package: str, level: int = 0) -> list[str]:
        """The files that are modules of a package, which may do without an ``__init__.py``."""
        if found := self.means(here, package, level):
            return self.modules_in(os.path.dirname(found)) if os.path.basename(found) == _INIT else []
        parts = package.split(".")
        for folder in self._above.get(here, ()):
            if below := self.modules_in(os.path.join(folder, *parts)):
                return below
        return []

    def modules_in(self, folder: str) -> list[str]:
        """The files that are modules of a folder, and the packages in it."""
        names = {os.path.splitext(name)[0] for name in self._listing(folder)}
        names |= {os.path.basename(path) for path in self._beyond_disk if os.path.dirname(path) == folder}
        names.discard("__init__")
        return [file for name in sorted(names) if name.isidentifier() and (file := self._file(folder, [name]))]

    def _file(self, folder: str, parts: Sequence[str]) -> str | None:
        if parts and not self._begins(folder, parts[0]):
            return None
        base = os.path.join(folder, *parts)
        above, name = os.path.split(base)
        if self._is(base, _INIT):
            return os.path.join(base, _INIT)
        return f"{base}.py" if name and self._is(above, f"{name}.py") else None

    def _begins(self, folder: str, name: str) -> bool:
        """Is there anything in a folder that the first part of an import can mean? Mostly not, and it is soon seen."""
        known = self._begun.get((folder, name))
        if known is None:
            listing = self._listing(folder)
            known = name in listing or f"{name}.py" in listing or os.path.join(folder, name) in self._beyond_disk
            self._begun[folder, name] = known
        return known

    def _is(self, folder: str, name: str) -> bool:
        path = os.path.join(folder, name)
        return name in self._listing(folder) and os.path.isfile(path) or path in self._only_here

    def _listing(self, folder: str) -> frozenset[str]:
        """The names in a folder: most of what an import may mean is not there, and asking for each is dear."""
        if folder not in self._listings:
            below = folder.startswith(self._below_top) and folder != self._top
            try:
                there = not below or os.path.basename(folder) in self._listing(os.path.dirname(folder))
                self._listings[folder] = frozenset(os.listdir(folder)) if there else frozenset()
            except (OSError, ValueError):
                self._listings[folder] = frozenset()
        return self._listings[folder]


def _with_folders(paths: Iterable[str]) -> frozenset[str]:
    """The paths, without the ends of their names, and all folders above them."""
    found: set[str] = set()
    for path in paths:
        path = os.path.splitext(path)[0]
        while path not in found:
            found.add(path)
            path = os.path.dirname(path)
    return frozenset(found)


def _common(one: str, other: str) -> str:
    try:
        return os.path.commonpath([one, other])
    except ValueError:  # on two drives
        return ""


def imports_of(lookup: Lookup, path: str, data: bytes) -> Iterator[str]:
    """The files that a file imports anywhere in it."""
    seen: set[tuple[str, int]] = set()
    for match in _IMPORT.finditer(data):
        base, names, plain = match.groups()
        if plain is not None:
            wanted = [(part.split(b" as ")[0].strip().decode("ascii", "replace"), 0) for part in plain.split(b",")]
        else:
            text = base.decode("ascii", "replace")
            level = len(text) - len(text.lstrip("."))
            text = text.lstrip(".")
            wanted = [(text, level)]
            wanted += [(f"{text}.{name.decode()}" if text else name.decode(), level) for name in _NAME.findall(names)]
        for name, level in wanted:
            if (name, level) not in seen and (name or level):
                seen.add((name, level))
                if target := lookup.resolve(path, name, level):
                    yield target
    yield from _by_computed_names(lookup, path, data)


def _by_computed_names(lookup: Lookup, path: str, data: bytes) -> Iterator[str]:
    """What calls import: a name that is written, or any module of the package with which the name begins.

    Where not even that is written, they are the modules beside a file that goes through a folder, or else those whose
    full names stand somewhere in the file.
    """
    found: dict[str, None] = {}
    for match in _BY_NAME.finditer(data) if any(word in data for word in _CALLS_FOR_IMPORT) else ():
        quote, written, closed = match.groups()
        text = (written or b"").decode("ascii", "replace")
        name = text.lstrip(".")
        level = len(text) - len(name)
        if quote and closed and not text.endswith("."):
            target = lookup.resolve(path, name, level)
            found.update(dict.fromkeys([target] if target else []))
        elif name:
            found.update(dict.fromkeys(lookup.modules_below(os.path.dirname(path), name.rpartition(".")[0], level)))
        elif level or _LISTS.search(data):
            found.update(dict.fromkeys(lookup.modules_in(os.path.dirname(path))))
        else:
            written_down = {each.decode() for each in _DOTTED.findall(data)}
            found.update((target, None) for each in sorted(written_down) if (target := lookup.resolve(path, each)))
    yield from (each for each in found if each != path)


def loading(path: str, imported_by: Mapping[str, list[str]]) -> list[str]:
    """The files that load ``path``: a package by all imports of something in it, from outside or in scripts."""
    folder, name = os.path.split(path)
    below = folder + os.sep
    found = dict.fromkeys(imported_by.get(path, ()))
    for inside in imported_by if name == _INIT else ():
        for importer in imported_by[inside] if inside.startswith(below) else ():
            if not importer.startswith(below) or importer not in imported_by:
                found[importer] = None
    return [each for each in found if each != path]


def all_loading(path: str, imported_by: Mapping[str, list[str]]) -> list[str]:
    """A file, and those that load it, directly or through others."""
    return _closure(path, lambda each: loading(each, imported_by))


def all_loaded(path: str, imported_by: Mapping[str, list[str]]) -> list[str]:
    """Those that a file imports, directly or through others."""
    imports: dict[str, list[str]] = {}
    for target, importers in imported_by.items():
        for importer in importers:
            imports.setdefault(importer, []).append(target)
    return [each for each in _closure(path, lambda each: imports.get(each, [])) if each != path]


def _closure(path: str, further: Callable[[str], list[str]]) -> list[str]:
    found, queue = {path}, [path]
    while queue:
        more = [each for each in further(queue.pop()) if each not in found]
        found.update(more)
        queue += more
    return sorted(found)
