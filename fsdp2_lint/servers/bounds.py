"""How long an answer to an agent may be, and a server that keeps to it in its errors, too."""

from __future__ import annotations

import json
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from fsdp2_lint.errors import nearest
from fsdp2_lint.output.terminal import one_line

LONGEST = 24_000  # characters of one answer, some 6,000 tokens: agents cut long ones, and not where it does no harm
LONGEST_LINE = 1_000
_SENTENCE = 200  # what saying that lines are left out may take
_LAST = 4  # lines, which are always shown
_VALUE = 80  # characters of a wrong argument
_KINDS = {"array": "a list of text", "boolean": "true or false", "string": "text"}


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
        except ToolError as error:
            wrong = error.__cause__
            told = await self._what_is_wrong(name, arguments, wrong) if isinstance(wrong, ValidationError) else error
            raise ToolError(bounded(str(told))) from wrong

    async def _refuse_unknown(self, name: str, arguments: dict[str, Any]) -> None:
        known = await self._known(name)
        for given in arguments if known else ():
            if given not in known:
                hint = nearest(given, known) or f" (known: {', '.join(known)})"
                raise ToolError(f"{name} has no argument {one_line(given)}{hint}")

    async def _what_is_wrong(self, name: str, arguments: dict[str, Any], error: ValidationError) -> str:
        """In place of the library's words: which argument, what it has to be, and what it is."""
        known = await self._known(name)
        told = []
        for argument in dict.fromkeys(str(each["loc"][0]) for each in error.errors()):
            came = f"is {_shown(arguments[argument])}" if argument in arguments else "is missing"
            told.append(f"{argument} has to be {_wanted(known[argument])}, and {came}")
        return f"{name}: {'; '.join(told)}"

    async def _known(self, name: str) -> dict[str, dict[str, Any]]:
        """The schema of each argument of a tool."""
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        known: dict[str, dict[str, Any]] = schemas.get(name, {}).get("properties", {})
        return known


def _wanted(schema: dict[str, Any]) -> str:
    kind, *_ = schema.get("anyOf", [schema])  # null is the other one
    return _KINDS[kind["type"]]


def _shown(value: Any) -> str:
    text = one_line(json.dumps(value))
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"
