"""Verdicts per model and program: each rule as violated, upheld or unknown, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fsdp2_lint.files.source import display_path, display_text, line_of, place
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output import JSON_VERSION
from fsdp2_lint.output.catalogue import rule_as_json
from fsdp2_lint.output.terminal import Paint, clean, defused, defused_json, fitted
from fsdp2_lint.report.codec import label_as_json, site_as_json
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.target import in_digits

# -- the contract in five lines: what a job is asked first, each point with the rules that belong to it
POINTS = {
    "launch, device and ranks": "18",
    "sharding, bottom-up": "239",
    "model(x)": "45",
    "optimizer and steps": "6",
    "checkpoints": "7",
}
"""By the hundreds of codes: launch and ranks; initialisation, sharding and migration; forward and precision."""
_WORST = ("violated", "unknown", "upheld")
NOT_JUDGED = "not judged"


class Said(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def word(self) -> str: ...


def points(rules: Iterable[Said]) -> Iterator[tuple[str, str, str]]:
    """Of each point the name, its word, and what that comes from; of a rule the worst that is said of it counts."""
    words: dict[str, str] = {}
    for rule in rules:
        words[rule.code] = min(words.get(rule.code, "upheld"), rule.word, key=_WORST.index)
    for name, hundreds in POINTS.items():
        mine = {code: word for code, word in sorted(words.items()) if code.removeprefix("FSDP")[:1] in hundreds}
        yield name, min(mine.values(), key=_WORST.index, default=NOT_JUDGED), _counted(mine)


def _counted(words: dict[str, str]) -> str:
    """``FSDP601, FSDP605; 3 unknown, 9 upheld``"""
    violated = [code for code, word in words.items() if word == "violated"]
    numbers = [(word, sum(1 for each in words.values() if each == word)) for word in _WORST[1:]]
    rest = ", ".join(f"{number} {word}" for word, number in numbers if number)
    return "; ".join(filter(None, (", ".join(violated), rest)))


if TYPE_CHECKING:
    from fsdp2_lint.static.result import ModelVerdicts, ProgramVerdicts, RuleVerdict
    from fsdp2_lint.vocab.finding import Finding, Label
    from fsdp2_lint.vocab.rule import Rule
    from fsdp2_lint.vocab.target import Version

FORMATS = ("text", "json")
_KINDS = {"script": "the script", "part": "what no script was seen to call in", "file": "the text of"}
ROOM = 40  # columns: where reasons would have fewer, they stand below their rule
_SETTLING = {
    "runtime": "fsdp2-lint run --check SCRIPT, then fsdp2-lint contract --confirm fsdp2-lint-report",
    "preflight": "fsdp2-lint preflight SCRIPT",
}
MOST_CALLS = 5  # that are named of what was not followed: one line for a program
_STYLES = {"violated": "error", "upheld": "bold", "unknown": "warning"}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A rule that is violated at a place which belongs to no single model, such as a save or an import."""

    code: str
    evidence: tuple[Label, ...]
    word: str = "violated"
    reasons: tuple[str, ...] = ()
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """What is said of the models, of the programs where it belongs to no model, and violations that are in neither."""

    models: Sequence[ModelVerdicts]
    programs: Sequence[ProgramVerdicts]
    elsewhere: Sequence[Elsewhere]

    @property
    def rules(self) -> list[RuleVerdict | Elsewhere]:
        of_models = [rule for model in self.models for rule in model.rules]
        return [*of_models, *(rule for program in self.programs for rule in program.rules), *self.elsewhere]

    @property
    def violated(self) -> bool:
        return any(rule.word == "violated" for rule in self.rules)


def contract(
    findings: Iterable[Finding], models: Sequence[ModelVerdicts], programs: Sequence[ProgramVerdicts]
) -> Contract:
    return Contract(models, programs, elsewhere(findings, [*models, *programs]))


def elsewhere(findings: Iterable[Finding], judged: Iterable[ModelVerdicts | ProgramVerdicts]) -> list[Elsewhere]:
    """What the verdicts leave out: a contract with such a violation does not hold."""
    told = {(rule.code, label.site) for each in judged for rule in each.rules for label in rule.evidence}
    return [
        Elsewhere(finding.code, (finding.primary, *finding.related))
        for finding in findings
        if (finding.code, finding.primary.site) not in told
    ]


def render_text(told: Contract, names: Mapping[str, str], *, color: bool = False, width: int | None = None) -> str:
    """Five lines for all, what each model and each program keeps, and how far each program was followed.

    ``width`` is that of a terminal, to which the reasons are fitted.
    """
    paint = Paint(color)
    parts = [[paint("In five points", "bold"), *_in_short(told, paint, width)]]
    for model in told.models:
        head = f"{paint(clean(model.label), 'bold')} ({clean(place(model.site))})"
        parts.append([head, *_rules(model.rules, names, paint, width)])
    for program in told.programs:
        if program.rules:
            where = f"{_KINDS[program.kind]} {clean(display_path(program.site.path))}"
            head = f"{paint(clean(program.name), 'bold')} ({where})"
            parts.append([head, *_rules(program.rules, names, paint, width)])
    if told.elsewhere:
        parts.append([paint("Elsewhere in the program", "bold"), *_rules(told.elsewhere, names, paint, width)])
    if extents := [*_extents(told.programs, width)]:
        parts.append([paint("What was followed", "bold"), *extents])
    if ways := [*_settling(told)]:
        parts.append([paint("What settles the unknown", "bold"), *ways])
    return defused("".join("\n".join(lines) + "\n\n" for lines in parts))


