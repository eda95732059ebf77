"""What the files of a project define, and who mentions whom, read off names alone.

That overestimates who can reach a sharding call, which costs time and never a finding.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .facts import SEED, Class, Function
from .lookup import imports_of
from .module import Unreadable
from .project import Project

# Names that say nothing about which function is meant; they count within one file only.
GENERIC = frozenset(
    """main run train forward setup build apply init __init__ __call__ wrapper get load save step fit call
    create make wrap prepare execute start launch configure update test eval evaluate inner decorator func fn
    from_config from_pretrained __enter__ __post_init__ model wrapped to initialize process""".split()
)  # fmt: skip


_REGISTERS = frozenset({"register", "command", "default"})  # methods of what functions are registered with


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
    def callable_names(self) -> set[str]:
        names = {self.name} if self.name and self.name not in GENERIC else set()
        return names | ({self.owner} if self.owner else set())

    def may_be(self, spelled: str) -> bool:
        """Does a name fit that is known in part, with a star for the rest?"""
        first, star, last = spelled.partition("*")
        if not star:
            return self.name == spelled
        return self.name.startswith(first) and self.name.endswith(last.rpartition("*")[2])


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


def objects_in(project: Project, paths: list[str]) -> frozenset[str]:
    """Objects of the project's own classes, such as a registry, that some files make or import, by their names."""
    wanted = frozenset(paths)
    imported = [path for path, importers in project.imported_by.items() if not wanted.isdisjoint(importers)]
    known = [facts for path in {*paths, *imported} if (facts := project.facts(path)) is not None]
    own = {each.name for facts in known for each in facts.classes}
    return frozenset(name for facts in known for name, made_by in facts.objects.items() if made_by in own)


def reaching(
    definitions: list[Definition],
    sharding: list[Definition],
    classes: list[Class],
    objects: frozenset[str],
    importers: dict[str, list[str]],
) -> list[Definition]:
    """All definitions from which a sharding call may be reached, by name."""
    mentioned_by: dict[str, list[Definition]] = {}
    for definition in definitions:
        for name in definition.code.mentions:
            mentioned_by.setdefault(name, []).append(definition)
    stored_as: dict[str, set[str]] = {}
    for definition in definitions:
        for name, others in definition.code.bound.items():
            stored_as.setdefault(name, set()).update(others - GENERIC)
    computed: dict[str, list[Definition]] = {}
    for definition in definitions:
        for spelled in definition.code.computed:
            computed.setdefault(spelled, []).append(definition)
    tables, heirs = _tables(definitions), _heirs(classes)
    told = {each.owner for each in definitions if each.name == "__init_subclass__"}
    kin = {each.name: {base for base in each.bases if base in told} | heirs.get(each.name, set()) for each in classes}
    derived = {each.name for each in classes if each.bases}
    reached: dict[int, Definition] = {id(each): each for each in sharding}
    queue = deque(sharding)  # breadth first: the closest callers come first
    while queue:
        callee = queue.popleft()
        names = callee.callable_names | kin.get(callee.owner, set())
        for name in list(names):
            names |= stored_as.get(name, set())
        for decorator in callee.code.decorators:
            names |= tables.get(decorator, set())
        names |= callee.code.decorators & objects
        if callee.code.decorators & _REGISTERS:  # ``@shard.register``: who calls ``shard`` calls this
            names |= callee.code.decorators - _REGISTERS
        callers = [caller for name in sorted(names) for caller in mentioned_by.get(name, ())]
        if callee.name in GENERIC:
            users = {callee.path, *importers.get(callee.path, ())}
            callers += [caller for caller in mentioned_by.get(callee.name, ()) if caller.path in users]
        if callee.name not in GENERIC:
            asking = [each for spelled, those in computed.items() if callee.may_be(spelled) for each in those]
            callers += [each for each in asking if _near(each.path, callee.path, importers)]
        if callee.owner in derived:
            callers += mentioned_by.get("__subclasses__", ())
        for caller in callers:
            if id(caller) not in reached:
                reached[id(caller)] = caller
                queue.append(caller)
    return list(reached.values())


def _near(one: str, other: str, importers: dict[str, list[str]]) -> bool:
    """Are they one file, or does one import the other?"""
    return one == other or one in importers.get(other, ()) or other in importers.get(one, ())


def _tables(definitions: list[Definition]) -> dict[str, set[str]]:
    """Under which names a function stores what it is given: as a decorator, it puts functions there."""
    found: dict[str, set[str]] = {}
    for definition in definitions:
        for others in definition.code.bound.values() if definition.name else ():
            found.setdefault(definition.name, set()).update(others - GENERIC)
    return found


def _heirs(classes: list[Class]) -> dict[str, set[str]]:
    """By the name of a class the names of those that are derived from it: an object of one of these has its methods."""
    found: dict[str, set[str]] = {}
    for each in classes:
        for base in each.bases:
            found.setdefault(base, set()).add(each.name)
    changed = True
    while changed:
        below = {name: each | {heir for one in each for heir in found.get(one, ())} for name, each in found.items()}
        found, changed = below, below != found
    return found
