"""The checker as three tools of the Model Context Protocol. None of them writes into what it checks, or runs it."""

from __future__ import annotations

import asyncio
import inspect
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory
from typing import TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from fsdp2_lint import __version__
from fsdp2_lint.catalogue.codes import split
from fsdp2_lint.catalogue.pages import in_short, listed, page_of
from fsdp2_lint.errors import INTERNAL, Refusal, in_words
from fsdp2_lint.files.discovery import below
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.findings.verify import compare
from fsdp2_lint.lint import lint
from fsdp2_lint.output import besides, comparison, looked_at, not_judged, render
from fsdp2_lint.output.terminal import harmless, one_line
from fsdp2_lint.servers.bounds import Bounded, bounded
from fsdp2_lint.servers.messages import OneByLine
from fsdp2_lint.servers.starts import Paths, Start, Starts
from fsdp2_lint.servers.threads import in_thread

T = TypeVar("T")
MOST = 50  # findings in one answer
_ONE_AT_A_TIME = threading.Lock()  # the engine sets the limits of recursion
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_INSTRUCTIONS = """\
Checks training code that uses PyTorch FSDP2 (fully_shard) against FSDP2's contract, from its source alone.
The loop: check, explain the codes that you do not know, edit, verify. A finding that is silenced, or gone while less of
the program is seen than before, counts as not fixed."""


class _Gone(BaseException):
    """The client waits for this answer no more. It is no defect, which would cost a part of the check only."""


def serve() -> None:
    """Over stdio, until the agent is gone."""
    sys.stdin = io.TextIOWrapper(OneByLine(sys.stdin.buffer))  # whose buffer the library reads
    with TemporaryDirectory(prefix="fsdp2-lint-") as kept:
        server(kept).run("stdio")


def server(kept: str) -> Bounded:
    """Serves the folder in which it is started, and nothing outside it. Answers are ``kept`` while it runs."""
    made = Bounded("fsdp2-lint", instructions=_INSTRUCTIONS, version=__version__)
    tools = _Tools(os.path.realpath(os.curdir), Asked(confined=True, cache=True, cache_dir=kept))
    for tool in (tools.check, tools.explain, tools.verify):
        # The text alone: a client that gets both has it twice.
        made.add_tool(tool, description=inspect.getdoc(tool), annotations=_READS, structured_output=False)
    return made


