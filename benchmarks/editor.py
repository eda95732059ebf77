"""How long an editor waits for what is found in the file that somebody types in, beside the CPU time of the server.

A tree is opened in a language server of this tool, and one of its files in that. When all is checked, the file is
changed, again and again: either a comment is added, or a text is put in the place of another one, and taken out again.

    python benchmarks/editor.py torchtitan torchtitan/torchtitan/train.py
    python benchmarks/editor.py torchtitan torchtitan/torchtitan/distributed/fsdp.py --put "OLD" "NEW" --until FSDP303
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LONGEST = 300.0  # seconds for one answer
TICKS = os.sysconf("SC_CLK_TCK")


class Waited(NamedTuple):
    """Seconds from a change to what was told first of the file, to the code that was waited for, and to all."""

    first: float
    code: float
    last: float
    cpu_first: float
    cpu_last: float


class Editor(LanguageClient):
    """Whether the server is at work is seen by its notes of progress."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.told: list[tuple[float, float, types.PublishDiagnosticsParams]] = []  # with the time, and CPU time so far
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._publish(params))
        self.feature(types.WINDOW_LOG_MESSAGE)(lambda params: None)
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: print(params.message, file=sys.stderr))

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self.told.append((time.monotonic(), self.cpu(), params))

    def cpu(self) -> float:
        """Seconds that the server and the processes that it waited for have taken so far."""
        assert self._server is not None
        fields = Path(f"/proc/{self._server.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS

    async def quiet(self, path: Path, version: int) -> None:
        """Until nothing more comes about a version of a file: the server takes no time any more."""
        began = time.monotonic()
        busy, since = self.cpu(), time.monotonic()
        while time.monotonic() - since < 1.5 or not any(self.of(path, version)):
            if time.monotonic() - began > LONGEST:
                raise SystemExit("no answer")
            await asyncio.sleep(0.02)
            if self.cpu() - busy > 0.02:
                busy, since = self.cpu(), time.monotonic()

    def of(self, path: Path, version: int) -> list[tuple[float, float, types.PublishDiagnosticsParams]]:
        uri = path.as_uri()
        return [each for each in self.told if each[2].uri == uri and each[2].version == version]


async def measure(tree: Path, path: Path, put: Sequence[str] | None, code: str, runs: int) -> list[Waited]:
    editor = Editor()
    await editor.start_io(sys.executable, "-m", "fsdp2_lint", "server", "--stdio")
    folders = [types.WorkspaceFolder(tree.as_uri(), tree.name)]
    await editor.initialize_async(types.InitializeParams(types.ClientCapabilities(), workspace_folders=folders))
    editor.initialized(types.InitializedParams())
    text, version, found = path.read_text(), 1, []
    editor.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(path.as_uri(), "python", version, text))
    )
    await editor.quiet(path, version)
    for number in range(runs):
        new = text.replace(*put) if put else f"{text}\n# {number}\n"
        if new == text:
            raise SystemExit("the text to be replaced is not in the file")
        version += 1
        found.append(await _wait(editor, path, new, version, code))
        version += 1
        await _wait(editor, path, text, version, "")
    await editor.shutdown_async(None)
    editor.exit(None)
    return found


async def _wait(editor: Editor, path: Path, text: str, version: int, code: str) -> Waited:
    document = types.VersionedTextDocumentIdentifier(version, path.as_uri())
    began, cpu = time.monotonic(), editor.cpu()
    change = types.TextDocumentContentChangeWholeDocument(text)
    editor.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
    await editor.quiet(path, version)
    told = editor.of(path, version)
    with_code = [at for at, _, params in told if any(each.code == code for each in params.diagnostics)]
    wanted = with_code[0] - began if with_code else float("nan")
    return Waited(told[0][0] - began, wanted, told[-1][0] - began, told[0][1] - cpu, told[-1][1] - cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--put", nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--until", default="", metavar="CODE", help="wait for a finding in the file, too")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        found = asyncio.run(measure(asked.tree.resolve(), asked.file.resolve(), asked.put, asked.until, asked.runs))
    print("| first told, s | the code, s | all told, s | CPU to the first, s | CPU to all, s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    print("| " + " | ".join(f"{statistics.median(each):.2f}" for each in zip(*found, strict=True)) + " |")


if __name__ == "__main__":
    main()
