"""What ``check`` shows in place of findings: files, settings, counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import CLEAN, complain, deliver
from fsdp2_lint.source import display_path

if TYPE_CHECKING:
    from fsdp2_lint.lint import Report


def settings(options: Options) -> int:
    """Each key and what holds for it, as TOML, after where it was read."""
    given = options.settings
    with refused():
        options.asked.selection(given)  # codes that do not exist are said here too
    lines = [f"# {given.file}" if given.file is not None else "# no settings were found: these are the defaults"]
    for field in fields(given):
        if field.name != "file":
            lines.append(f"{field.name.replace('_', '-')} = {_toml(field.name, getattr(given, field.name))}")
    deliver("\n".join(lines) + "\n", options.output_file)
    return CLEAN


def files(options: Options) -> int:
    from fsdp2_lint.lint import found_files

    with refused():
        found, _ = found_files(options.named, options.asked)
    for path, reason in found.errors:
        complain(f"{display_path(path)}: {reason}")
    deliver("".join(f"{display_path(path)}\n" for path in found.files), options.output_file)
    return CLEAN


def statistics(report: Report) -> str:
    """One line per code, the most frequent first."""
    counted = Counter((finding.code, finding.name) for finding in report.findings)
    width = len(str(max(counted.values(), default=0)))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{number:>{width}}  {code}  {name}\n" for (code, name), number in ordered)


def _toml(name: str, value: Any) -> str:
    if name == "target_torch":
        return f'"{value[0]}.{value[1]}"' if value else '""  # what the project pins, else the newest'
    if name in ("severity", "per_file_ignores"):
        held = ", ".join(f"{json.dumps(key)} = {_toml('', each)}" for key, each in value)
        return f"{{ {held} }}" if held else "{}"
    return json.dumps(list(value) if isinstance(value, tuple) else value if value is not None else "")
