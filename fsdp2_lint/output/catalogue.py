"""The list of rules, made from the rule modules: for people, for programs and for the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fsdp2_lint import __version__
from fsdp2_lint.catalogue import pages, registry
from fsdp2_lint.output import JSON_VERSION
from fsdp2_lint.vocab.finding import DOCS_URL
from fsdp2_lint.vocab.rule import Rule

FORMATS = ("text", "json", "markdown")
HUNDREDS = {
    "1": "Launch and device",
    "2": "Initialisation",
    "3": "Sharding plan",
    "4": "Forward",
    "5": "Precision and offload",
    "6": "Optimizer and gradients",
    "7": "Checkpoints",
    "8": "Agreement of ranks",
    "9": "Migration and API",
}
_INTRODUCTION = """# The rules

Written by `fsdp2-lint rules --output-format markdown`. Each rule has a module and a page here. It is judged by **S**
the analysis of the source, **R** the monitor of a running job, **P** a rehearsal in one process.
"""


def render(name: str, rules: Iterable[Rule]) -> str:
    known = list(rules)
    if name == "json":
        told = {"version": JSON_VERSION, "tool_version": __version__, "rules": [*map(rule_as_json, known)]}
        return json.dumps(told, indent=2) + "\n"
    return _markdown(known) if name == "markdown" else _text(known)


def rule_as_json(rule: Rule) -> dict[str, Any]:
    """A rule for programs, from its module and its page: the same words that people read."""
    page = registry.page(rule)
    invariant, *_ = pages.paragraphs(page, "")
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "judged_by": rule.judged_by,
        "invariant": invariant,
        "summary": rule.summary,
        "remediation": [rule.help, *pages.paragraphs(page, "How to fix")],
        "do_not": pages.items(page, "Wrong fixes"),
        "does_not_count": pages.items(page, "What does not count"),
        "url": f"{DOCS_URL}{rule.name}/",
    }


def _text(rules: list[Rule]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code}  {rule.severity.value:<7}  {rule.judged_by:<3}  {rule.name:<{width}}  {rule.summary}\n"
        for rule in rules
    )


def _markdown(rules: list[Rule]) -> str:
    lines = [_INTRODUCTION]
    for hundred, title in HUNDREDS.items():
        if mine := [rule for rule in rules if rule.code[4] == hundred]:
            lines += [f"## {hundred}xx {title}", "", "| code | rule | severity | judged by | violated when |"]
            lines += ["|---|---|---|---|---|", *map(_row, mine), ""]
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    page = "/".join(type(rule).__module__.split(".")[-2:])  # beside its module, in the folder of its hundred
    summary = rule.summary.replace("|", "\\|")
    return (
        f"| {rule.code} | [{rule.name}]({page}.md) | {rule.severity.value} | {' '.join(rule.judged_by)} | {summary} |"
    )
