"""The bytes between a client and a server in another process, in either protocol. Nothing waits for ever."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds for a whole conversation, on a machine that does other things too


class Wire:
    """The bytes between a client and a server, in either protocol."""

    def __init__(self, command: str, folder: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.headers = command == "server"
        self._folder = folder
        self._server = subprocess.Popen([sys.executable, "-m", "fsdp2_lint", command], cwd=folder, **pipes)
        self._guard = threading.Timer(PATIENCE, self._server.kill)
        self._guard.start()
        self._said: list[bytes] = []
        threading.Thread(target=lambda: self._said.extend(self._server.stderr or ()), daemon=True).start()
        self._last = 1000

    def send(self, data: bytes) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(data)
        self._server.stdin.flush()

    def message(self, **held: Any) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **held}).encode()
        return framed(body) if self.headers else body + b"\n"

    def _spoken(self) -> Iterator[dict[str, Any]]:
        """Whatever the server says."""
        assert self._server.stdout is not None
        while line := self._server.stdout.readline():
            if self.headers:
                size = int(line.split(b":")[1])
                while self._server.stdout.readline().strip():
                    pass
                line = self._server.stdout.read(size)
            yield json.loads(line)

    def answers(self) -> Iterator[dict[str, Any]]:
        """What the server says, as far as it is an answer to something."""
        for held in self._spoken():
            if "method" not in held:
                yield held
            elif "id" in held:
                self.send(self.message(id=held["id"], result=None))

    def until(self, id: Any) -> dict[Any, dict[str, Any]]:
        """All answers up to that of one request, by their ids."""
        found: dict[Any, dict[str, Any]] = {}
        for each in self.answers():
            found[each["id"]] = each
            if each["id"] == id:
                return found
        raise AssertionError(f"the server has ended: {b''.join(self._said).decode()[-2000:]}")

    def ask(self, method: str, **params: Any) -> dict[Any, dict[str, Any]]:
        """The answers up to that of a right request, which comes last."""
        self._last += 1
        self.send(self.message(id=self._last, method=method, params=params))
        return self.until(self._last)

    def published(self, uri: str) -> str:
        """What the editor is told of a file, once it is told something."""
        for held in self._spoken():
            if held.get("method") == "textDocument/publishDiagnostics" and held["params"]["uri"] == uri:
                return json.dumps(held)
            assert held.get("method") != "window/showMessage", held
        raise AssertionError("the server has ended")

    def alive(self) -> dict[Any, dict[str, Any]]:
        if self.headers:
            place = {"textDocument": {"uri": "file:///nowhere/x.py"}, "position": {"line": 0, "character": 0}}
            return self.ask("textDocument/hover", **place)
        return self.ask("ping")

    def greet(self) -> None:
        """What a client says first."""
        if self.headers:
            folders = folders_of(self._folder)
            self.ask("initialize", processId=None, rootUri=None, capabilities={}, workspaceFolders=folders)
            self.send(self.message(method="initialized", params={}))
        else:
            client = {"name": "test", "version": "1"}
            self.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=client)
            self.send(self.message(method="notifications/initialized"))

    def ended(self) -> int:
        """The exit code, once the server has ended by itself."""
        return self._server.wait(PATIENCE)

    def end(self) -> None:
        self._guard.cancel()
        self._server.kill()
        self._server.wait()


def framed(body: bytes, length: object = None) -> bytes:
    return b"Content-Length: %b\r\n\r\n%b" % (str(len(body) if length is None else length).encode(), body)


@contextmanager
def wire(command: str, folder: Path, *, greeted: bool = True) -> Iterator[Wire]:
    made = Wire(command, folder)
    try:
        if greeted:
            made.greet()
        yield made
    finally:
        made.end()


def folders_of(folder: Path) -> list[dict[str, str]]:
    return [{"uri": folder.as_uri(), "name": "project"}]
