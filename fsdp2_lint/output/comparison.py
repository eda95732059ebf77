"""What ``verify`` says: for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fsdp2_lint.files.source import display_path, display_text, place
from fsdp2_lint.output import JSON_VERSION
from fsdp2_lint.output.terminal import Paint, clean, defused, defused_json
from fsdp2_lint.report.codec import finding_as_json

if TYPE_CHECKING:
    from fsdp2_lint.findings.verify import Comparison, Gone

FORMATS = ("text", "json")
_WORDS = {
    "fixed": "bold",
    "gone": "warning",
    "remaining": "error",
    "silenced": "error",
    "removed": "error",
    "new": "error",
}


def render(name: str, compared: Comparison, *, color: bool = False) -> str:
    if name == "json":
        return defused_json(json.dumps(_as_json(compared), indent=2) + "\n")
    return defused("".join(f"{line}\n" for line in _lines(compared, Paint(color))))


def summary(compared: Comparison) -> str:
    """``2 fixed, 1 silenced instead of fixed.``"""
    told = (
        (compared.fixed, "fixed"),
        ([each for each in compared.gone if each.as_before], "gone, not proved"),
        ([each for each in compared.gone if not each.as_before], "gone from sight"),
        (compared.remaining, "remaining"),
        (compared.silenced, "silenced instead of fixed"),
        (compared.removed, "removed with the sharding"),
        (compared.new, "new"),
    )
    said = [f"{len(findings)} {words}" for findings, words in told if findings]
    rest = f" Incomplete: {compared.report.unseen.counted()} above." if compared.report.unseen else ""
    copy = f" The findings are of another copy, {display_path(compared.copy_of)}." if compared.copy_of else ""
    return f"{', '.join(said) or 'There was nothing to fix'}.{copy}{rest}"


def _lines(compared: Comparison, paint: Paint) -> Iterator[str]:
    for word, style in _WORDS.items():
        for each in getattr(compared, word):
            finding = each if word in ("remaining", "new") else each.finding
            where = clean(place(finding.primary.site))
            said = f"{paint(f'{word:<9}', style)} {where} {finding.code} {clean(finding.message)}"
            yield said + "".join(f" ({clean(because)})" for because in _because(word, each))


def _because(word: str, each: Gone) -> Sequence[str]:
    if word == "new":
        return ["the edit made it, or what was there before had kept it out of sight"]
    if word == "fixed":
        return ["the rule is upheld"]
    if word == "gone":
        words = "not proved, but no less is seen than before" if each.as_before else "not proved"
        return [f"{words}: {'; '.join(map(display_text, each.reasons))}"]
    return each.reasons if word in ("silenced", "removed") else ()


def _as_json(compared: Comparison) -> dict[str, Any]:
    return {
        "version": JSON_VERSION,
        "clean": compared.clean,
        "copy_of": compared.copy_of or None,
        **{
            word: [{**finding_as_json(each.finding), **_standing(each)} for each in getattr(compared, word)]
            for word in ("fixed", "gone", "silenced", "removed")
        },
        "remaining": [finding_as_json(each) for each in compared.remaining],
        "new": [finding_as_json(each) for each in compared.new],
        "errors": [*compared.report.failures],
        "warnings": [*compared.report.notes],
    }


def _standing(each: Gone) -> dict[str, Any]:
    return {"verdict": each.verdict or None, "as_before": each.as_before, "reasons": list(each.reasons)}
