"""What a client sends, looked at before a library takes it: a message that is none costs that message alone.

JSON-RPC 2.0: https://www.jsonrpc.org/specification. One gate is for messages with headers, as editors send them, one
for messages of one line, as agents do.
"""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

LARGEST = 64_000_000  # bytes of one message; a file that is checked has 4 MB at most
_LONGEST_HEADER = 65_536
_LENGTH = re.compile(rb"Content-Length:[ \t]*([^\r\n]*?)[ \t]*\r?\n\Z", re.IGNORECASE)
_HEADER = re.compile(rb"[\w-]+:", re.ASCII)
_NAMES = ("uri", "rootUri", "rootPath", "oldUri", "newUri")
NOT_JSON, NO_REQUEST, BAD_PARAMS, TOO_EARLY = -32700, -32600, -32602, -32002
Refuse = Callable[[Any, int, str], None]
"""Told the id of a request (None where it has none that can be known), a code of the protocol, and words."""


class Rejected(ValueError):
    def __init__(self, code: int, words: str, id: Any = None) -> None:
        super().__init__(words)
        self.code, self.id = code, id


def looked_at(body: bytes) -> dict[str, Any]:
    """The message, if it has the form of one. Parameters that are null are none: so some libraries write that."""
    try:
        held = json.loads(body)
    except (ValueError, RecursionError):
        raise Rejected(NOT_JSON, "the message is not JSON") from None
    if not isinstance(held, dict):
        raise Rejected(NO_REQUEST, "the message is not an object")
    id = held.get("id") if isinstance(held.get("id"), (str, int)) else None
    answer = "result" in held or "error" in held
    if held.get("jsonrpc") != "2.0" or not (answer or isinstance(held.get("method"), str)):
        raise Rejected(NO_REQUEST, "the message is neither a request nor an answer", id)
    if held.get("params", {}) is None:
        del held["params"]
    if not isinstance(held.get("params", {}), dict):
        raise Rejected(BAD_PARAMS, "the parameters are not an object", id)
    for name in _paths(held):
        if not _names_a_file(name):
            raise Rejected(BAD_PARAMS, "a path in it cannot name a file", id)
    return held


def _paths(message: dict[str, Any]) -> Iterator[Any]:
    left: list[Any] = [message]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += each.values()
            yield from (each[name] for name in _NAMES if each.get(name) is not None)
        elif isinstance(each, list):
            left += each


def _names_a_file(uri: Any) -> bool:
    if not isinstance(uri, str):
        return False
    text = unquote(uri)
    try:
        text.encode()  # half a pair of surrogates is no character
    except UnicodeEncodeError:
        return False
    return "\0" not in text


class Framed:
    """A stream of messages with headers that are as the protocol has them, from one where they may be anything.

    ``understood`` is asked about each message that has the right form, and raises what is wrong with it.
    """

    def __init__(self, stream: BinaryIO, refuse: Refuse, understood: Callable[[bytes, dict[str, Any]], None]) -> None:
        self._stream = stream
        self._refuse = refuse
        self._understood = understood
        self._lines: deque[bytes] = deque()
        self._body = b""

    def readline(self) -> bytes:
        if not self._lines and (body := self._next()) is not None:
            self._body = body
            self._lines += (b"Content-Length: %d\r\n" % len(body), b"\r\n")
        return self._lines.popleft() if self._lines else b""

    def read(self, size: int) -> bytes:
        return self._body

    def _next(self) -> bytes | None:
        """The next message that is one; None at the end."""
        while (length := self._length()) is not None:
            try:
                held = looked_at(self._stream.read(length))
                body = json.dumps(held).encode()
                self._understood(body, held)
            except Rejected as error:
                self._refuse(error.id, error.code, str(error))
            else:
                return body
        return None

    def _length(self) -> int | None:
        """Of the next message. What stands before its headers, such as the rest of a longer one, is passed over."""
        length, told = 0, False
        while line := self._stream.readline(_LONGEST_HEADER):
            if found := _LENGTH.search(line):
                length, told = _number(found[1]), False
                if not length:
                    self._refuse(None, NO_REQUEST, f"a length of 1 to {LARGEST} bytes is expected")
            elif not line.strip() and length:
                return length
            elif line.strip() and not _HEADER.match(line) and not told:
                told = True
                self._refuse(None, NO_REQUEST, "a message begins with the header Content-Length")
        return None


def _number(text: bytes) -> int:
    """0 for what is no length."""
    length = int(text) if text.isdigit() and len(text) < 12 else 0
    return length if length <= LARGEST else 0


class OneByLine(io.BufferedIOBase):
    """The same for messages of one line each. What cannot be read is answered by asking for what does not exist."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        line = self._stream.readline(LARGEST)
        if len(line) == LARGEST and not line.endswith(b"\n"):
            while (rest := self._stream.readline(LARGEST)) and not rest.endswith(b"\n"):
                pass
            return b"{}\n"
        return _passed(line)


def _passed(line: bytes) -> bytes:
    if not line.strip():
        return line
    try:
        held: Any = looked_at(line)
    except Rejected as error:
        if error.id is None:
            return b"{}\n"
        held = {"jsonrpc": "2.0", "id": error.id, "method": f"nothing: {error}"}
    # Half a pair of surrogates is no character, and to the library then the whole line is none.
    return json.dumps(held, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
