"""The JSON Schema of the settings, for editors: ``python -m fsdp2_lint.settings.schema`` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fsdp2_lint.catalogue.codes import named, selectable
from fsdp2_lint.settings.keys import KEYS

ID = "https://fsdp2-lint.github.io/fsdp2-lint/settings.schema.json"


def schema() -> dict[str, Any]:
    """Of the table ``tool.fsdp2-lint``, which is also all of ``fsdp2-lint.toml``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Settings of fsdp2-lint",
        "description": "The table tool.fsdp2-lint of pyproject.toml, or the file fsdp2-lint.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {**key.schema, "description": key.about} for name, key in KEYS.items()},
        "$defs": {
            "code": {
                "description": "A code, a prefix of codes, the name of a rule, or ALL.",
                "type": "string",
                "anyOf": [
                    {"enum": [*selectable(), *named()]},  # which editors offer
                    {"pattern": _in_any_case([*selectable(), *named()])},
                ],
            }
        },
    }


def _in_any_case(words: Iterable[str]) -> str:
    """JSON Schema has no flag for that. Between the words of a name may be an underscore, too."""
    return f"^({'|'.join(''.join(map(_in_either_case, word)) for word in words)})$"


def _in_either_case(letter: str) -> str:
    return f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else "[-_]" if letter == "-" else letter


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
