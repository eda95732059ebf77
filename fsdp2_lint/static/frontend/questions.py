"""What the analysis asks of a project as a whole: an answer is noted with its question, for a cache to compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from astroid import nodes

from ...vocab.target import Version
from .leading import ANY
from .lookup import Lookup
from .reads import Question, Reads


class Questions(Lookup):
    """On each of these more than one file has a say. ``_questions``: who knows the answer, by kind."""

    target: Version | None  # the torch that was stated for all files
    reads: Reads  # of whoever is at work
    _answers: dict[Question, Any]
    _questions: dict[str, Callable[[str], Any]]

    def _ask(self, kind: str, about: str) -> Any:
        """A question on which more than one file has a say: the answer, which is noted with the question."""
        key = (kind, about)
        if key not in self._answers:
            self._answers[key] = self._questions[kind](about)
        self.reads.asked.add(key)
        return self._answers[key]

    def answer(self, question: Question) -> str:
        """The answer to a question, to be compared with that of another run."""
        return repr(self._ask(*question)) if question[0] in self._questions else ""

    def mentions(self, text: str) -> int:
        """How often is this written in the files that are checked?"""
        found: int = self._ask("mentions", text)
        return found

    def anywhere(self, pattern: str) -> bool:
        """Is there a match for a regular expression in the files that are checked?"""
        found: bool = self._ask("anywhere", pattern)
        return found

    def leads_to(self, names: frozenset[str], name: str) -> bool:
        """May code that says these names come to another one, in the files that are checked?"""
        found: list[str] = self._ask("leading", name)
        return ANY in found or not names.isdisjoint(found)

    def saying(self, text: str) -> list[str]:
        """The files that are checked in which this is written."""
        found: list[str] = self._ask("saying", text)
        return found

    def is_relevant(self, path: str) -> bool:
        """Can sharding code be reached from this file by imports?"""
        found: bool = self._ask("relevant", path)
        return found

    def sharding_methods_of(self, name: str) -> list[tuple[str, str]]:
        """Of classes whose methods of this name shard all: the file and the class."""
        found: list[tuple[str, str]] = self._ask("sharding_methods", name)
        return found

    def is_called_in_turn(self, name: str) -> bool:
        """Do methods of this name call that of other objects, as a model's ``apply_fsdp`` does for each block?"""
        found: bool = self._ask("in_turn", name)
        return found

    def modules_of(self, importer: str, package: str) -> list[str]:
        """The full names of the modules that a package of the project has."""
        found: list[str] = self._ask("below", f"{os.path.dirname(importer)}\0{package}")
        return found

    def named_under(self, keys: tuple[str, ...]) -> list[str]:
        """The dotted names that the configuration files of the project have under these keys, whatever is above."""
        found: list[str] = self._ask("named", "\0".join(keys))
        return found

    def naming_under(self, keys: tuple[str, ...], last: str) -> list[str]:
        """The keys below these that have a name under the ``last`` one."""
        found: list[str] = self._ask("naming_under", "\0".join((last, *keys)))
        return found

    def may_shard(self, path: str, node: nodes.NodeNG, owner: str = "") -> bool:
        """Can this function, or another method of its class, reach a sharding call, by the names that it mentions?"""
        functions, classes = self._ask("reaching", path)
        name = getattr(node, "name", "")
        return owner in classes or (name, node.lineno) in functions

    def oldest_torch(self, path: str) -> Version | None:
        """The oldest torch that a file has to run on: the one that was stated, or what the project says; else None."""
        if self.target is not None:
            return self.target
        found: Version | None = self._ask("oldest", path)
        return found

    def transformers_before_5(self, path: str) -> bool:
        """Does the project say that a file runs on no transformers but those before 5?"""
        found: bool = self._ask("before_5", path)
        return found

    def loaders_of(self, path: str) -> list[str]:
        """Files whose imports load ``path``, but for tests that nobody named."""
        found: list[str] = self._ask("loaders", path)
        return found

    def dotted(self, path: str) -> str:
        found: str = self._ask("dotted", path)
        return found

    def all_loading(self, path: str) -> list[str]:
        """Files whose imports load ``path``, directly or through others."""
        found: list[str] = self._ask("loading", path)
        return found

    def loaded_by(self, path: str) -> list[str]:
        """Files that ``path`` imports, directly or through others."""
        found: list[str] = self._ask("loaded", path)
        return found

    def heirs_of(self, path: str, name: str) -> list[str]:
        """Files that load ``path``, directly or not, and define classes with a base of this name or another for it."""
        found: list[str] = self._ask("heirs", f"{path}\0{name}")
        return found

    def importers_naming(self, path: str, names: Iterable[str]) -> list[str]:
        """Files that import ``path``, and mention one of ``names`` while they are imported themselves."""
        found: list[str] = self._ask("naming", "\0".join([path, *sorted(names)]))
        return found

    def importers_deriving(self, path: str) -> list[str]:
        """Files that import ``path``, and define classes that have bases."""
        found: list[str] = self._ask("deriving", path)
        return found
