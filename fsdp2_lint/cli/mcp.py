"""``fsdp2-lint mcp``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import CLEAN, Failure, refuse_closed


@click.command()
def mcp() -> int:
    """Serve coding agents over stdio (MCP).

    The tools check, explain and verify read only. They check the folder in which the server was started.
    """
    refuse_closed("stdin", "stdout")
    try:
        from fsdp2_lint.servers.mcp import serve
    except ImportError as error:
        raise Failure(f"`mcp` needs the official SDK: pip install 'fsdp2-lint[mcp]' ({error})") from None
    serve()
    return CLEAN
