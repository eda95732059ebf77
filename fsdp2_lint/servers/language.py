"""The checker as a language server: https://microsoft.github.io/language-server-protocol/ over stdio."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from lsprotocol import types
from pygls.capabilities import get_capability

from fsdp2_lint.output.terminal import harmless
from fsdp2_lint.servers.actions import KINDS, actions
from fsdp2_lint.servers.conversion import described
from fsdp2_lint.servers.documents import path_of
from fsdp2_lint.servers.messages import Framed
from fsdp2_lint.servers.session import Server

PAUSE = 0.1  # seconds without a change before a check; whoever types on ends it within some hundred steps
WATCHED = ("**/*.{py,ipynb}", "**/{pyproject,fsdp2-lint}.toml")


def initialized(ls: Server, params: types.InitializedParams) -> None:
    if get_capability(ls.client_capabilities, "workspace.did_change_watched_files.dynamic_registration", False):
        watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        watch = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        ls.client_register_capability(types.RegistrationParams([watch]))


Touched = types.DidOpenTextDocumentParams | types.DidSaveTextDocumentParams | types.DidCloseTextDocumentParams


def touched(ls: Server, params: Touched) -> None:
    """Opened, saved or closed: what counts from here on is complete."""
    ls.check(params.text_document.uri)


def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.check(params.text_document.uri, PAUSE)


def changed_on_disk(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    held = ls.documents.opened  # of these the buffer counts
    if any(path_of(event.uri) not in held for event in params.changes):
        ls.check_all(PAUSE)


def changed_folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    ls.check_all()


def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    found = ls.told(params.text_document.uri, types.Range(params.position, params.position))
    if found is None or not found[2]:
        return None
    text = "\n---\n\n".join(described(finding) for finding, _ in found[2])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), range=found[2][0][1].range)


def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    found = ls.told(params.text_document.uri, params.range)
    if found is None:
        return []
    report, path, here = found
    return [*actions(report, path, here, lambda new: ls.edit(report, new), params.context.only)]


def stop(ls: Server, params: None) -> None:
    ls.asked_to_stop = True


FEATURES: dict[str, Callable[..., Any]] = {
    types.INITIALIZED: initialized,
    types.TEXT_DOCUMENT_DID_OPEN: touched,
    types.TEXT_DOCUMENT_DID_CHANGE: changed,
    types.TEXT_DOCUMENT_DID_SAVE: touched,
    types.TEXT_DOCUMENT_DID_CLOSE: touched,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: changed_on_disk,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: changed_folders,
    types.TEXT_DOCUMENT_HOVER: hover,
    types.TEXT_DOCUMENT_CODE_ACTION: code_action,
    types.SHUTDOWN: stop,
}
OPTIONS = {types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS)}


def serve() -> int:
    """Serve until the editor says goodbye or is gone; the exit code that the protocol asks for."""
    server = Server()
    for name, function in FEATURES.items():
        server.feature(name, OPTIONS.get(name))(function)
    # stdout belongs to the protocol alone, so whatever prints must not find it.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        _log_harmlessly()
        gate = Framed(sys.stdin.buffer, lambda *told: _refuse(out, *told), server.understood)
        server.start_io(cast(BinaryIO, gate), out)
    return 0 if server.asked_to_stop else 1


def _refuse(out: BinaryIO, id: Any, code: int, words: str) -> None:
    """In one piece: others write there too."""
    body = json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}}).encode()
    out.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    out.flush()


def _log_harmlessly() -> None:
    """What libraries say on stderr holds parts of messages."""

    class Harmless(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return harmless(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(Harmless())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
