"""The rules of the contract: their modules, their pages, and which of them are selected."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fsdp2_lint.catalogue.codes import ALL, OWN_CODES, PREFIX, page_files, unknown
from fsdp2_lint.errors import UnknownCode
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import Rule

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule that has a module in ``rules/``, sorted by code."""
    classes: dict[str, type[Rule]] = {}
    for path in page_files():
        topic, file = os.path.split(os.path.splitext(path)[0])
        # By name and not by an import statement: in a checkout the type checkers know the
        # folder as `rules`, and a rule must not exist under two names.
        module = importlib.import_module(f"fsdp2_lint.rules.{os.path.basename(topic)}.{file}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__:
                if getattr(value, "code", None) is None:
                    continue  # a base class that several rules share
                if value.code in classes:
                    raise RuntimeError(
                        f"{value.code} is defined in {classes[value.code].__module__} and in {module.__name__}"
                    )
                classes[value.code] = value
    return tuple(classes[code]() for code in sorted(classes))


def rule(code_or_name: str) -> Rule:
    wanted = code_or_name.strip()
    for candidate in rules():
        if wanted.upper() == candidate.code or wanted.lower() == candidate.name:
            return candidate
    raise UnknownCode(_no_such(wanted, [name for each in rules() for name in (each.code, each.name)]))


def page(rule: Rule) -> str:
    """The Markdown page of a rule: its specification, documentation and examples."""
    module = sys.modules[type(rule).__module__].__file__ or ""
    with open(f"{os.path.splitext(module)[0]}.md", encoding="utf-8") as file:
        return file.read()


def pages() -> dict[str, str]:
    """Code to page, for every rule."""
    return {each.code: page(each) for each in rules()}


@dataclass(frozen=True, slots=True)
class Selection:
    """Prefixes to select and to ignore, and other severities by prefix. The longer prefix wins; none selects nothing.

    ``severities`` says ``error``, ``warning`` or ``info`` by code, prefix or ``ALL``. Of equal prefixes, ignoring wins.
    """

    select: tuple[str, ...] = (PREFIX,)
    ignore: tuple[str, ...] = ()
    severities: tuple[tuple[str, str], ...] = ()

    def includes(self, code: str, severity: Severity) -> bool:
        chosen = _longest(self.select, code)
        if chosen <= _longest(self.ignore, code):
            return False
        if self.severity(code, severity) is Severity.INFO:  # must be asked for by more than the tool's own prefix
            return chosen > len(PREFIX) or ALL in self.select
        return True

    def selects(self, code: str) -> bool:
        return _longest(self.select, code) > _longest(self.ignore, code)

    def severity(self, code: str, severity: Severity) -> Severity:
        """What the project says of a code, or else what the finding has."""
        longest = _longest([prefix for prefix, _ in self.severities], code)
        for prefix, level in self.severities:
            if longest >= 0 and _longest([prefix], code) == longest:
                return Severity(level)
        return severity

    def shows(self, finding: Finding) -> bool:
        return self.includes(finding.code, finding.severity)

    def graded(self, finding: Finding) -> Finding:
        """With the severity that the project gives it."""
        return replace(finding, severity=self.severity(finding.code, finding.severity))


def select(
    rules: Iterable[Rule],
    select: Sequence[str] = (PREFIX,),
    ignore: Sequence[str] = (),
    severities: Sequence[tuple[str, str]] = (),
) -> tuple[list[Rule], Selection]:
    """The selected rules. An unknown prefix raises :class:`UnknownCode`."""
    known = list(rules)
    _checked([prefix for prefix, _ in severities], known)
    selection = Selection(_checked(select, known), _checked(ignore, known), tuple(severities))
    return [each for each in known if selection.includes(each.code, each.severity)], selection


def _checked(prefixes: Sequence[str], known: Sequence[Rule]) -> tuple[str, ...]:
    named = {**{name: code for code, name in OWN_CODES.items()}, **{each.name: each.code for each in known}}
    checked = []
    for given in (part.strip() for part in prefixes):
        prefix = named.get(given, given.upper())
        if prefix != ALL and not any(code.startswith(prefix) for code in named.values()):
            raise UnknownCode(_no_such(given, [*named.values(), *named]))
        checked.append(prefix)
    return tuple(checked)


def _longest(prefixes: Iterable[str], code: str) -> int:
    """How much of ``code`` the best prefix names; ALL names none of it, and no match is less than that."""
    return max(
        (0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix)),
        default=-1,
    )


def _no_such(given: str, known: Sequence[str]) -> str:
    return f"{unknown(given, known)} (`fsdp2-lint rules` lists all)"
