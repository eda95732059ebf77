"""``fsdp2-lint server``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import Failure, refuse_closed


@click.command()
@click.option(
    "--stdio", is_flag=True, expose_value=False, help="Accepted, since many editors pass it: it is the only way."
)
def server() -> int:
    """Serve an editor over stdio (LSP).

    Findings while you type, over all files of the workspace; fixes; the page of a rule on
    hover.
    """
    refuse_closed("stdin", "stdout")
    try:
        from fsdp2_lint.servers.language import serve
    except ImportError as error:
        raise Failure(f"`server` needs pygls: pip install 'fsdp2-lint[lsp]' ({error})") from None
    return serve()
