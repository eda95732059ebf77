"""SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.

Places count as findings do: from 1, in characters, the end column exclusive.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fsdp2_lint import __version__
from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.pages import page_if_any, paragraphs
from fsdp2_lint.files.source import Sources, display_path, line_of
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output.catalogue import HUNDREDS
from fsdp2_lint.output.terminal import clean
from fsdp2_lint.output.words import claim, context
from fsdp2_lint.vocab.finding import DOCS_URL, Finding, Fix, Label, Severity, Site

# -- what SARIF says of rules: their pages, in the places where code scanning shows them
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}


def rule(finding: Finding) -> dict[str, Any]:
    """The rule of a finding. The tool's own codes, and those of other versions, have no rule: the finding says it."""
    page = page_if_any(finding.code)
    rule = next((each for each in registry.rules() if each.code == finding.code), None)
    severity = rule.severity if rule else finding.severity
    summary = rule.summary if rule else finding.name
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


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LINK_TEXT = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]"})


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False, unseen: Unseen = ALL_SEEN) -> str:
    """One run of SARIF 2.1.0 (see SCHEMA), with the rules that found something; paths are relative to this folder."""
    rules: dict[str, Finding] = {}
    for finding in findings:
        rules.setdefault(finding.code, finding)
    places = {code: number for number, code in enumerate(rules)}
    driver = {
        "name": "fsdp2-lint",
        "informationUri": DOCS_URL.removesuffix("rules/"),
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [rule(finding) for finding in rules.values()],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: {"uri": Path(os.path.realpath(os.curdir)).as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places[finding.code], sources) for finding in findings],
    }
    if unseen:
        told = [{"level": kind, "message": {"text": clean(line)}} for kind, line in unseen]
        successful = not unseen.failures
        run["invocations"] = [{"executionSuccessful": successful, "toolExecutionNotifications": told}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding, index: int, sources: Sources) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(finding.primary, sources)],
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(label, sources)} for number, label in enumerate(finding.related, start=1)
        ]
        # How it came about, to be read step by step: the finding itself is where it ends.
        steps = [
            {"location": _location(label, sources), "importance": "essential"}
            for label in (*finding.related, finding.primary)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.fingerprint:
        result["partialFingerprints"] = {"fsdp2Lint/v1": finding.fingerprint}
    # The places of a notebook are in its cells, not in the file that would be edited.
    if finding.fix is not None and not any(edit.site.cell for edit in finding.fix.edits):
        result["fixes"] = [_fix(finding.fix, finding.help)]
    return result


def _message(finding: Finding) -> str:
    """Sentences. ``[text](1)`` is a link to the related location with that id."""
    said = [claim(finding)]
    if finding.related:
        links = (
            f"[{line_of(label.site).translate(_LINK_TEXT)}]({number}) {label.message}".rstrip()
            for number, label in enumerate(finding.related, start=1)
        )
        said.append(f"See {', '.join(links)}")
    said += (f"Seen: {words}" for words in context(finding))
    said.append(f"Help: {finding.help}")
    return "".join(f"{clean(sentence)}. " for sentence in said).rstrip()


def _location(label: Label, sources: Sources) -> dict[str, Any]:
    site = label.site
    # Rows of a cell are no rows of the file, and its columns no columns of it.
    region = {"startLine": sources.row_in_file(site)} if site.cell else _region(site)
    told: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(site.path), "region": region}}
    if site.cell:
        told["logicalLocations"] = [{"name": f"cell {site.cell}"}]
    if label.message:
        told["message"] = {"text": clean(label.message)}
    return told


def _region(site: Site) -> dict[str, int]:
    region = {"startLine": site.row, "startColumn": site.column}
    if (site.end_row, site.end_column) >= (site.row, site.column):
        region |= {"endLine": site.end_row, "endColumn": max(site.end_column, 1)}
    return region


def _artifact(path: str) -> dict[str, Any]:
    below = display_path(path)
    if below == path and os.path.isabs(path):
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(os.fsencode(below.replace(os.sep, "/"))), "uriBaseId": _ROOT}


def _fix(fix: Fix, help: str) -> dict[str, Any]:
    replacements: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        replacement = {"deletedRegion": _region(edit.site), "insertedContent": {"text": edit.text}}
        replacements.setdefault(edit.site.path, []).append(replacement)
    read = "" if fix.safe else " (read it afterwards: it may change what the program does)"
    return {
        "description": {"text": clean(help) + read},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": each} for path, each in replacements.items()
        ],
    }
