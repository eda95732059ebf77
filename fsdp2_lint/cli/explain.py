"""``fsdp2-lint explain``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import CLEAN, Failure, deliver


@click.command()
@click.argument("code")
def explain(code: str) -> int:
    """Print the page of a clause, by its code or its name: what, why, how to fix, examples."""
    from fsdp2_lint import registry, syntax, unused
    from fsdp2_lint.errors import UnknownCode

    for own in (syntax, unused):
        if code.upper() == own.CODE or code.lower() == own.NAME:
            deliver(own.PAGE, None)
            return CLEAN
    try:
        text = registry.page(registry.rule(code))
    except UnknownCode as error:
        raise Failure(str(error)) from None
    deliver(text.rstrip("\n") + "\n", None)
    return CLEAN
