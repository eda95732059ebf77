"""Files of the checked program, read and parsed once; imports resolved to files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...errors import INTERNAL, CostsOnly, debugging, in_words
from ...files.configurations import Named, configuration_files, names_in
from ...files.digests import UNREAD, digest
from .facts import SEED, Facts, facts_of
from .leading import leading_to
from .lookup import Lookup, Surroundings, all_loaded, all_loading, loading
from .module import Module, Unreadable, bind, parse, read, rebuild
from .pins import PINS
from .questions import Questions
from .reads import Reads
from .relevance import Relevance
from .trees import Trees

T = TypeVar("T")
SyntaxTree = ast.Module  # the class below has a method of the name ``ast``


class Project(Questions):
    """The files of a project, and what is known of each.

    ``scope`` are those in which sharding code is looked for, ``programs`` those in which a program may begin (None: in
    any of the scope).
    """

    def __init__(self, root: Path, overlay: dict[str, bytes] | None = None, source_roots: Sequence[Path] = ()) -> None:
        super().__init__(str(root), overlay, [str(folder) for folder in source_roots])
        self.root = root.resolve()
        self._scope: list[str] | None = None  # None: all files
        self._in_scope: frozenset[str] | None = None
        self.programs: frozenset[str] | None = None
        self.entry_points: list[str] = []  # files, or file:function, that the project names as its own
        self.unreadable: dict[str, Unreadable] = {}
        self.broken: list[tuple[str, str]] = []  # what a defect of the analysis cost, and the defect
        self._bytes: dict[str, bytes] = dict(overlay or {})
        self._asts: dict[str, ast.Module] = {}
        self._modules: dict[str, Module | None] = {}
        self.trees: Trees | None = None  # what earlier runs of this process have parsed
        self.target = None
        self.reads = Reads()
        self._digests: dict[str, str] = {}
        self.known_facts: dict[str, Facts] = {}  # by the digest of a file
        self.facts_asked: set[str] = set()  # of those, what this run needed
        self._answers = {}
        self._questions = {
            "mentions": lambda text: sum(data.count(text.encode()) for data in self._files_read()),
            "anywhere": lambda pattern: any(map(re.compile(pattern.encode()).search, self._files_read())),
            **{kind: partial(self._pinned, pin) for kind, pin in PINS.items()},
            "relevant": lambda path: path in self.relevant,
            "sharding_methods": lambda name: self.sharding_methods.get(name, []),
            "in_turn": lambda name: name in self.called_in_turn,
            "reaching": self._reaching_in,
            "leading": self._leading_to,
            "saying": self._saying,
            "loaders": lambda path: [*filter(self.checked, loading(path, self.imported_by))],
            "naming": lambda about: self._importers(*about.split("\0")),
            "deriving": self._importers,
            "dotted": partial(Lookup.dotted, self),
            "below": lambda about: self._names_below(*about.split("\0")),
            "named": lambda about: self._named_under(*about.split("\0")),
            "naming_under": lambda about: self._naming_under(*about.split("\0")),
            "loading": lambda path: all_loading(path, self.imported_by),
            "loaded": lambda path: all_loaded(path, self.imported_by),
            "heirs": lambda about: self._heirs(*about.split("\0")),
        }
        self.relevance = Relevance(self)
        self.imported_by: dict[str, list[str]] = {}  # filled by ``entries``
        self.checked: Callable[[str], bool] = lambda path: True  # no test that nobody named; likewise
        self.relevant: set[str] = set()  # files from which sharding code can be reached by imports; likewise
        self.reaching: dict[str, set[tuple[str, int]]] = {}  # what mentions sharding code, by file: name and row
        self.reaching_classes: dict[str, set[str]] = {}  # likewise
        self.sharding_methods: dict[str, list[tuple[str, str]]] = {}  # names of which each method shards: file, class
        self.called_in_turn: set[str] = set()  # names of methods that lead to sharding, and that call their own name
        self._named: list[Named] | None = None  # what the configuration files name, once it was asked for
        self.look: Callable[[], None] = lambda: None  # called every few hundred steps: raises if nobody waits any more

    def take(self, files: Sequence[str], within: Surroundings | None) -> None:
        """What is to be analysed, and what else there is."""
        self.files = list(files)
        if within is not None:
            self.files, self._scope = within.files, list(files)
            self.programs, self.imported_by = within.programs, within.imported_by

    @property
    def texts(self) -> dict[str, bytes]:
        """What was read."""
        return self._bytes

    @property
    def scope(self) -> list[str]:
        return self.files if self._scope is None else self._scope

    def in_scope(self, path: str) -> bool:
        """Is sharding code looked for in this file?"""
        if self._in_scope is None:
            self._in_scope = frozenset(self.scope)
        return path in self._in_scope

    def begins_in(self, path: str) -> bool:
        """May a program begin here?"""
        return self.programs is None or path in self.programs

    @contextmanager
    def reading(self) -> Iterator[Reads]:
        """What is asked inside, apart from what was asked before; afterwards it is a part of that."""
        outer, self.reads = self.reads, Reads()
        try:
            yield self.reads
        finally:
            outer.use(self.reads)
            self.reads = outer

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """What is asked inside is a part of an answer, which is noted itself."""
        outer, self.reads = self.reads, Reads()
        try:
            yield
        finally:
            self.reads = outer

    def take_over(self, reads: Reads, unreadable: Iterable[str], defects: Iterable[tuple[str, str]]) -> None:
        """What was asked, and what went wrong, in another process or run."""
        self.reads.use(reads)
        self.broken += defects
        for path in unreadable:
            self.module(path)  # which tells of it here, too

    def means(self, here: str, name: str, level: int, but: str = "") -> str | None:
        found = super().means(here, name, level, but)
        self.reads.imports[here, name, level, but] = found
        return found

    def data(self, path: str) -> bytes:
        self.reads.files.add(path)
        return self._data(path)

    def _data(self, path: str) -> bytes:
        if path not in self._bytes:
            self.look()
            self._bytes[path] = read(path)
        return self._bytes[path]

    def digest(self, path: str) -> str:
        """Of what a file holds; a word for those that cannot be read."""
        self.reads.files.add(path)
        if path not in self._digests:
            try:
                self._digests[path] = digest(self._data(path))
            except Unreadable:
                self._digests[path] = UNREAD
        return self._digests[path]

    def _leading_to(self, name: str) -> list[str]:
        """In the files that say the name, and those that import these."""
        saying = self._saying(name)
        files = dict.fromkeys(each for path in saying for each in (path, *all_loading(path, self.imported_by)))
        with self._aside():
            return leading_to(filter(None, map(self._facts_alone, files)), name)

    def _facts_alone(self, path: str) -> Facts | None:
        """What a file says by names, of which perhaps nothing else is asked: its syntax tree is not kept."""
        unread = path not in self._asts and path not in self.unreadable
        found = self.facts(path)
        if unread:
            self._asts.pop(path, None)
            self.unreadable.pop(path, None)
        return found

    def _saying(self, text: str) -> list[str]:
        found = []
        for path in self.files:
            with suppress(Unreadable):
                found += [path] if text.encode() in self._data(path) else []
        return found

    def _names_below(self, here: str, package: str) -> list[str]:
        with self._aside():
            files = self.modules_below(here, package)
        stems = [Path(file).parent.name if Path(file).name == "__init__.py" else Path(file).stem for file in files]
        return [f"{package}.{stem}" for stem in stems]

    def _named_in_files(self) -> list[Named]:
        if self._named is None:
            root = str(self.root)
            self._named = [each for path in configuration_files(root) for each in names_in(path, root)]
        return self._named

    def _named_under(self, *keys: str) -> list[str]:
        return sorted({name for above, name in self._named_in_files() if above[-len(keys) :] == keys})

    def _naming_under(self, last: str, *keys: str) -> list[str]:
        above = (path for path, _ in self._named_in_files() if path[-1] == last and path[-2 - len(keys) : -2] == keys)
        return sorted({path[-2] for path in above})

    def _files_read(self) -> Iterator[bytes]:
        for path in self.files:
            with suppress(Unreadable):
                yield self._data(path)

    def _reaching_in(self, path: str) -> tuple[list[tuple[str, int]], list[str]]:
        """Of one file the functions, by name and row, and the classes from which sharding code can be reached."""
        return sorted(self.reaching.get(path, ())), sorted(self.reaching_classes.get(path, ()))

    def ast(self, path: str) -> SyntaxTree | None:
        """The file's plain syntax tree; None (and a note in ``unreadable``) if it has none."""
        self.reads.files.add(path)
        if path not in self._asts and path not in self.unreadable:
            try:
                self._asts[path] = parse(path, self.data(path))
            except Unreadable as error:
                self.unreadable[path] = error
            except Exception as error:
                self.unreadable[path] = self.broke(path, error)
        return self._asts.get(path)

    def facts(self, path: str) -> Facts | None:
        """What the file says by names alone; None (and a note in ``unreadable``) if it is not read."""
        name = self.digest(path)
        known = self.known_facts.get(name)
        if known is None and (tree := self.ast(path)) is not None:
            known = self.known_facts[name] = facts_of(tree)
        self.facts_asked.add(name)
        return known

    def module(self, path: str) -> Module | None:
        self.reads.files.add(path)
        if path not in self._modules:
            self._modules[path] = kept = self.trees.get(path, self.digest(path)) if self.trees is not None else None
            if kept is None and (tree := self.ast(path)) is not None:
                try:
                    self._modules[path] = module = self._load(path, tree)
                    if self.trees is not None:
                        self.trees.put(path, self.digest(path), module)
                    if SEED.encode() not in self.data(path):  # else its functions are listed at the end
                        del self._asts[path]  # as much memory as the other tree
                except Unreadable as error:
                    self.unreadable[path] = error
                except Exception as error:
                    self.unreadable[path] = self.broke(path, error)
        return self._modules[path]

    def broke(self, path: str, error: Exception) -> Unreadable:
        """A defect costs this file, not the run."""
        if debugging():
            raise error
        return Unreadable(path, f"{INTERNAL}: {in_words(error)}")

    def careful(self, read: Callable[[Project, str], Iterable[T]], path: str) -> list[T]:
        """What ``read`` finds in a file; nothing where it has a defect, which is noted."""
        with CostsOnly(path, self.note):
            return list(read(self, path))
        return []

    def note(self, part: str, defect: str) -> None:
        self.broken.append((part, defect))

    def _load(self, path: str, tree: SyntaxTree) -> Module:
        is_package = Path(path).name == "__init__.py"
        name = Path(path).parent.name if is_package else Path(path).stem
        module = Module(name, path, rebuild(tree, name, path, is_package), is_package)
        module.mentions_torch = b"torch" in self.data(path)
        bind(module, module.tree.body)
        return module

    def _pinned(self, pin: Callable[[str, Path], object], path: str) -> object:
        return pin(path, self.root)

    def _heirs(self, path: str, name: str) -> list[str]:
        found = []
        with self._aside():
            for each in filter(self.checked, self.all_loading(path)):
                if (facts := self.facts(each)) is not None:
                    names = {name, *facts.functions[-1].bound.get(name, ())}
                    found += [each] if any(not names.isdisjoint(cls.bases) for cls in facts.classes) else []
        return found

    def _importers(self, path: str, *names: str) -> list[str]:
        """Those of a package's file that re-exports ``path`` are among them.

        Whoever asks rests on the files that are named here, and of the others on it only that they are not.
        """
        found = dict.fromkeys(self.imported_by.get(path, ()))
        package = str(Path(path).parent / "__init__.py")
        if package in found:
            found.update(dict.fromkeys(self.imported_by.get(package, ())))
        with self._aside():
            known = [(each, facts) for each in found if (facts := self.facts(each)) is not None]
        if names:
            return [each for each, facts in known if not facts.at_import.isdisjoint(names)]
        return [each for each, facts in known if any(cls.bases for cls in facts.classes)]
