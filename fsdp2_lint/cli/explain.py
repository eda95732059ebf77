"""``fsdp2-lint explain``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import CLEAN, Failure, deliver


@click.command()
@click.argument("code")
@click.option("--short", is_flag=True, help="Without the examples.")
def explain(code: str, short: bool) -> int:
    """Print the page of a clause, by its code or its name: what, why, how to fix, examples."""
    from fsdp2_lint.catalogue.pages import page_of
    from fsdp2_lint.errors import UnknownCode

    try:
        text = page_of(code)
    except UnknownCode as error:
        raise Failure(str(error)) from None
    if short:
        text = text.partition("\n## Examples\n")[0]
    deliver(text.rstrip("\n") + "\n", None)
    return CLEAN
