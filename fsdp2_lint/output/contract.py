"""Verdicts per model: each clause as violated, upheld or unknown, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsdp2_lint.files.source import display_text, line_of, place
from fsdp2_lint.findings.unseen import ALL_SEEN, Unseen
from fsdp2_lint.output.catalogue import clause_as_json
from fsdp2_lint.output.terminal import Paint, clean, defused, defused_json
from fsdp2_lint.report.codec import label_as_json, site_as_json
from fsdp2_lint.vocab.target import in_digits
from fsdp2_lint.vocab.words import listed

if TYPE_CHECKING:
    from fsdp2_lint.static.result import ClauseVerdict, ModelVerdicts
    from fsdp2_lint.vocab.finding import Finding, Label
    from fsdp2_lint.vocab.rule import Rule
    from fsdp2_lint.vocab.target import Version

FORMATS = ("text", "json")
_STYLES = {"violated": "error", "upheld": "bold", "unknown": "warning"}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A clause that is violated at a place which belongs to no single model, such as a save or an import."""

    code: str
    evidence: tuple[Label, ...]
    word: str = "violated"
    reasons: tuple[str, ...] = ()
    settled_by: str = ""


def elsewhere(findings: Iterable[Finding], models: Iterable[ModelVerdicts]) -> list[Elsewhere]:
    """What the verdicts of the models leave out: a contract with such a violation does not hold."""
    told = {(clause.code, label.site) for model in models for clause in model.clauses for label in clause.evidence}
    return [
        Elsewhere(finding.code, (finding.primary, *finding.related))
        for finding in findings
        if (finding.code, finding.primary.site) not in told
    ]


def render_text(
    models: Sequence[ModelVerdicts], others: Sequence[Elsewhere], names: Mapping[str, str], *, color: bool = False
) -> str:
    paint = Paint(color)
    parts: list[tuple[str, Sequence[ClauseVerdict | Elsewhere]]] = [
        (f"{paint(clean(model.label), 'bold')} ({clean(place(model.site))})", model.clauses) for model in models
    ]
    if others:
        parts.append((paint("Elsewhere in the program", "bold"), others))
    return defused("".join("\n".join([head, *_clauses(clauses, names, paint)]) + "\n\n" for head, clauses in parts))


def _clauses(clauses: Sequence[ClauseVerdict | Elsewhere], names: Mapping[str, str], paint: Paint) -> Iterator[str]:
    width = max((len(names.get(clause.code, "")) for clause in clauses), default=0)
    for clause in clauses:
        word = paint(f"{clause.word:<8}", _STYLES[clause.word])
        head = f"  {word} {clause.code} {names.get(clause.code, ''):<{width}}"
        first, *rest = [*_because(clause)] or [""]
        yield f"{head}  {first}".rstrip()
        indent = " " * (len("  violated ") + len(clause.code) + width + 3)
        yield from (f"{indent}{line}" for line in rest)


def _because(clause: ClauseVerdict | Elsewhere) -> Iterator[str]:
    places: dict[str, list[str]] = {}  # a clause mostly holds at several places for one reason
    for label in clause.evidence:
        places.setdefault(label.message, []).append(clean(line_of(label.site)))
    for message, found in places.items():
        yield f"{listed(found)}: {clean(display_text(message))}"
    yield from (clean(display_text(reason)) for reason in clause.reasons)
    if clause.settled_by:
        yield f"settled by: {clean(clause.settled_by)}"


def render_json(
    models: Sequence[ModelVerdicts],
    others: Sequence[Elsewhere],
    rules: Sequence[Rule],
    target: Version,
    unseen: Unseen = ALL_SEEN,
) -> str:
    """The clauses themselves, what holds of each model, and what is violated elsewhere in the program."""
    names = {rule.code: rule.name for rule in rules}
    told = {
        "target_torch": in_digits(target),
        "clauses": [clause_as_json(rule) for rule in rules],
        "models": [
            {"model": model.label, **site_as_json(model.site), "clauses": _as_json(model.clauses, names)}
            for model in models
        ],
        "elsewhere": _as_json(others, names),
        "errors": [*unseen.failures],
        "warnings": [*unseen.notes],
    }
    return defused_json(json.dumps(told, indent=2) + "\n")


def _as_json(clauses: Sequence[ClauseVerdict | Elsewhere], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "code": clause.code,
            "name": names.get(clause.code, ""),
            "verdict": clause.word,
            "evidence": [label_as_json(label) for label in clause.evidence],
            "reasons": list(clause.reasons),
            "settled_by": clause.settled_by or None,
        }
        for clause in clauses
    ]
