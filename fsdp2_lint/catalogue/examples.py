"""The programs of a page as a whole: what is the same in several of them is written once.

Below the first program, a line ``# as above: Net, batches`` stands for these classes and functions, as they were last
written on the page.
"""

from __future__ import annotations

import ast
import re

EXAMPLES = "\n## Examples\n"
BLOCK = re.compile(r"(?<=^```python\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
BETWEEN = "\n\n\n"  # definitions, as formatters have it
_AS_ABOVE = re.compile(r"^# as above: (\w+(?:, \w+)*)$", re.MULTILINE)


def with_whole_programs(page: str) -> str:
    """The page with all that such lines stand for. A name that is not above raises LookupError."""
    known: dict[str, str] = {}

    def written(match: re.Match[str]) -> str:
        return BETWEEN.join(known[name] for name in match[1].split(", "))

    def block(match: re.Match[str]) -> str:
        text = _AS_ABOVE.sub(written, match[0])
        known.update(definitions(text))
        return text

    head, title, examples = page.partition(EXAMPLES)
    return head + title + BLOCK.sub(block, examples)


def as_above(names: list[str]) -> str:
    return f"# as above: {', '.join(names)}"


def definitions(program: str) -> dict[str, str]:
    """The text of each class and function at the top, in their order, with decorators and without what is around."""
    try:
        statements = ast.parse(program).body
    except SyntaxError:  # newer than the Python that runs: it is written in full wherever it stands
        return {}
    lines = program.splitlines()
    found = {}
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found
