"""What ``check`` shows in place of findings: files, settings, counts."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fsdp2_lint.catalogue.codes import PREFIX, canonical
from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, Failure, complain, deliver
from fsdp2_lint.files.discovery import project_root
from fsdp2_lint.files.source import display_path
from fsdp2_lint.output import JSON_VERSION
from fsdp2_lint.output.terminal import harmless, one_line
from fsdp2_lint.settings.environment import STEPS, steps
from fsdp2_lint.stated import target

DEFAULT = "the default"
STATISTICS = ("full", "concise", "json")  # the formats that counts have; the first two are the same

if TYPE_CHECKING:
    from fsdp2_lint.findings.asked import Asked
    from fsdp2_lint.findings.outcome import Report
    from fsdp2_lint.settings import Settings


def settings(options: Options, baseline: str | None) -> int:
    """Each key and what holds for it here, as TOML, and where each comes from: an option, the file, the default."""
    given = options.settings
    _refuse_absent(options)
    with refused():
        options.asked.selection(given)  # codes that do not exist are said here too
    torch = target(project_root(options.named), options.target_torch, given.target_torch)
    changed = _selection(options.asked, given)
    if baseline is not None:
        changed["baseline"] = (baseline, "--baseline")
    held = replace(given, target_torch=torch.version, **{key: value for key, (value, _) in changed.items()})
    sources = {field.name: DEFAULT for field in fields(given)}
    if given.file is not None:
        sources |= dict.fromkeys(given.stated, one_line(given.file.name))
    sources |= {"target_torch": torch.source, **{key: option for key, (_, option) in changed.items()}}
    missing = "no settings were read (--isolated)" if options.isolated else "no settings were found"
    read = str(given.file) if given.file is not None else f"{missing}: these are the defaults"
    lines = [f"# {one_line(each)}\n" for each in (read, *_of_the_run(options))]
    deliver(harmless("".join([lines[0], as_toml(held, sources), *lines[1:]])), options.output_file)
    return CLEAN


def _refuse_absent(options: Options) -> None:
    """Settings of what is not there would be those of some folder around it."""
    for path in options.named:
        if not os.path.lexists(path) and (options.stdin is None or path != options.stdin[0]):
            raise Failure(f"{display_path(path)}: cannot be read: {os.strerror(errno.ENOENT)}")


def _of_the_run(options: Options) -> Iterator[str]:
    """What no file of settings says, as it was given."""
    if options.budget is not None:
        yield f"--budget {options.budget}"
    elif (number := steps(os.environ)) is not None:
        yield f"{STEPS}={number}"
    if options.jobs is not None:
        yield f"--jobs {options.jobs}"
    if options.no_cache:
        yield "--no-cache"
    elif options.cache_dir is not None:
        yield f"--cache-dir {options.cache_dir}"


def _selection(asked: Asked, given: Settings) -> dict[str, tuple[Any, str]]:
    """What of the selection is not as the file says, and which option says so. ``--select`` puts the file's aside."""
    changed: dict[str, tuple[Any, str]] = {}
    if asked.select is not None:
        changed["select"] = (_codes(asked.select), "--select")
    elif given.select is None:
        changed["select"] = ((PREFIX,), DEFAULT)
    for key, more, option in (
        ("extend_select", asked.extend_select, "--extend-select"),
        ("ignore", asked.ignore, "--ignore"),
    ):
        set_there = getattr(given, key)
        kept = set_there if asked.select is None else ()
        if more or kept != set_there:
            changed[key] = ((*kept, *_codes(more)), option if more else "--select")
    return changed


def _codes(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(canonical(each) or each for each in given)


def as_toml(given: Settings, sources: Mapping[str, str] = MappingProxyType({})) -> str:
    """``sources`` says by field where a value is from."""
    lines = []
    for field in fields(given):
        key, value = field.name.replace("_", "-"), getattr(given, field.name)
        if key in ("file", "stated"):
            continue
        source = f"  # {sources[field.name]}" if field.name in sources else ""
        if value is None:
            lines.append(f"# {key} is not set")
        else:
            lines.append(f"{key} = {_toml(field.name, value)}{source}")
    return "".join(f"{line}\n" for line in lines)


def files(options: Options) -> int:
    from fsdp2_lint.lint import found_files
    from fsdp2_lint.output import not_judged

    with refused():
        found, _ = found_files(options.named, options.asked)
    for path, reason in found.errors:
        complain(f"{display_path(path)}: {reason}")
    deliver("".join(f"{one_line(display_path(path))}\n" for path in found.files), options.output_file)
    if not found.files and not found.errors:
        options.say_unjudged(not_judged(True, sorted(found.skipped)) or "There are no Python files here.")
    return ABNORMAL if found.errors else CLEAN


def statistics(report: Report, output_format: str) -> str:
    """One line per code, the most frequent first; or the same as JSON."""
    counted = Counter((finding.code, finding.name) for finding in report.findings)
    width = len(str(max(counted.values(), default=0)))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    if output_format == "json":
        rows = [
            {"version": JSON_VERSION, "code": code, "name": name, "count": number} for (code, name), number in ordered
        ]
        return f"{json.dumps(rows, indent=2)}\n"
    return "".join(f"{number:>{width}}  {code}  {name}\n" for (code, name), number in ordered)


def _toml(name: str, value: Any) -> str:
    if name == "target_torch":
        return f'"{value[0]}.{value[1]}"'
    if name in ("severity", "per_file_ignores"):
        held = ", ".join(f"{json.dumps(key)} = {_toml('', each)}" for key, each in value)
        return f"{{ {held} }}" if held else "{}"
    # TOML writes texts as JSON does, but for pairs of surrogates, and the last control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
