"""What the files of a project define, and which files import which, read off names alone."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import SEED, Class, Function
from .lookup import imports_of
from .module import Unreadable
from .project import Project


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A function or a module's own statements, and the file that has it."""

    path: str
    code: Function

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def owner(self) -> str:
        return self.code.owner

    @property
    def cls(self) -> str:
        """The class whose method it is, also of one that stands below an ``if`` or ``try``."""
        return self.code.owner or (self.code.holder[0] if self.code.holder is not None else "")


def mentions_seed(project: Project, path: str) -> bool:
    """Does code (not only a comment or a string) speak of ``fully_shard``?"""
    try:
        data = project.data(path)
    except Unreadable as error:
        project.unreadable.setdefault(path, error)
        return False
    facts = project.facts(path) if SEED.encode() in data else None
    return facts is not None and facts.speaks


def importers_of(project: Project, seeds: list[str]) -> list[str]:
    """Files that import a seed, directly or not."""
    for path in project.scope if not project.imported_by else ():
        if path not in project.unreadable:
            for target in imports_of(project, path, project.data(path)):
                project.imported_by.setdefault(target, []).append(path)
    return _above(project, seeds)


def importers_of_one(project: Project, seed: str) -> list[str]:
    """The same of one file, when all imports are known."""
    return _above(project, [seed])


def _above(project: Project, files: list[str]) -> list[str]:
    found: dict[str, None] = {}
    queue = list(files)
    while queue:
        for importer in project.imported_by.get(queue.pop(), ()):
            if importer not in found and importer not in files and project.in_scope(importer):
                found[importer] = None
                queue.append(importer)
    return list(found)


def definitions_in(project: Project, path: str) -> list[Definition]:
    """The functions of a file, methods too, and last its own statements."""
    facts = project.facts(path)
    return [Definition(path, function) for function in facts.functions] if facts is not None else []


def classes_in(project: Project, paths: list[str]) -> list[Class]:
    """The classes of the top level of some files."""
    return [each for path in paths if (facts := project.facts(path)) is not None for each in facts.classes]


def with_bases(project: Project, paths: list[str]) -> list[str]:
    """The files, and those in which the base classes of their classes stand, and the bases of these."""
    found = dict.fromkeys(paths)
    wanted = [(path, base) for path in paths for base in _bases(project, path)]
    seen = set(wanted)
    while wanted:
        path, name = wanted.pop()
        facts = project.facts(path)
        for module, level in facts.imports.get(name, ()) if facts is not None else ():
            if (home := project.resolve(path, module, level)) is not None:
                found.setdefault(home)
                new = [(home, name), *((home, base) for base in _bases(project, home))]
                wanted += [each for each in new if each not in seen]
                seen.update(new)
    return [*found]


def _bases(project: Project, path: str) -> list[str]:
    facts = project.facts(path)
    return [base for each in facts.classes for base in each.bases] if facts is not None else []


def objects_in(project: Project, paths: list[str]) -> frozenset[str]:
    """Objects of the project's own classes, such as a registry, that some files make or import, by their names."""
    wanted = frozenset(paths)
    imported = [path for path, importers in project.imported_by.items() if not wanted.isdisjoint(importers)]
    known = [facts for path in {*paths, *imported} if (facts := project.facts(path)) is not None]
    own = {each.name for facts in known for each in facts.classes}
    return frozenset(name for facts in known for name, made_by in facts.objects.items() if made_by in own)
