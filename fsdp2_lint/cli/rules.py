"""``fsdp2-lint rules``."""

from __future__ import annotations

import json

import click

from fsdp2_lint.cli.streams import CLEAN, deliver


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output_format: str) -> int:
    """List the clauses of the contract: code, severity, witnesses (S source, R run time, P
    rehearsal), name and summary."""
    from fsdp2_lint import registry
    from fsdp2_lint.vocab.finding import DOCS_URL

    known = registry.rules()
    if output_format == "json":
        listed = [
            {
                "code": rule.code,
                "name": rule.name,
                "severity": rule.severity.value,
                "confidence": rule.confidence.value,
                "witnesses": rule.witnesses,
                "summary": rule.summary,
                "url": f"{DOCS_URL}{rule.name}/",
            }
            for rule in known
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
        return CLEAN
    width = max((len(rule.name) for rule in known), default=0)
    deliver(
        "".join(
            f"{rule.code}  {rule.severity.value:<7}  {rule.witnesses:<3}  {rule.name:<{width}}  {rule.summary}\n"
            for rule in known
        ),
        None,
    )
    return CLEAN
