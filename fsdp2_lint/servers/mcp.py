"""The checker as three tools of the Model Context Protocol. None of them writes a file or runs what it checks."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from fsdp2_lint import __version__
from fsdp2_lint.catalogue import pages
from fsdp2_lint.errors import INTERNAL, Refusal, in_words
from fsdp2_lint.files.discovery import below
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import Asked, lint
from fsdp2_lint.output import comparison, looked_at, not_judged, render
from fsdp2_lint.output.terminal import harmless, one_line
from fsdp2_lint.servers.messages import OneByLine

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

MOST = 50  # findings in one answer: agents cut long ones
_ONE_AT_A_TIME = threading.Lock()  # the SDK calls tools from threads; the engine sets the limits of recursion
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_INSTRUCTIONS = """\
Checks training code that uses PyTorch FSDP2 (fully_shard) against FSDP2's contract, from its source alone.
The loop: check, explain the codes that you do not know, edit, verify. A finding that is silenced, or gone while less of
the program is seen than before, counts as not fixed."""


def serve() -> None:
    """Over stdio, until the agent is gone."""
    sys.stdin = io.TextIOWrapper(OneByLine(sys.stdin.buffer))  # whose buffer the library reads
    server().run("stdio")


def server() -> MCPServer:
    """Serves the folder in which it is started, and nothing outside it."""
    folder = os.path.realpath(os.curdir)
    seen: dict[tuple[str, ...], list[Finding]] = {}  # the first findings of each set of paths, for verify
    made = MCPServer("fsdp2-lint", instructions=_INSTRUCTIONS, version=__version__)

    @made.tool(annotations=_READS)
    def check(paths: list[str] | None = None, select: list[str] | None = None) -> str:
        """Check files and folders (default: the current folder). One line per finding: place, code, what is wrong,
        the related places, the fix. `select` takes codes or prefixes such as FSDP6."""
        key = _key(paths, folder)
        report = _lint(paths, Asked(select=select or None))  # agents send [] for nothing in particular
        seen.setdefault(key, [*report.findings])
        return _told(report)

    @made.tool(annotations=_READS)
    def explain(code: str) -> str:
        """The page of a clause (FSDP601, or its name): what is checked, why, what happens, how to fix it, wrong fixes,
        what does not count, and programs that show it."""
        try:
            return pages.page_of(code)
        except Refusal as refusal:
            raise ToolError(str(refusal)) from None

    @made.tool(annotations=_READS)
    def verify(paths: list[str] | None = None) -> str:
        """Compare with the first `check` of the same paths: fixed (the clause is proved now for the same model), gone
        without proof, remaining, silenced instead of fixed, removed with the sharding, new."""
        from fsdp2_lint.actions.verify import compare

        before = seen.get(_key(paths, folder))
        if before is None:
            raise ToolError("call check with the same paths first")
        compared = compare(before, paths or ["."], Asked(), _lint)
        return comparison.render("text", compared) + _failures(compared.report) + comparison.summary(compared)

    return made


def _key(paths: list[str] | None, folder: str) -> tuple[str, ...]:
    """The paths, free of links. Whoever asks need not be whom the user trusts with all files."""
    try:
        real = sorted(os.path.realpath(path) for path in paths or ["."])
    except ValueError as error:
        raise ToolError(f"a path is none that a file can have: {error}") from None
    for path in real:
        if path != folder and not below(path, folder):
            raise ToolError(f"{one_line(path)} lies outside {one_line(folder)}, which is served here")
    return tuple(real)


def _lint(paths: Sequence[str] | None, asked: Asked) -> Report:
    try:
        with _ONE_AT_A_TIME:
            return lint(paths or ["."], replace(asked, confined=True))
    except Refusal as refusal:
        raise ToolError(harmless(str(refusal))) from None
    except Exception as error:
        raise ToolError(harmless(f"{INTERNAL}: {in_words(error)}")) from None


def _told(report: Report) -> str:
    """Findings in the format for agents, and what else has to be known."""
    if not report.files and report.failures:
        raise ToolError(_failures(report))
    lines = render("agent", report.findings[:MOST], report.sources, unseen=report.unseen)
    left = len(report.findings) - MOST
    more = f"{left} more are not shown: check fewer paths, or select codes\n" if left > 0 else ""
    files = looked_at(len(report.files), report.candidates, linked=report.linked)
    return f"{lines}{more}{not_judged(report.selected, report.skipped) or files}"


def _failures(report: Report) -> str:
    return "".join(f"{'not checked' if kind == 'error' else kind}: {one_line(line)}\n" for kind, line in report.unseen)
