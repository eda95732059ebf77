"""Comments that silence nothing: they would hide a fault that somebody brings in later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from fsdp2_lint.settings.codes import OWN_CODES, PREFIX, UNUSED
from fsdp2_lint.source import Sources
from fsdp2_lint.suppress import Comment, Comments
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Severity, Site

CODE = UNUSED
NAME = OWN_CODES[CODE]
PAGE = f"""# {CODE}: {NAME}

A comment silences a code of this tool, and nothing is found that it silences.

## Why it matters

Such a comment will hide the fault when somebody brings it in later.

## How to fix

Remove the comment, or those of its codes that are not needed. `fsdp2-lint check --fix` does so.

## What does not count

- Comments without codes (`# noqa`), and codes of other tools.
- Codes that were not judged: because they were not selected, or only a running job can tell.
- Anything, if not every program could be judged that the file is a part of: a file could not be read, the budget ran
  out, nothing says where the project begins. Something may have been missed; a warning says why.
"""


def idle(files: Iterable[str], comments: Comments, judged: Collection[str]) -> list[Finding]:
    """What is said of comments in those of ``files`` that Python can parse."""
    from fsdp2_lint import registry, syntax

    data = comments.sources.data
    named = [path for path in files if PREFIX.lower().encode() in data(path).lower()]
    found = list(unused(named, comments, judged, {*OWN_CODES, *(rule.code for rule in registry.rules())}))
    # Parsed again only now: most files have no such comment.
    paths = {each.primary.site.path for each in found}
    spoilt = {path for path in paths if syntax.problem(path, data(path)) is not None}
    return [each for each in found if each.primary.site.path not in spoilt]


def unused(
    files: Iterable[str], comments: Comments, judged: Collection[str], known: Collection[str]
) -> Iterator[Finding]:
    """Findings about comments in ``files``. ``judged`` could have been found, ``known`` are all there are."""
    for path in files:
        for suppression in comments.of(path):
            comment = suppression.comment
            used = comments.used.get((path, comment), set())
            idle = {
                code
                for code in comment.codes or ()
                if code.startswith(PREFIX) and code not in used and (code in judged or code not in known)
            }
            if idle:
                yield _finding(path, comment, idle, known, comments.sources)


def _finding(path: str, comment: Comment, idle: set[str], known: Collection[str], sources: Sources) -> Finding:
    named = ", ".join(sorted(idle))
    wrong = ", ".join(sorted(idle - {*known}))
    why = f"there is no code {wrong}" if wrong else "nothing is found here that it silences"
    site = Site(path, comment.row, comment.column, comment.row, comment.end_column)
    return Finding(
        code=CODE,
        name=NAME,
        severity=Severity.WARNING,
        message=f"the comment silences {named}, and {why}",
        primary=Label(site, "not needed"),
        help=f"remove {named} from the comment" if (comment.codes or set()) - idle else "remove the comment",
        fix=Fix((_removal(path, comment, idle, sources),)),
    )


def _removal(path: str, comment: Comment, idle: set[str], sources: Sources) -> Edit:
    row = comment.row
    if (comment.codes or set()) - idle:
        line = sources.line(path, row) or ""
        written = line[comment.codes_column - 1 : comment.codes_end_column - 1].replace(",", " ").split()
        kept = ", ".join(code for code in written if code.upper() not in idle)
        return Edit(Site(path, row, comment.codes_column, row, comment.codes_end_column), kept)
    if comment.alone:
        return Edit(Site(path, row, 1, row + 1, 1), "")
    before = (sources.line(path, row) or "")[: comment.column - 1].rstrip()
    return Edit(Site(path, row, len(before) + 1, row, comment.end_column), "")
