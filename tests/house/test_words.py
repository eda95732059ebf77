"""People read one word for one thing: the code's own words for a rule and for who judges it stay in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fsdp2_lint.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
# What the code says, and the word of docs/glossary.md.
OURS = {
    "clause": "rule",
    "witness": "judged by",
    "mend": "fix",
    "told": "report",
    "tells": "report",
    "telling": "evidence",
}
WORDS = re.compile(rf"\b({'|'.join(OURS)})(e?s|ed|ing)?\b", re.IGNORECASE)
# "It is no file" in place of "it is not a file". What rules say is their own.
IS_NO = re.compile(r"(?<!\bthere )(?<!\bThere )\b(?:is|are) no(?:ne)?\b(?! longer)")
OF_RULES = ("rules", "static", "runtime", "vocab")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "action.yml", "mkdocs.yml", ".pre-commit-hooks.yaml")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "rules").rglob("*.md")),
    *sorted((ROOT / "fsdp2_lint").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
]
MODULES = [*sorted((ROOT / "fsdp2_lint").rglob("*.py")), *sorted((ROOT / "rules").rglob("*.py"))]


def prose(text: str) -> str:
    """Without code, which may have names of the code."""
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that the tool may say: all that stand for something, so no docstring, and no name that a module exports."""
    exports = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    silent = {id(inside) for each in exports for inside in ast.walk(each)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) and id(node) not in silent:
            yield from (
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, ast.Constant) and isinstance(child.value, str)
            )


def test_pages() -> None:
    found = {path: WORDS.findall(prose(path.read_text(encoding="utf-8"))) for path in PAGES}
    assert found and not {path: words for path, words in found.items() if words}


def test_messages() -> None:
    """Keys of JSON are among them."""
    found = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {text.value}"
        for path in MODULES
        for text in messages(ast.parse(path.read_text(encoding="utf-8")))
        if WORDS.search(text.value)
    ]
    assert found == []


def test_what_is_not_something() -> None:
    pages = {path: prose(path.read_text(encoding="utf-8")) for path in PAGES if ROOT / "rules" not in path.parents}
    found = {path: IS_NO.findall(" ".join(text.split())) for path, text in pages.items()}
    assert {path: words for path, words in found.items() if words} == {}
    said = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {text.value}"
        for path in MODULES
        if not {*path.relative_to(ROOT).parts} & {*OF_RULES}
        for text in messages(ast.parse(path.read_text(encoding="utf-8")))
        if IS_NO.search(text.value)
    ]
    assert said == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert WORDS.findall(command.get_help(click.Context(command))) == []


def test_the_glossary_has_the_words_in_their_place() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert {word for word in OURS.values() if f"\n| {word} |" not in glossary} == set()
