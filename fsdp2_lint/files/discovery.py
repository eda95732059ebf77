"""Which files are to be checked, and which of them mention FSDP2 at all.

Most trees hold little or no FSDP2, so a file is only read and searched for two words
here; parsing is for the files that have one. Nothing in this module imports the engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fsdp2_lint.errors import INTERNAL, CostsOnly
from fsdp2_lint.files import notebooks
from fsdp2_lint.files.kinds import WORDS, speaks_of_fsdp2
from fsdp2_lint.files.notebooks import SUFFIX, Notebook
from fsdp2_lint.files.patterns import EXCLUDE, Exclusion
from fsdp2_lint.files.reading import FILE_BYTES, NOTEBOOK_BYTES, TooLarge, read, read_given, reason_of
from fsdp2_lint.vocab.finding import Project

SKIPPED_FOLDERS = frozenset({"venv", "node_modules", "__pycache__", "__pypackages__", "site-packages"})
OF_BUILDS = frozenset({"build", "dist"})  # unless they are packages, which a build never makes right there
PACKAGE = "__init__.py"
ROOT_MARKERS = (".git", "pyproject.toml")
ENVIRONMENT = "pyvenv.cfg"
UNNAMED = "<stdin>"  # what came from there and has no other name
BY_NAME = "the rule for folders such as build and venv"
MOST = 20_000  # names in the folders of what may be no project at all


@dataclass(slots=True)
class Discovered:
    """What lies under the given paths. All paths are absolute and free of symbolic links."""

    files: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)  # what has one of the words
    users: int = 0  # how many of them speak of FSDP2
    explicit: dict[str, bytes] = field(default_factory=dict)
    overlay: dict[str, bytes] = field(default_factory=dict)
    errors: list[tuple[str, str]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)  # what need not have to do with FSDP2
    root: str = ""
    words: tuple[bytes, ...] = WORDS
    exclusion: Exclusion = field(default_factory=Exclusion)
    notebooks: dict[str, Notebook] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # folders named like those of builds that hold Python files
    given: set[str] = field(default_factory=set)  # the folders, and the files but for links that lead out
    whole: bool = False  # the project's root is among the given paths
    skipped: set[str] = field(default_factory=set)  # what left anything out: exclude, .gitignore, or names of folders
    cut: bool = False  # not all was walked
    confined: bool = False

    def holds(self, path: str) -> bool:
        """Is it one of the files that were given, or below one of the folders?"""
        while path not in self.given:
            path, below = os.path.dirname(path), path
            if path == below:
                return False
        return True


def discover(
    paths: Iterable[str],
    *,
    root: str | None = None,
    overlay: Mapping[str, bytes] | None = None,
    words: Iterable[str] = (),
    exclusion: Exclusion | None = None,
    force_exclude: bool = False,
    confined: bool = False,
) -> Discovered:
    """Walk folders, take files as they are named. ``overlay`` holds what files contain in place of what is on disk.

    ``words`` make a file a candidate too. What is excluded is not walked into; with ``force_exclude`` it is left out
    although it was named. ``confined``: links that lead out of the project are not followed.
    """
    paths = list(paths)
    root = root if root is not None else project_root(paths)
    exclusion = exclusion or Exclusion()
    found = Discovered(root=root, overlay=dict(overlay or {}), exclusion=exclusion, confined=confined)
    found.words = (*WORDS, *(word.encode() for word in words))
    seen: set[str] = set()
    for given in paths:
        path = os.path.realpath(given)
        if force_exclude and (why := _excluded(path, root, exclusion)):
            found.skipped.add(why)
            continue
        if not _leads_out(given, path):
            found.given.add(path)
        if os.path.isdir(path):
            found.whole |= path == root
            _walk(path, found, seen, exclusion.inside(path))
        elif path not in seen:
            seen.add(path)
            _read_explicit(given, path, found)
    found.unread += exclusion.unread.items()
    return found


def _leads_out(given: str, path: str) -> bool:
    """Is this the name of a file that lies in another project, where nothing was given to be changed?"""
    if not os.path.islink(given) or os.path.isdir(path):
        return False
    root = project_root([os.path.dirname(given) or os.curdir])
    return not below(path, root)


def walk_project(given: Discovered, take: Callable[[str, Discovered], None] | None = None) -> Discovered:
    """All files of the project, of which some were given: those are not read again, and stand where a walk has them.

    ``take`` is what to do with each of the others. Where nothing says what the project is, such as in somebody's home,
    a folder may hold anything: then the walk ends after so many names.
    """
    project = Discovered(root=given.root, words=given.words, exclusion=given.exclusion, confined=given.confined)
    project.overlay = {path: data for path, data in given.overlay.items() if path not in given.notebooks}
    known = set(given.files)

    def look(path: str, found: Discovered) -> None:
        if path in known:
            found.files.append(path)
        else:
            (take or _read_walked)(path, found)

    _walk(given.root, project, set(), given.exclusion.inside(given.root), look, None if is_root(given.root) else MOST)
    return project


def excluded_candidates(given: Discovered) -> list[str]:
    """Files of the project that the settings leave out and that have one of the words: they may be imported."""
    found = Discovered(root=given.root, words=given.words, overlay=dict(given.overlay), confined=given.confined)

    def take(path: str, found: Discovered) -> None:
        if given.exclusion.holds(path) == EXCLUDE:
            _read_walked(path, found)

    if given.exclusion.by_settings:
        every = given.exclusion.of_git().inside(given.root)
        _walk(given.root, found, set(given.files), every, take, None if is_root(given.root) else MOST)
    return found.candidates


def _excluded(path: str, root: str, exclusion: Exclusion) -> str:
    """What would leave it out in a walk of the project, it or a folder above; nothing if it would be taken."""
    folder = os.path.isdir(path)
    while path not in (root, os.path.dirname(path)):
        parent, name = os.path.split(path)
        by_name = folder and (_left_out(name) or _of_a_build(path, name))
        if why := exclusion.skips(path + os.sep * folder):
            return why
        if by_name or folder and _is_environment(path):
            return BY_NAME
        path, folder = parent, True
    return ""


def _left_out(folder: str) -> bool:
    return folder[0] == "." or folder in SKIPPED_FOLDERS


def _of_a_build(path: str, name: str) -> bool:
    """A folder that a build has its name from, and that is no package of the project."""
    return name in OF_BUILDS and not os.path.exists(os.path.join(path, PACKAGE))


def _holds_python(folder: str) -> bool:
    try:
        return any(name.endswith(".py") for name in os.listdir(folder))
    except OSError:
        return False


def _is_environment(folder: str) -> bool:
    """A virtual environment, whatever its folder is called."""
    return os.path.exists(os.path.join(folder, ENVIRONMENT))


def _walk(
    top: str,
    found: Discovered,
    seen: set[str],
    exclusion: Exclusion,
    take: Callable[[str, Discovered], None] | None = None,
    most: int | None = None,
) -> None:
    folders, names = [top], 0
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            found.errors.append((folder, reason_of(error)))
            continue
        if folder != top and any(entry.name == ENVIRONMENT for entry in entries):
            continue
        names += len(entries)
        if most is not None and names > most:
            found.cut = True
            return
        inner = []
        for entry in entries:
            name = entry.name
            try:
                if name.endswith((".py", SUFFIX)):
                    if entry.is_file():  # not a folder, a pipe or a dangling link
                        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                        skipped = exclusion.skips(entry.path) or path != entry.path and exclusion.holds(path)
                        found.skipped.update([skipped] if skipped else ())
                        if found.confined and not below(path, found.root):
                            found.unread.append((entry.path, "leads out of the project"))
                        elif path not in seen and not skipped:
                            seen.add(path)
                            (take or _read_walked)(path, found)
                elif not _left_out(name) and entry.is_dir(follow_symlinks=False):
                    if why := exclusion.skips(entry.path + os.sep):
                        found.skipped.add(why)
                        continue
                    if not _of_a_build(entry.path, name):
                        inner.append(entry.path)
                    elif _holds_python(entry.path):
                        found.left_out.append(entry.path)
            except OSError as error:
                found.errors.append((entry.path, reason_of(error)))
        folders.extend(reversed(inner))


def look_at(path: str, found: Discovered) -> bytes | None:
    """What a file holds; None if it was deleted since it was listed."""
    try:
        return found.overlay[path] if path in found.overlay else read(path, _most(path))
    except FileNotFoundError:
        return None


def _most(path: str) -> int:
    return NOTEBOOK_BYTES if path.endswith(SUFFIX) else FILE_BYTES


def _read_walked(path: str, found: Discovered) -> None:
    try:
        data = look_at(path, found)
    except TooLarge as error:
        told = found.errors if any(word in error.head for word in found.words) else found.unread
        told.append((path, reason_of(error)))
        return
    if data is None:
        return
    program = _program(path, data, found)
    if program is None:
        return
    _take(found, path, program)


def _take(found: Discovered, path: str, program: bytes) -> None:
    found.files.append(path)
    if any(word in program for word in found.words):
        found.candidates.append(path)
        found.users += speaks_of_fsdp2(program)


def _program(path: str, data: bytes, found: Discovered, *, named: bool = False) -> bytes | None:
    """What is to be checked of a file: all of it, or the program of a notebook. None if there is nothing to check."""
    if not path.endswith(SUFFIX):
        return data
    notebook = None
    try:
        with CostsOnly(path, lambda part, defect: found.errors.append((part, f"{INTERNAL}: {defect}"))):
            notebook = notebooks.read(data)
    except notebooks.NoNotebook as error:
        if named or any(word in data for word in found.words):
            found.errors.append((path, str(error)))
        return None
    if notebook is None:
        return None
    found.notebooks[path] = notebook
    found.overlay[path] = notebook.source
    return notebook.source


def _read_explicit(given: str, path: str, found: Discovered) -> None:
    if path in found.overlay:
        if len(found.overlay[path]) > _most(path):
            found.errors.append((given, reason_of(TooLarge(b"", _most(path)))))
        else:
            _take_explicit(found, path, found.overlay[path])
        return
    try:
        data = read_given(given, _most(path))
        if not os.path.isfile(path):
            # A pipe such as /dev/fd/63 can be read once only, and only by the name given.
            path = os.path.abspath(given)
            found.overlay[path] = data
    except (OSError, ValueError) as error:
        found.errors.append((given, reason_of(error)))
        return
    _take_explicit(found, path, data)


def _take_explicit(found: Discovered, path: str, data: bytes) -> None:
    program = _program(path, data, found, named=True)
    if program is None:
        return
    found.explicit[path] = program
    _take(found, path, program)


def project_root(paths: Iterable[str]) -> str:
    """The project around all given paths: imports are followed inside it and nowhere else.

    The checkout, if it is one: a pyproject.toml further down describes a part of it, whose imports may begin above.
    """
    common = common_folder(paths)
    above = [common, *map(str, Path(common).parents)]
    checkout = next((folder for folder in above if os.path.exists(os.path.join(folder, ROOT_MARKERS[0]))), None)
    return checkout or next(filter(is_root, reversed(above)), None) or _above_packages(common)


def below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def is_root(folder: str) -> bool:
    """Does something in the folder say that a project begins here?"""
    return bool(project_at(folder).markers)


def project_at(folder: str) -> Project:
    """The folder as a project, with what says that it is one."""
    return Project(folder, tuple(each for each in ROOT_MARKERS if os.path.exists(os.path.join(folder, each))))


def _above_packages(folder: str) -> str:
    """Where imports of a package begin."""
    while os.path.exists(os.path.join(folder, "__init__.py")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def outermost_package(paths: Iterable[str]) -> str:
    """The package that is in no other one and holds all these files; empty if they lie in none."""
    inside = common_folder(paths)
    above = _above_packages(inside)
    return os.path.join(above, os.path.relpath(inside, above).split(os.sep)[0]) if above != inside else ""


def common_folder(paths: Iterable[str]) -> str:
    """The innermost folder that holds all given paths."""
    places = [real if os.path.isdir(real := os.path.realpath(path)) else os.path.dirname(real) for path in paths]
    try:
        return os.path.commonpath(places)
    except ValueError:  # none, or on two drives
        return places[0] if places else os.getcwd()
