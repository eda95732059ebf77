"""Findings of one copy of a project, told of another: of a checkout in CI, of a worktree, of a container.

Files of two copies are the same where they have the same path below the project. That takes two projects that are known
by the same sign: where the folder was only guessed from what was checked, its files might be those of another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.discovery import ROOT_MARKERS, below, common_folder, project_at

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding


def as_here(findings: Sequence[Finding], root: str) -> tuple[Sequence[Finding], str]:
    """The findings in the project at ``root``, and the folder of the copy that they are of, if it is another one.

    Refused if they are of another folder that nothing says to be the same project.
    """
    paths = [finding.primary.site.path for finding in findings]
    if not findings or any(below(path, root) for path in paths):
        return findings, ""
    known = {finding.project for finding in findings}
    project = known.pop() if len(known) == 1 else None
    folder = project.folder if project is not None else common_folder(paths)
    if folder == root or below(folder, root) or below(root, folder):
        return findings, ""  # a part of the same project
    if project is None or not {*project.markers} & {*project_at(root).markers}:
        signs = " or ".join(ROOT_MARKERS)
        raise Refusal(f"these findings are of another folder, {folder}, and no {signs} says that {root} is its copy")
    return [moved(finding, folder, root) for finding in findings], folder


def moved(finding: Finding, before: str, after: str) -> Finding:
    """The same finding with its files below another folder, wherever it names them."""
    end = re.escape(os.sep)
    named = re.compile(rf"(?<![\w.~{end}-]){re.escape(before)}(?={end}|$)")
    told: Finding = _renamed(finding, lambda text: named.sub(lambda _: after, text))
    return told


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """The same value with each text in it renamed."""
    if isinstance(value, str):
        return rename(value)
    if isinstance(value, tuple):
        return tuple(_renamed(each, rename) for each in value)
    if isinstance(value, Mapping):
        return {rename(key): _renamed(each, rename) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _renamed(getattr(value, each.name), rename) for each in fields(value)})
    return value
