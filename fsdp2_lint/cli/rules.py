"""``fsdp2-lint rules``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import CLEAN, deliver
from fsdp2_lint.output import catalogue


@click.command()
@click.option("--output-format", type=click.Choice(catalogue.FORMATS), default="text", show_default=True)
def rules(output_format: str) -> int:
    """List the rules of the contract.

    Of each its code, its severity, what it is judged by (S the analysis of the source, R the monitor
    of a running job, P a rehearsal), its name and its summary.
    """
    from fsdp2_lint.catalogue import registry

    deliver(catalogue.render(output_format, registry.rules()), None)
    return CLEAN
