"""``fsdp2-lint explain``."""

from __future__ import annotations

import sys

import click

from fsdp2_lint.cli import completion
from fsdp2_lint.cli.streams import CLEAN, Failure, columns, deliver


@click.command()
@click.argument("code", shell_complete=completion.code)
@click.option("--examples", is_flag=True, help="The whole page, with what was measured, exceptions and programs.")
def explain(code: str, examples: bool) -> int:
    """Explain what a rule checks, why, and how to fix it.

    CODE is its code or its name. Of a prefix, such as FSDP6, its codes are listed.
    """
    from fsdp2_lint.catalogue.pages import in_short, listed, page_of
    from fsdp2_lint.errors import UnknownCode
    from fsdp2_lint.output.markdown import fitted_page

    try:
        text = listed(code) or page_of(code)
    except UnknownCode as error:
        raise Failure(str(error)) from None
    if not examples:
        code, _, _ = text.removeprefix("# ").partition(":")
        more = f"\nThe whole page, with programs: fsdp2-lint explain {code} --examples\n"
        text = in_short(text) + more * ("\n## Examples\n" in text)
    deliver(fitted_page(text.rstrip("\n") + "\n", columns(sys.stdout)), None)
    return CLEAN