def _in_short(told: Contract, paint: Paint, columns: int | None) -> Iterator[str]:
    width = max(map(len, POINTS))
    indent = width + len(NOT_JUDGED) + 6
    for name, word, why in points(told.rules):
        shown = paint(f"{word:<{len(NOT_JUDGED)}}", _STYLES.get(word, "bold"))
        first, *rest = fitted(why, columns, indent, indent)
        yield f"  {name:<{width}}  {shown}  {first}".rstrip()
        yield from rest


def _settling(told: Contract) -> Iterator[str]:
    """The commands that decide what is open."""
    words = {word for rule in told.rules if rule.word == "unknown" for word in rule.settled_by.split(", ")}
    for word, command in _SETTLING.items():
        if word in words:
            yield f"  {word:<{max(map(len, _SETTLING))}}  {command}"


def _extents(programs: Sequence[ProgramVerdicts], width: int | None) -> Iterator[str]:
    """How far each program was followed, and by which calls it was left."""
    for program in programs:
        if program.kind == "file":
            continue
        end = "to its end" if program.ended else "not to its end"
        calls = [clean(call) for call in program.unfollowed]
        more = f", and {len(calls) - MOST_CALLS} more" if len(calls) > MOST_CALLS else ""
        left = f"; not into {', '.join(calls[:MOST_CALLS])}{more}" if calls else ""
        first, *rest = fitted(f"{clean(program.name)} {end}{left}", width, 2, 4)
        yield from (f"  {first}", *rest)


def _rules(
    rules: Sequence[RuleVerdict | Elsewhere], names: Mapping[str, str], paint: Paint, columns: int | None
) -> Iterator[str]:
    width = max((len(names.get(rule.code, "")) for rule in rules), default=0)
    for rule in rules:
        word = paint(f"{rule.word:<8}", _STYLES[rule.word])
        head = f"  {word} {rule.code} {names.get(rule.code, ''):<{width}}"
        indent = len("  violated ") + len(rule.code) + width + 3
        beside = columns is None or columns - indent >= ROOM
        indent = indent if beside else 6
        blanks = " " * indent
        told = [blanks + line.lstrip() for each in _because(rule) for line in fitted(each, columns, indent, indent)]
        yield f"{head}  {told.pop(0).lstrip() if beside and told else ''}".rstrip()
        yield from told


def _because(rule: RuleVerdict | Elsewhere) -> Iterator[str]:
    places: dict[str, dict[str, None]] = {}  # a rule mostly holds at several places for one reason
    for label in rule.evidence:
        places.setdefault(label.message, {})[clean(line_of(label.site))] = None
    for message, found in places.items():
        yield f"{listed([*found])}: {clean(display_text(message))}"
    yield from (clean(display_text(reason)) for reason in rule.reasons)
    if rule.settled_by:
        yield f"settled by: {clean(rule.settled_by)}"


def render_json(contract: Contract, rules: Sequence[Rule], target: Version, unseen: Unseen = ALL_SEEN) -> str:
    """The rules themselves, what holds of each model and each program, and what is violated elsewhere."""
    names = {rule.code: rule.name for rule in rules}
    told = {
        "version": JSON_VERSION,
        "target_torch": in_digits(target),
        "points": [{"point": name, "verdict": word, "why": why} for name, word, why in points(contract.rules)],
        "rules": [rule_as_json(rule) for rule in rules],
        "models": [
            {"model": model.label, **site_as_json(model.site), "rules": _as_json(model.rules, names)}
            for model in contract.models
        ],
        "programs": [_program_as_json(program, names) for program in contract.programs],
        "elsewhere": _as_json(contract.elsewhere, names),
        "errors": [*unseen.failures],
        "warnings": [*unseen.notes],
    }
    return defused_json(json.dumps(told, indent=2) + "\n")


def _program_as_json(program: ProgramVerdicts, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "program": program.name,
        "kind": program.kind,
        "filename": program.site.path,
        "rules": _as_json(program.rules, names),
        "followed_to_its_end": program.ended,
        "not_followed": list(program.unfollowed),
    }


def _as_json(rules: Sequence[RuleVerdict | Elsewhere], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "code": rule.code,
            "name": names.get(rule.code, ""),
            "verdict": rule.word,
            "evidence": [label_as_json(label) for label in rule.evidence],
            "reasons": list(rule.reasons),
            "settled_by": rule.settled_by or None,
        }
        for rule in rules
    ]
