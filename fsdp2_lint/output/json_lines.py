"""For programs that read line by line: each line is one finding, as in the format ``json``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output.advice import findings_as_json
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in findings_as_json(findings))
