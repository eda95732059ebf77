"""The table of all keys in the documentation: ``python -m fsdp2_lint.settings.table`` prints it."""

from __future__ import annotations

from fsdp2_lint.settings import Settings
from fsdp2_lint.settings.keys import KEYS

_KINDS = {"array": "list of text", "object": "table", "boolean": "true or false", "string": "text"}


def markdown() -> str:
    """What each key does and holds, linked to what the page says of it."""
    lines = ["| key | what it does | holds | default |", "|---|---|---|---|"]
    for name, key in KEYS.items():
        kind = key.schema["type"]
        lines.append(f"| [`{name}`](#{name}) | {key.about} | {_KINDS[kind]} | {_default(name, kind)} |")
    return "\n".join(lines)


def _default(name: str, kind: str) -> str:
    value = getattr(Settings(), name.replace("-", "_"))
    if value is None:
        return "not set"
    return f"`{str(value).lower()}`" if kind == "boolean" else "`{}`" if kind == "object" else "`[]`"


if __name__ == "__main__":
    print(markdown())
