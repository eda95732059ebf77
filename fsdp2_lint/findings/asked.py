"""What a run is asked for: the commands, the servers and the tests say it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsdp2_lint.catalogue.codes import OWN_CODES, PREFIX, UNUSED
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.target import Version

if TYPE_CHECKING:
    from fsdp2_lint.catalogue.registry import Selection
    from fsdp2_lint.findings.baseline import Baseline
    from fsdp2_lint.vocab.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is asked for beyond its paths.

    ``select`` replaces the selection of the settings; None leaves it to them. ``target`` is the torch that the code
    is to run on; None leaves that to the settings and to what the project pins. ``settings`` None means those of
    the project. ``confined`` leaves out what links inside the project name outside of it. ``steps`` is what each
    program may take, in place of the table of budgets. ``jobs`` is how many processes may be at work. ``cache``
    keeps answers for the next run, in ``cache_dir``; None: in the project's root, if there is one.
    """

    select: Sequence[str] | None = None
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    target: Version | None = None
    settings: Settings | None = None
    baseline: Baseline | None = None
    hides: bool = True  # the baseline keeps what it knows from being reported
    force_exclude: bool = False
    dump_trace: bool = False
    confined: bool = False
    steps: int | None = None
    jobs: int = 1
    cache: bool = False
    cache_dir: str | None = None

    def selection(self, given: Settings) -> tuple[list[Rule], Selection]:
        """The rules to judge. A code that does not exist raises :class:`UnknownCode`."""
        from fsdp2_lint.catalogue import registry

        select, extend, ignore = self.select, tuple(self.extend_select), tuple(self.ignore)
        if select is None:
            select, extend, ignore = given.select, extend + given.extend_select, ignore + given.ignore
        select = (*(select if select is not None else (PREFIX,)), *extend)
        return registry.select(registry.rules(), select, (*ignore, *given.answered), given.severity)

    def judged(self, rules: list[Rule], selection: Selection, given: Settings) -> list[Rule]:
        """Who asks for unneeded comments alone asks what all rules of the project say."""
        if rules or not selection.selects(UNUSED):
            return rules
        return replace(self, select=None).selection(given)[0]

    def says_what(self, given: Settings) -> bool:
        """Does anybody say what to judge?"""
        return self.select is not None or given.select is not None

    def selects(self, given: Settings) -> bool:
        """Is there anything to judge?"""
        rules, selection = self.selection(given)
        return bool(rules) or any(map(selection.selects, OWN_CODES))
