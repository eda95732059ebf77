"""Who may call a definition, and from which definitions a sharding call may be reached: read off names alone.

A name counts as far as it can mean the definition. A bare name is a variable, or what the file defines or imports. An
attribute of ``self`` is one of its class or of one that some class inherits beside it; that of another object may be
anyone's. Where functions travel (a keyword, a field, a table, a decorator), the names under which they are put count
too. That still overestimates, which costs time and never a finding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from .common_names import COMMON, GENERIC
from .definitions import Definition
from .facts import Class
from .project import Project

_REGISTERS = frozenset({"register", "command", "default"})  # methods of what functions are registered with
_SUBCLASSES = "__subclasses__"
_STAR = "*"  # an import of all that another file has; the part of a name that is not written
Index = dict[str, list[Definition]]


class Callers:
    """Of the ``definitions`` of a project; ``objects`` are names of objects that functions are registered with."""

    def __init__(
        self, project: Project, definitions: list[Definition], classes: list[Class], objects: frozenset[str]
    ) -> None:
        self._project, self._objects, self._importers = project, objects, project.imported_by
        self._bare: Index = {}
        self._others: Index = {}
        self._own: Index = {}
        self._super: Index = {}
        self._computed: Index = {}
        self._stored: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for each in definitions:
            said = each.code.mentions
            kinds = (
                (self._bare, said.bare),
                (self._others, said.others),
                (self._own, said.own),
                (self._super, said.above),
            )
            for index, names in (*kinds, (self._computed, each.code.computed)):
                for name in names:
                    index.setdefault(name, []).append(each)
            for name, others in each.code.bound.items():
                self._stored.setdefault(name, []).append((each.path, others - COMMON))
        self._partly = [name for name in self._computed if name.count(_STAR)]
        self._tables = _tables(definitions)
        self._heirs = _heirs(classes)
        told = {each.cls for each in definitions if each.name == "__init_subclass__"}
        self._telling = {each.name: {base for base in each.bases if base in told} for each in classes}
        self._derived = {each.name for each in classes if each.bases}
        self._registered = {each.name: each.decorators & objects for each in classes if each.decorators & objects}
        self._above: dict[str, set[str]] = {}
        self._targets: dict[tuple[str, str], list[str]] = {}
        self._known: dict[int, list[Definition]] = {}

    def of(self, callee: Definition) -> list[Definition]:
        """Each once, in the order of the definitions for each way to call it."""
        if id(callee) not in self._known:
            self._known[id(callee)] = list({id(each): each for each in self._found(callee)}.values())
        return self._known[id(callee)]

    def _found(self, callee: Definition) -> Iterator[Definition]:
        name = callee.cls or callee.name
        yield from self._by_name(name, callee.path) if name else ()
        related = {*self._telling.get(callee.cls, ()), *self._heirs.get(callee.cls, ())}
        tables = (self._registered.get(each, ()) for each in (callee.cls, *related))
        for other in sorted(related.union(self._elsewhere(callee), self._kept(related), *tables)):
            for index in (self._bare, self._others, self._own):
                yield from index.get(other, ())
        if callee.cls:
            yield from self._by_attribute(callee, {callee.cls, *related, *self._bases(callee.cls)})
        if callee.name not in COMMON:
            for spelled in (callee.name, *(each for each in self._partly if _fits(callee.name, each))):
                yield from (each for each in self._computed.get(spelled, ()) if self._near(each.path, callee.path))
        if callee.cls in self._derived:
            yield from (*self._bare.get(_SUBCLASSES, ()), *self._others.get(_SUBCLASSES, ()))

    def _by_attribute(self, callee: Definition, classes: set[str]) -> Iterator[Definition]:
        """Who may call a method of an object: of its own, or of another one."""
        yield from (each for each in self._own.get(callee.name, ()) if self._are_kin(each.cls, callee.cls))
        yield from (each for each in self._super.get(callee.name, ()) if self._is_above(callee.cls, each.cls))
        users = {callee.path, *self._importers.get(callee.path, ())}
        for each in self._others.get(callee.name, ()):
            if callee.name not in COMMON or each.path in users or not classes.isdisjoint(each.code.mentions.typed):
                yield each

    def _by_name(self, name: str, path: str) -> Iterator[Definition]:
        """Who mentions a function or a class of a file by its own name: alone, or as a part of a module."""
        for each in self._bare.get(name, ()):
            if each.path == path or self._comes_from(each.path, name, path):
                yield each
        for each in self._others.get(name, ()):
            if each.path in (self._importing(path) if name not in COMMON else self._importers.get(path, ())):
                yield each

    def _elsewhere(self, callee: Definition) -> set[str]:
        """Under which other names it, or its class, is held."""
        origin, found = callee.path, set[str]()
        for name in {callee.cls, callee.name} - ({""} if not callee.cls else COMMON):
            for path, under in self._stored.get(name, ()):
                if path == origin or self._comes_from(path, name, origin):
                    found |= under
            for path, under in self._stored.get(f".{name}", ()):
                if callee.cls or path in self._importing(origin):
                    found |= under
        above = callee.code.decorators
        found |= set[str]().union(*(self._tables.get(decorator, ()) for decorator in above))
        found |= above & self._objects
        if above & _REGISTERS:  # ``@shard.register``: who calls ``shard`` calls this
            found |= above - _REGISTERS
        return found

    def _bases(self, cls: str) -> Iterator[str]:
        """Of which an object is said to be that may be one of this class."""
        return (base for base, heirs in self._heirs.items() if cls in heirs)

    def _kept(self, names: set[str]) -> set[str]:
        """Under which other names these are held, wherever they are defined."""
        return set[str]().union(*(under for name in names for _, under in self._stored.get(name, ())))

    def _comes_from(self, path: str, name: str, origin: str) -> bool:
        """May a bare name of a file be imported out of ``origin``, directly or not?"""
        return any(
            target == origin or target in self._importing(origin) and not self._defines(target, name)
            for target in self._sources(path, name)
        )

    def _sources(self, path: str, name: str) -> list[str]:
        """The files out of which a file imports a name."""
        if (path, name) not in self._targets:
            facts = self._project.facts(path)
            imports = facts.imports if facts is not None else {}
            wanted = dict.fromkeys((*imports.get(name, ()), *imports.get(_STAR, ())))
            found = (self._project.resolve(path, module, level) for module, level in wanted)
            self._targets[path, name] = [target for target in found if target is not None]
        return self._targets[path, name]

    def _defines(self, path: str, name: str) -> bool:
        facts = self._project.facts(path)
        return facts is not None and facts.defines(name)

    def _importing(self, path: str) -> set[str]:
        """The files that come to a file by imports, directly or not; the file itself among them."""
        if path not in self._above:
            found, queue = {path}, [path]
            while queue:
                new = [each for each in self._importers.get(queue.pop(), ()) if each not in found]
                found.update(new)
                queue += new
            self._above[path] = found
        return self._above[path]

    def _are_kin(self, one: str, other: str) -> bool:
        """May an object be of both classes?"""
        return one == other or not {one, *self._heirs.get(one, ())}.isdisjoint((other, *self._heirs.get(other, ())))

    def _is_above(self, one: str, other: str) -> bool:
        """May ``super()`` in a method of the ``other`` be it?"""
        return one != other and one not in self._heirs.get(other, ()) and self._are_kin(one, other)

    def _near(self, one: str, other: str) -> bool:
        """Are they one file, or does one import the other?"""
        return one == other or one in self._importers.get(other, ()) or other in self._importers.get(one, ())


def reaching(sharding: list[Definition], callers: Callers) -> list[Definition]:
    """All definitions from which a sharding call may be reached, the closest callers first."""
    reached = {id(each): each for each in sharding}
    queue = deque(sharding)
    while queue:
        for caller in callers.of(queue.popleft()):
            if id(caller) not in reached:
                reached[id(caller)] = caller
                queue.append(caller)
    return list(reached.values())


def _fits(name: str, spelled: str) -> bool:
    """Does a name fit that is known in part, with a star for the rest?"""
    first, _, last = spelled.partition(_STAR)
    return name.startswith(first) and name.endswith(last.rpartition(_STAR)[2])


def _tables(definitions: Iterable[Definition]) -> dict[str, set[str]]:
    """Under which names a function stores what it is given: as a decorator, it puts functions there."""
    found: dict[str, set[str]] = {}
    for definition in definitions:
        if definition.name and definition.code.keeps:
            found.setdefault(definition.name, set()).update(definition.code.keeps - GENERIC)
    return found


def _heirs(classes: Iterable[Class]) -> dict[str, set[str]]:
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
