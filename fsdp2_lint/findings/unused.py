"""Comments that silence nothing: they would hide a fault that somebody brings in later, or were meant to hide one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from fsdp2_lint.catalogue.codes import OWN_CODES, PREFIX, UNUSED
from fsdp2_lint.catalogue.codes import named as names
from fsdp2_lint.errors import nearest
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.suppress import Comment, Comments, is_slip, malformed, meant, words_in
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Severity, Site

CODE = UNUSED
NAME = OWN_CODES[CODE]
# What no comment is without of which something may be said: most files are not divided into tokens for this.
_SPEAKS = re.compile(rb"#[^!-~]*fsdp2?[-_ ]?lint|noqa[^\n]*(?:fsdp|[a-z][-_][a-z])", re.IGNORECASE)


def idle(files: Iterable[str], comments: Comments, judged: Collection[str]) -> list[Finding]:
    """What is said of comments in those of ``files`` that Python can parse.

    Where nothing was ``judged`` that is what is wrong with the comments themselves.
    """
    from fsdp2_lint.catalogue import registry
    from fsdp2_lint.files import syntax

    data = comments.sources.data
    named = [path for path in files if _SPEAKS.search(data(path))]
    known = {*OWN_CODES, *(rule.code for rule in registry.rules())}
    found = [*unused(named, comments, judged, known), *misspelt(named, comments.sources)]
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
                if (comment.own or code.startswith(PREFIX) or is_slip(code))
                and code not in used
                and (code in judged or code not in known)
            }
            if idle:
                yield _finding(path, comment, idle, known, comments.sources)


def misspelt(files: Iterable[str], sources: Sources) -> Iterator[Finding]:
    """Findings about comments that are not understood. Only their writer knows what is lost with them."""
    for path in files:
        for comment in malformed(sources.data(path)):
            label, instead, edit = (_without_colon if comment.codes else _without_codes)(path, comment, sources)
            yield Finding(
                code=CODE,
                name=NAME,
                severity=Severity.WARNING,
                message="the comment is not understood, and silences nothing",
                primary=Label(_site(path, comment), label),
                help=f"write {instead}, or remove the comment",
                fix=Fix((edit,), safe=False),
            )


def _without_codes(path: str, comment: Comment, sources: Sources) -> tuple[str, str, Edit]:
    """What is wrong, what to write instead, and an edit."""
    label = "neither ignore[CODE] nor ignore-file[CODE]" if comment.own else "no code or name of a rule"
    instead = "`# fsdp2-lint: ignore[CODE] reason`, with codes or names of rules"
    return label, instead, _removal(path, comment, set(), sources)


def _without_colon(path: str, comment: Comment, sources: Sources) -> tuple[str, str, Edit]:
    right = f": {', '.join(_written(path, comment, sources))}"
    return "codes count right behind a colon only", f"`# noqa{right}`", Edit(_listed(path, comment), right)


def _site(path: str, comment: Comment) -> Site:
    return Site(path, comment.row, comment.column, comment.row, comment.end_column)


def _finding(path: str, comment: Comment, idle: set[str], known: Collection[str], sources: Sources) -> Finding:
    named = ", ".join(sorted(idle))
    wrong, right = sorted(idle - {*known}), sorted(idle & {*known})
    said = [f"{', '.join(wrong)} {'is not a rule' if len(wrong) == 1 else 'are not rules'}"] if wrong else []
    said += [f"{', '.join(right)} {'is' if len(right) == 1 else 'are'} not found here"] if right else []
    near = "".join(nearest(each, names(), cutoff=0.6) for each in wrong if "-" in each)
    return Finding(
        code=CODE,
        name=NAME,
        severity=Severity.WARNING,
        message=f"{', and '.join(said)}: in this comment {'it does' if len(idle) == 1 else 'they do'} nothing",
        primary=Label(_site(path, comment), "not needed"),
        help=f"remove {f'{named} from ' if (comment.codes or set()) - idle else ''}the comment{near}",
        fix=Fix((_removal(path, comment, idle, sources),)),
    )


def _removal(path: str, comment: Comment, idle: set[str], sources: Sources) -> Edit:
    row = comment.row
    if (comment.codes or set()) - idle:
        kept = ", ".join(code for code in _written(path, comment, sources) if meant(code) not in idle)
        return Edit(_listed(path, comment), kept)
    if comment.alone:
        return Edit(Site(path, row, 1, row + 1, 1), "")
    before = (sources.line(path, row) or "")[: comment.column - 1].rstrip()
    return Edit(Site(path, row, len(before) + 1, row, comment.end_column), "")


def _listed(path: str, comment: Comment) -> Site:
    """Where its codes stand."""
    return Site(path, comment.row, comment.codes_column, comment.row, comment.codes_end_column)


def _written(path: str, comment: Comment, sources: Sources) -> list[str]:
    """Its codes as they stand there; none if it has none."""
    line = sources.line(path, comment.row) or ""
    return words_in(line[comment.codes_column - 1 : comment.codes_end_column - 1]) if comment.codes else []
