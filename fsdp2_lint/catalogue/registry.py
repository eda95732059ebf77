"""The rules of the contract: their modules, their pages, and which of them are selected."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fsdp2_lint.catalogue.codes import ALL, PREFIX, canonical, page_files, unknown
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
    wanted = canonical(code_or_name)
    for candidate in rules():
        if candidate.code == wanted:
            return candidate
    raise _no_such(code_or_name)


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

    Whoever ignores ``ALL`` ignores what nothing longer than the tool's own prefix selects.

    ``severities`` says ``error``, ``warning`` or ``info`` by code, prefix or ``ALL``. Of equal prefixes, ignoring wins.
    """

    select: tuple[str, ...] = (PREFIX,)
    ignore: tuple[str, ...] = ()
    severities: tuple[tuple[str, str], ...] = ()

    def includes(self, code: str, severity: Severity) -> bool:
        chosen = _longest(self.select, code)
        if not self.selects(code):
            return False
        if self.severity(code, severity) is Severity.INFO:  # must be asked for by more than the tool's own prefix
            return chosen > len(PREFIX) or ALL in self.select
        return True

    def selects(self, code: str) -> bool:
        ignored = [PREFIX if prefix == ALL else prefix for prefix in self.ignore]
        return _longest(self.select, code) > _longest(ignored, code)

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
    levels = tuple((_known(prefix), level) for prefix, level in severities)
    selection = Selection(tuple(map(_known, select)), tuple(map(_known, ignore)), levels)
    return [each for each in rules if selection.includes(each.code, each.severity)], selection


def _known(given: str) -> str:
    if (prefix := canonical(given)) is None:
        raise _no_such(given)
    return prefix


def _longest(prefixes: Iterable[str], code: str) -> int:
    """How much of ``code`` the best prefix names; ALL names none of it, and no match is less than that."""
    return max(
        (0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix)),
        default=-1,
    )


def _no_such(given: str) -> UnknownCode:
    return UnknownCode(f"{unknown(given.strip())} (`fsdp2-lint explain ALL` lists all)")
