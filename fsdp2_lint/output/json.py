"""For programs: an array of findings. Rows and columns count from 1, the end column is exclusive."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output.advice import findings_as_json
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    return json.dumps([*findings_as_json(findings)], indent=2) + "\n"
