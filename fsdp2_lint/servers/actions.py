"""What an editor offers to do about findings. Nothing is checked for it: all comes from the last report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from lsprotocol import types

from fsdp2_lint.findings.add_ignore import with_ignores
from fsdp2_lint.findings.fix import fix_all
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.vocab.finding import Finding

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.fsdp2-lint"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)

Told = tuple[Finding, types.Diagnostic]
Edit = Callable[[Mapping[str, bytes]], "types.WorkspaceEdit | None"]
"""The edit for new contents of files. None if one of the files has changed since it was checked."""


def actions(
    report: Report, path: str, here: Sequence[Told], edit: Edit, only: Sequence[str] | None
) -> Iterator[types.CodeAction]:
    """``here`` are the findings where the editor asks, in the file ``path``; ``only`` are the kinds that it wants."""
    if _wanted(types.CodeActionKind.QuickFix.value, only):
        for finding, diagnostic in here:
            yield from _quick(report, finding, diagnostic, edit)
    if _wanted(FIX_ALL, only):
        if new := edit(_fixed_texts(report, [each for each in report.findings if _fixed_alone(each, path)])):
            yield types.CodeAction("Fix all safe findings of fsdp2-lint in this file", kind=FIX_ALL, edit=new)


def _quick(report: Report, finding: Finding, diagnostic: types.Diagnostic, edit: Edit) -> Iterator[types.CodeAction]:
    if finding.fix is not None and (new := edit(_fixed_texts(report, [finding]))):
        yield types.CodeAction(
            f"{finding.code}: {finding.help}{'' if finding.fix.safe else ' (unsafe: read what it changed)'}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=finding.fix.safe,
            edit=new,
        )
    silent = with_ignores([finding], report.sources, report.own).changed
    if new := edit(silent):
        yield types.CodeAction(
            f"{finding.code}: silence with a comment",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=new,
        )


def _fixed_alone(finding: Finding, path: str) -> bool:
    """A safe fix that changes this file and no other: such an action may run at every save."""
    return finding.fix is not None and finding.fix.safe and all(edit.site.path == path for edit in finding.fix.edits)


def _fixed_texts(report: Report, findings: list[Finding]) -> Mapping[str, bytes]:
    """The files with these fixes, as far as they do not overlap. Another round would need another check."""
    chosen = [each for each in findings if each.fix and not any(edit.site.cell for edit in each.fix.edits)]
    return fix_all(lambda changed: Report() if changed else replace(report, findings=chosen), unsafe=True).changed


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Kinds are a hierarchy: ``source`` asks for ``source.fixAll`` too."""
    return only is None or any(f"{kind}.".startswith(f"{asked}.") for asked in only)