class _Tools:
    """Their descriptions are what the agent reads."""

    def __init__(self, folder: str, asked: Asked) -> None:
        self._folder, self._asked = folder, asked
        self._starts = Starts(folder)

    async def check(self, ctx: Context, paths: list[str] | None = None, select: list[str] | None = None) -> str:
        """Check files and folders (default: the current folder). One line per finding: place, code, what is wrong,
        the related places, the fix. The last line names this check, for `verify`. `select` takes codes or prefixes
        such as FSDP6; an empty list judges nothing."""
        real = self._real(paths)
        asked = replace(self._asked, select=split(select) if select is not None else None)
        report = await _run(ctx, lambda run: run(paths or ["."], asked))
        if report.failures and not report.files:
            raise ToolError(_failures(report))
        name = self._starts.keep(real, asked.select, report.findings)
        return _whole(report, f"{_told(report)}\nThis check is {name}.")

    async def explain(self, code: str, examples: bool = False) -> str:
        """What a rule (FSDP601, or its name) checks, why, how to fix it, wrong fixes, and what does not count. With
        `examples` also what happens if it is ignored, as measured, and programs that show it."""
        try:
            told = listed(code) or page_of(code)
        except Refusal as refusal:
            raise ToolError(str(refusal)) from None
        return bounded(told if examples else in_short(told), "the command line has all: fsdp2-lint explain")

    async def verify(self, ctx: Context, paths: list[str] | None = None, since: str | None = None) -> str:
        """Say what became of findings: fixed (the rule is proved now for the same model), gone without proof,
        remaining, silenced instead of fixed, removed with the sharding, new. `since` is the name of a check, such as
        s1, or a git revision, such as HEAD; default: the first check of the same paths."""
        start = await self._start(ctx, paths, since)
        asked = replace(self._asked, select=start.select)
        compared = await _run(ctx, lambda run: compare(start.findings, start.paths, asked, run))
        told = comparison.render("text", compared) + _failures(compared.report)
        return _whole(compared.report, f"{told}Since {start.name}: {comparison.summary(compared)}")

    async def _start(self, ctx: Context, paths: list[str] | None, since: str | None) -> Start:
        real = self._real(paths)
        if since is None:
            if (first := self._starts.first(real)) is None:
                raise ToolError("call check with the same paths first, or name a git revision in `since`")
            return first
        if (start := self._starts.named(since)) is not None:
            if paths and start.paths != real:
                raise ToolError(f"{since} is a check of {', '.join(map(one_line, start.paths))}: leave `paths` out")
            return start
        found = await _run(
            ctx, lambda run: self._starts.revision(since, real, lambda there: run(there, self._asked).findings)
        )
        if found is None:
            known = ", ".join(self._starts.names[-8:]) or "none yet"
            raise ToolError(f"{one_line(since)} is neither a check of this server ({known}) nor a git revision")
        return found

    def _real(self, paths: list[str] | None) -> Paths:
        """The paths, free of links. Whoever asks need not be whom the user trusts with all files."""
        try:
            real = sorted(os.path.realpath(path) for path in paths or ["."])
        except ValueError as error:
            raise ToolError(f"a path cannot name a file: {error}") from None
        for path in real:
            if path != self._folder and not below(path, self._folder):
                raise ToolError(f"{one_line(path)} lies outside {one_line(self._folder)}, which is served here")
        return tuple(real)


async def _run(ctx: Context, work: Callable[[Callable[[Sequence[str], Asked], Report]], T]) -> T:
    """What ``work`` makes of checks, while the client is told what is looked at, until it does not wait any more."""
    loop, things, gone = asyncio.get_running_loop(), count(1), threading.Event()

    def progress(thing: str) -> None:
        told = ctx.report_progress(next(things), message=one_line(os.path.basename(thing)))
        asyncio.run_coroutine_threadsafe(told, loop)

    def look() -> None:
        if gone.is_set():
            raise _Gone

    def one_after_the_other() -> T:
        with _ONE_AT_A_TIME:
            look()
            return work(partial(_lint, progress, look))

    try:
        return await in_thread(one_after_the_other)
    except asyncio.CancelledError:
        gone.set()
        raise
    except Refusal as refusal:
        raise ToolError(harmless(str(refusal))) from None
    except Exception as error:
        raise ToolError(harmless(f"{INTERNAL}: {in_words(error)}")) from None


def _lint(progress: Callable[[str], None], look: Callable[[], None], paths: Sequence[str], asked: Asked) -> Report:
    # What `verify` asks with nothing hidden comes with settings of its own; a link still leads nowhere.
    return lint(paths, replace(asked, confined=True), progress=progress, look=look)


def _told(report: Report) -> str:
    """Findings in the format for agents, and what else has to be known."""
    shown, left = report.findings[:MOST], report.findings[MOST:]
    lines = render("agent", shown, report.sources, unseen=report.unseen, left_out=left)
    more = "To see the others check fewer paths, or select codes.\n" if left else ""
    files = looked_at(len(report.files), report.candidates, linked=report.linked)
    hidden = "".join(f"\n{sentence}" for sentence in besides(report))
    return f"{lines}{more}{not_judged(report.selected, report.skipped) or files}{hidden}"


def _whole(report: Report, told: str) -> str:
    """An answer, as an error if something that was named could not be checked: as exit code 2 of the command line."""
    if report.failures:
        raise ToolError(told)
    return bounded(told)


def _failures(report: Report) -> str:
    return "".join(f"{'not checked' if kind == 'error' else kind}: {one_line(line)}\n" for kind, line in report.unseen)
