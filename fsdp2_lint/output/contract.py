"""Verdicts per model: each clause as violated, upheld or unknown, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fsdp2_lint.output.catalogue import clause_as_json
from fsdp2_lint.output.terminal import Paint, clean
from fsdp2_lint.report.codec import label_as_json, site_as_json
from fsdp2_lint.source import line_of, place
from fsdp2_lint.vocab.target import in_digits

if TYPE_CHECKING:
    from fsdp2_lint.static.check import ClauseVerdict, ModelVerdicts
    from fsdp2_lint.vocab.rule import Rule
    from fsdp2_lint.vocab.target import Version

FORMATS = ("text", "json")
_STYLES = {"violated": "error", "upheld": "bold", "unknown": "warning"}


def render_text(models: Sequence[ModelVerdicts], names: Mapping[str, str], *, color: bool = False) -> str:
    paint = Paint(color)
    return "".join("\n".join(_model(model, names, paint)) + "\n\n" for model in models)


def _model(model: ModelVerdicts, names: Mapping[str, str], paint: Paint) -> Iterator[str]:
    yield f"{paint(clean(model.label), 'bold')} ({clean(place(model.site))})"
    width = max((len(names.get(clause.code, "")) for clause in model.clauses), default=0)
    for clause in model.clauses:
        word = paint(f"{clause.word:<8}", _STYLES[clause.word])
        head = f"  {word} {clause.code} {names.get(clause.code, ''):<{width}}"
        first, *rest = [*_because(clause)] or [""]
        yield f"{head}  {first}".rstrip()
        indent = " " * (len("  violated ") + len(clause.code) + width + 3)
        yield from (f"{indent}{line}" for line in rest)


def _because(clause: ClauseVerdict) -> Iterator[str]:
    for label in clause.evidence:
        yield f"{clean(line_of(label.site))}: {clean(label.message)}"
    yield from (clean(reason) for reason in clause.reasons)
    if clause.settled_by:
        yield f"settled by: {clean(clause.settled_by)}"


def render_json(models: Sequence[ModelVerdicts], rules: Sequence[Rule], target: Version) -> str:
    """The clauses themselves, and what holds of each model."""
    names = {rule.code: rule.name for rule in rules}
    told = {
        "target_torch": in_digits(target),
        "clauses": [clause_as_json(rule) for rule in rules],
        "models": [_as_json(model, names) for model in models],
    }
    return json.dumps(told, indent=2) + "\n"


def _as_json(model: ModelVerdicts, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "model": model.label,
        **site_as_json(model.site),
        "clauses": [
            {
                "code": clause.code,
                "name": names.get(clause.code, ""),
                "verdict": clause.word,
                "evidence": [label_as_json(label) for label in clause.evidence],
                "reasons": list(clause.reasons),
                "settled_by": clause.settled_by or None,
            }
            for clause in model.clauses
        ],
    }
