"""What an editor has open, by the names that the checker gives to files: absolute and free of links."""

from __future__ import annotations

import io
import os
import tokenize

from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument, Workspace

from fsdp2_lint.files.discovery import below, project_root
from fsdp2_lint.files.reading import read


def path_of(uri: str) -> str | None:
    """None for what is not in a file, such as a buffer without a name or a cell of a notebook."""
    try:
        path = to_fs_path(uri)
        return os.path.realpath(path) if path else None
    except ValueError:
        return None


def as_bytes(text: str) -> bytes:
    """What the file would hold if the buffer were saved. One character stays one, so that places stay where they are.

    Editors send text and not its encoding: that is read as Python reads it.
    """
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding.removesuffix("-sig"), "replace")  # a mark of the byte order is in the text
    except (SyntaxError, LookupError, ValueError):
        return data


class Documents:
    """The files of one workspace as they are now. A project is checked as a whole, and is named by its root."""

    def __init__(self, workspace: Workspace) -> None:
        named = [to_fs_path(folder.uri) for folder in workspace.folders.values()]
        self._folders = [folder for folder in named or [workspace.root_path] if folder]
        self._whole = {project_root([folder]) for folder in self._folders}
        self.opened: dict[str, TextDocument] = {}  # those that are Python
        for document in workspace.text_documents.values():
            path = path_of(document.uri)
            if path is not None and self.serves(path) and (path.endswith(".py") or document.language_id == "python"):
                self.opened[path] = document

    def serves(self, path: str) -> bool:
        """Does it lie in a project of the workspace? Without a workspace any file that is opened is a guest."""
        return not self._whole or any(below(path, root) for root in self._whole)

    def project(self, path: str) -> str:
        """The project of a file: that of the workspace if it holds the file, or else the nearest around it."""
        around = [root for root in self._whole if below(path, root)]
        return max(around, key=len, default="") or project_root([path])

    def of(self, project: str) -> list[str]:
        """The open files of a project."""
        return sorted(path for path in self.opened if self.project(path) == project)

    def paths(self, project: str) -> list[str]:
        """What is to be checked: all files if the workspace has the project as a folder, else the open ones."""
        return [*({project} & self._whole), *self.of(project)]

    def contents(self, path: str) -> bytes:
        if (document := self.opened.get(path)) is not None:
            return as_bytes(document.source)
        try:
            return read(path)
        except (OSError, ValueError):
            return b""

    def uri(self, path: str) -> str:
        """As the editor calls the file: it may have come to it through a link."""
        if (document := self.opened.get(path)) is not None:
            return document.uri
        for folder in self._folders:
            real = os.path.realpath(folder)
            if below(path, real):
                path = os.path.join(folder, os.path.relpath(path, real))
                break
        return from_fs_path(path) or ""

    def version(self, path: str) -> int | None:
        document = self.opened.get(path)
        return document.version if document is not None else None
