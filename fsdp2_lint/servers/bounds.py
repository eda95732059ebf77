"""How long an answer to an agent may be, and a server that keeps to it in its errors, too."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult

from fsdp2_lint.errors import nearest
from fsdp2_lint.output.terminal import one_line

LONGEST = 24_000  # characters of one answer, some 6,000 tokens: agents cut long ones, and not where it does no harm
LONGEST_LINE = 1_000
_SENTENCE = 200  # what saying that lines are left out may take
_LAST = 4  # lines, which are always shown


def bounded(text: str, how: str = "check fewer paths, or select codes") -> str:
    """Whole lines, the last ones always: these count and say what was not seen."""
    if len(text) <= LONGEST:
        return text
    lines = [f"{_fitted(line)}\n" for line in text.splitlines()]
    last = lines[-_LAST:]
    room = LONGEST - sum(map(len, last)) - _SENTENCE
    shown: list[str] = []
    for line in lines[:-_LAST]:
        if (room := room - len(line)) < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown) - len(last)
    return "".join([*shown, *([f"… {left} lines are left out here: {how}\n"] if left else ()), *last])


def _fitted(line: str) -> str:
    """Both ends of a line: of a refusal the one says which tool refuses, the other why."""
    half = LONGEST_LINE // 2
    return line if len(line) <= LONGEST_LINE else f"{line[: half - 1]}…{line[-half:]}"


class Bounded(MCPServer[Any]):
    """Takes no argument that a tool does not have: without it, the answer would be to another question."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            await self._refuse_unknown(name, arguments)
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:  # the library's too: what it says of wrong arguments, it says of each
            raise ToolError(bounded(str(error))) from error.__cause__

    async def _refuse_unknown(self, name: str, arguments: dict[str, Any]) -> None:
        for tool in await self.list_tools():
            known = tool.input_schema.get("properties", {})
            for given in arguments if tool.name == name else ():
                if given not in known:
                    hint = nearest(given, known) or f" (known: {', '.join(known)})"
                    raise ToolError(f"{name} has no argument {one_line(given)}{hint}")
