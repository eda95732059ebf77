"""What a language server knows of its editor: what is open, what was found, and what the editor was told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from fsdp2_lint import __version__
from fsdp2_lint.errors import in_words
from fsdp2_lint.files.source import decode
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.servers.actions import Told
from fsdp2_lint.servers.checks import Checks, Input
from fsdp2_lint.servers.conversion import Conversion
from fsdp2_lint.servers.documents import Documents, as_bytes, path_of
from fsdp2_lint.servers.messages import BAD_PARAMS, NO_REQUEST, TOO_EARLY, Rejected
from fsdp2_lint.servers.moved import change, still
from fsdp2_lint.servers.progress import Progress


@dataclass(slots=True)
class Answer:
    """What the editor was told of a project last."""

    report: Report = field(default_factory=Report)
    told: dict[str, list[Told]] = field(default_factory=dict)  # by the path of the file
    uris: set[str] = field(default_factory=set)
    said: str = ""


class Server(LanguageServer):
    def __init__(self) -> None:
        # pygls applies parts of a text by lines as str.splitlines has them, which also splits at form feeds: so the
        # editor sends the whole text. One thread is enough, for reading stdin.
        super().__init__("fsdp2-lint", __version__, types.TextDocumentSyncKind.Full, max_workers=1)
        self.asked_to_stop = False
        self._began = self._over = False  # as far as messages have been read: their effects come later
        self._progress = Progress(self, lambda: self.checks.cancel())
        self.checks = Checks(self._look, self._tell, self._tell_first, self._tell_early, self._progress.tell)
        self._checked: dict[
            str, int | None
        ] = {}  # by the path of an open file, the version of it that was checked last
        self._answers: dict[str, Answer] = {}
        self._shown: dict[str, tuple[str, list[types.Diagnostic]]] = {}  # of which text, by the name of the document

    def understood(self, body: bytes, message: Mapping[str, Any]) -> None:
        """Raises what is wrong with a request. Of answers the library keeps a list, and takes each off it once."""
        if "method" not in message:
            return
        if "id" in message:
            self._in_time(message["method"], message["id"])
        try:
            json.loads(body, object_hook=self.protocol.structure_message)
        except Exception as error:
            raise Rejected(BAD_PARAMS, in_words(error), message.get("id")) from None
        if "id" in message:
            self._began, self._over = True, message["method"] == types.SHUTDOWN

    def _in_time(self, method: str, id: Any) -> None:
        """The library shows a traceback to who asks too early, and leaves without an answer who asks too late."""
        if not self._began and method != types.INITIALIZE:
            raise Rejected(TOO_EARLY, "the first request has to be initialize", id)
        if self._over:
            raise Rejected(NO_REQUEST, "no request may follow shutdown", id)

    @property
    def documents(self) -> Documents:
        return Documents(self.workspace)

    def check(self, uri: str, delay: float = 0.0) -> None:
        """Check the project of a document."""
        if (path := path_of(uri)) is not None and self.documents.serves(path):
            self.checks.request(self.documents.project(path), delay, path)

    def check_all(self, delay: float = 0.0) -> None:
        documents = self.documents
        for project in {*self._answers, *map(documents.project, documents.opened)}:
            self.checks.request(project, delay)

    def _look(self, project: str) -> Input:
        documents = self.documents
        opened = {path: documents.opened[path] for path in documents.of(project)}
        self._checked.update((path, document.version) for path, document in opened.items())
        return documents.paths(project), {path: as_bytes(document.source) for path, document in opened.items()}

    def _tell(self, project: str, said: Report | str) -> None:
        before = self._answers.get(project, Answer())
        documents = self.documents
        after = self._answer(Report() if isinstance(said, str) else said, documents)
        paths = {documents.uri(path): path for path in {*after.told, *documents.of(project)}}
        after.uris = {*paths}
        for uri in sorted(before.uris | after.uris):
            self._publish(uri, paths.get(uri, ""), after, documents)
        self._answers[project] = after
        after.said = said if isinstance(said, str) else "\n".join([*said.failures, *said.notes])
        if after.said and after.said != before.said:  # else it would come again with each letter that is typed
            self._say(after.said, aloud=isinstance(said, str))

    def _tell_first(self, project: str, path: str, report: Report) -> None:
        """What is found in one file; what the editor was told of the others stands until all are checked."""
        before = self._answers.get(project, Answer())
        documents = self.documents
        after = self._answer(report, documents)
        uri = documents.uri(path)
        after.uris, after.said = before.uris | {uri}, before.said
        self._publish(uri, path, after, documents)
        self._answers[project] = after

    def _tell_early(self, project: str, path: str, report: Report) -> None:
        """What is found so far in one file. What is not found any more is told when all is checked."""
        before = self._answers.get(project, Answer())
        documents = self.documents
        after, uri = self._answer(report, documents), documents.uri(path)
        after.uris, after.said = before.uris | {uri}, before.said
        text, shown = self._shown.get(uri, ("", []))
        new = {(each.code, each.range.start.line) for _, each in after.told.get(path, ())}
        old = still(shown, uri, change(text, decode(report.sources.data(path))))
        self._publish(
            uri, path, after, documents, [each for each in old if (each.code, each.range.start.line) not in new]
        )
        self._answers[project] = after

    def _answer(self, report: Report, documents: Documents) -> Answer:
        answer, conversion = Answer(report), self._conversion(report, documents)
        for finding in report.findings:
            answer.told.setdefault(finding.primary.site.path, []).append((finding, conversion.diagnostic(finding)))
        return answer

    def _publish(
        self, uri: str, path: str, answer: Answer, documents: Documents, old: Sequence[types.Diagnostic] = ()
    ) -> None:
        shown = [*(diagnostic for _, diagnostic in answer.told.get(path, ())), *old]
        self._shown[uri] = decode(answer.report.sources.data(path)), shown
        version = self._checked.get(path) if path in documents.opened else None
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, version=version))

    def _say(self, text: str, *, aloud: bool) -> None:
        if aloud:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"fsdp2-lint: {text}"))
        kind = types.MessageType.Error if aloud else types.MessageType.Warning
        self.window_log_message(types.LogMessageParams(kind, text))

    def told(self, uri: str, at: types.Range) -> tuple[Report, str, list[Told]] | None:
        """The last report, the document's path, and the findings that touch a range. None if the text has changed."""
        documents, path = self.documents, path_of(uri)
        answer = self._answers.get(documents.project(path)) if path is not None else None
        if path is None or answer is None or answer.report.sources.data(path) != documents.contents(path):
            return None
        here = [each for each in answer.told.get(path, ()) if _touch(each[1].range, at)]
        return answer.report, path, here

    def edit(self, report: Report, changed: Mapping[str, bytes]) -> types.WorkspaceEdit | None:
        """What makes files as ``changed`` has them; None where one of them is not what the report was about."""
        documents = self.documents
        conversion = self._conversion(report, documents)
        if not changed or any(report.sources.data(path) != documents.contents(path) for path in changed):
            return None
        edits = {path: conversion.edits(report.sources.data(path), data) for path, data in changed.items()}
        if not get_capability(self.client_capabilities, "workspace.workspace_edit.document_changes", False):
            return types.WorkspaceEdit(changes={documents.uri(path): each for path, each in edits.items()})
        named = types.OptionalVersionedTextDocumentIdentifier
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(named(documents.uri(path), documents.version(path)), each)
                for path, each in edits.items()
            ]
        )

    def _conversion(self, report: Report, documents: Documents) -> Conversion:
        return Conversion(report.sources, self.workspace.position_codec, documents.uri)


def _touch(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end
