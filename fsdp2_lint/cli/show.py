"""What ``check`` shows in place of findings: files, settings, counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, complain, deliver
from fsdp2_lint.output.terminal import harmless, one_line
from fsdp2_lint.source import display_path

if TYPE_CHECKING:
    from fsdp2_lint.lint import Report
    from fsdp2_lint.settings import Settings


def settings(options: Options) -> int:
    """Each key and what holds for it, as TOML, after where it was read."""
    given = options.settings
    with refused():
        options.asked.selection(given)  # codes that do not exist are said here too
    read = f"# {given.file}" if given.file is not None else "# no settings were found: these are the defaults"
    deliver(harmless(f"{one_line(read)}\n{as_toml(given)}"), options.output_file)
    return CLEAN


def as_toml(given: Settings) -> str:
    lines = []
    for field in fields(given):
        key, value = field.name.replace("_", "-"), getattr(given, field.name)
        if key == "file":
            continue
        if value is None:
            lines.append(f"# {key} is not set")
        else:
            lines.append(f"{key} = {_toml(field.name, value)}")
    return "".join(f"{line}\n" for line in lines)


def files(options: Options) -> int:
    from fsdp2_lint.lint import found_files

    with refused():
        found, _ = found_files(options.named, options.asked)
    for path, reason in found.errors:
        complain(f"{display_path(path)}: {reason}")
    deliver("".join(f"{one_line(display_path(path))}\n" for path in found.files), options.output_file)
    return ABNORMAL if found.errors else CLEAN


def statistics(report: Report) -> str:
    """One line per code, the most frequent first."""
    counted = Counter((finding.code, finding.name) for finding in report.findings)
    width = len(str(max(counted.values(), default=0)))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{number:>{width}}  {code}  {name}\n" for (code, name), number in ordered)


def _toml(name: str, value: Any) -> str:
    if name == "target_torch":
        return f'"{value[0]}.{value[1]}"'
    if name in ("severity", "per_file_ignores"):
        held = ", ".join(f"{json.dumps(key)} = {_toml('', each)}" for key, each in value)
        return f"{{ {held} }}" if held else "{}"
    # TOML writes texts as JSON does, but for pairs of surrogates, and the last control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
