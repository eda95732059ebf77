"""What SARIF says of clauses: their pages, in the places where code scanning shows them."""

from __future__ import annotations

from typing import Any

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.pages import page_if_any, paragraphs
from fsdp2_lint.output.catalogue import HUNDREDS
from fsdp2_lint.vocab.finding import Finding, Severity

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}


def rule(finding: Finding) -> dict[str, Any]:
    """The clause of a finding. The tool's own codes, and those of other versions, have no rule: the finding says it."""
    page = page_if_any(finding.code)
    clause = next((each for each in registry.rules() if each.code == finding.code), None)
    severity = clause.severity if clause else finding.severity
    summary = clause.summary if clause else finding.name
    topic = HUNDREDS.get(finding.code[4:5])
    help = {"text": "\n\n".join(paragraphs(page, "How to fix")) or finding.help}
    if page:  # the programs below it are long, and `explain` prints them
        help["markdown"] = page.partition("\n## Examples\n")[0].strip() + "\n"
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": " ".join(paragraphs(page, "")) or summary},
        "help": help,
        "helpUri": finding.url,
        "defaultConfiguration": {"level": LEVELS[severity]},
        "properties": {
            "problem.severity": _PROBLEMS[severity],
            "tags": ["pytorch", "fsdp2", *([topic.lower()] if topic else [])],
        },
    }
