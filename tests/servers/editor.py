"""An editor for tests: a client that talks to a server in another process, over stdio. Nothing waits for ever."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import TextDocument

PATIENCE = 60.0  # for one answer, on a machine that does other things too


def scenario(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs an async test to its end, or until it has taken too long."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 3 * PATIENCE))

    return run


class Editor(LanguageClient):
    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.watched: list[types.Registration] = []
        self.progress: list[tuple[types.ProgressToken, str, str]] = []  # token, kind and message
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self.published.append(params))
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        self.feature(types.WINDOW_LOG_MESSAGE)(lambda params: None)
        self.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self.watched.extend(params.registrations))
        self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(
            lambda params: self.progress.append((params.token, "create", ""))
        )
        self.feature(types.PROGRESS)(lambda params: self._take_progress(params))

    def _take_progress(self, params: types.ProgressParams) -> None:
        value = params.value if isinstance(params.value, dict) else vars(params.value)
        self.progress.append((params.token, value["kind"], value.get("message", "")))

    @property
    def server(self) -> asyncio.subprocess.Process:
        assert self._server is not None
        return self._server

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for it. What ``holds`` says at last is the result."""

        async def poll() -> Any:
            while not (said := holds()):
                assert self.server.returncode is None, "the server has ended"
                await asyncio.sleep(0.02)
            return said

        return await asyncio.wait_for(poll(), PATIENCE)

    def open(self, path: Path, text: str | None = None) -> None:
        text = text if text is not None else path.read_bytes().decode()
        item = types.TextDocumentItem(path.as_uri(), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, path: Path, text: str, version: int) -> None:
        """Type, without saving."""
        document = types.VersionedTextDocumentIdentifier(version, path.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def diagnostics(self, path: Path, version: int | None = 1) -> list[types.Diagnostic]:
        """Those of one version, once they are there; None for a file that is not open."""
        params = await self.until(lambda: self._last(path.as_uri(), version))
        return [*params.diagnostics]

    def _last(self, uri: str, version: int | None) -> types.PublishDiagnosticsParams | None:
        about = (each for each in reversed(self.published) if each.uri == uri)
        return next((each for each in about if each.version == version), None)

    async def actions(
        self, path: Path, at: types.Range, only: Sequence[str] | None = None
    ) -> dict[str, types.CodeAction]:
        """By title."""
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(path.as_uri()), at, context)
        told = await asyncio.wait_for(self.text_document_code_action_async(params), PATIENCE)
        assert told is not None
        return {each.title: each for each in told if isinstance(each, types.CodeAction)}

    async def hover(self, path: Path, at: types.Position) -> str | None:
        params = types.HoverParams(types.TextDocumentIdentifier(path.as_uri()), at)
        told = await asyncio.wait_for(self.text_document_hover_async(params), PATIENCE)
        if told is None:
            return None
        assert isinstance(told.contents, types.MarkupContent)
        return told.contents.value

    async def end(self) -> int:
        await asyncio.wait_for(self.shutdown_async(None), PATIENCE)
        self.exit(None)
        return await asyncio.wait_for(self.server.wait(), PATIENCE)


@asynccontextmanager
async def editor(
    *folders: Path, capabilities: types.ClientCapabilities | None = None, here: Path | None = None
) -> AsyncIterator[Editor]:
    """An editor with these folders, connected to a new server."""
    made = Editor()
    await made.start_io(sys.executable, "-m", "fsdp2_lint", "server", "--stdio", cwd=here)
    try:
        workspace = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        params = types.InitializeParams(capabilities or types.ClientCapabilities(), workspace_folders=workspace)
        await asyncio.wait_for(made.initialize_async(params), PATIENCE)
        made.initialized(types.InitializedParams())
        yield made
    finally:
        if made.server.returncode is None:
            made.server.kill()
        await asyncio.wait_for(made.stop(), PATIENCE)


def edited(text: str, edits: Sequence[Any]) -> str:
    """The text with edits as an editor applies them: each place is one of the text before."""
    document = TextDocument("file:///x.py", text)
    spans = [
        (document.offset_at_position(edit.range.start), document.offset_at_position(edit.range.end), edit.new_text)
        for edit in edits
    ]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text
