"""What stands in the source at a place, and single edits of it. Columns count bytes of UTF-8, as in syntax trees."""

from __future__ import annotations

from typing import Any

from astroid import nodes

from ....files.source import Sources
from ....vocab.finding import Edit, Moment, Site
from .program import Program


def statement_at(program: Program, site: Site) -> nodes.NodeNG | None:
    """The innermost statement around a place, as far as what is around it says where it stands."""
    module = program.project.module(site.path)
    found, at = None, module.tree if module is not None else None
    while at is not None:
        at = next((child for child in at.get_children() if holds(child, site)), None)
        found = at if at is not None and at.is_statement else found
    return found


def holds(node: nodes.NodeNG, site: Site) -> bool:
    """Does a node stand around a place, or is it there?"""
    if None in (node.lineno, node.col_offset, node.end_lineno):
        return False
    first, last = (node.lineno, node.col_offset + 1), (node.end_lineno, (node.end_col_offset or 0) + 1)
    return bool(first <= (site.row, site.column) and (site.end_row or site.row, site.end_column or 0) <= last)


def value_at(program: Program, site: Site, *kinds: type[nodes.NodeNG]) -> nodes.NodeNG | None:
    """The value of a statement of one of these kinds, where it stands at exactly this place."""
    found = statement_at(program, site)
    value = found.value if isinstance(found, kinds) else None
    return value if value is not None and site_of(site.path, value) == site else None


def site_of(path: str, node: Any) -> Site:
    """Where a node of either kind of syntax tree stands in its file."""
    column, end_column = node.col_offset or 0, node.end_col_offset or 0
    return Site(path, node.lineno, column + 1, node.end_lineno or node.lineno, end_column + 1)


def keyword_site(when: Moment, value: Any) -> Site:
    """A keyword's value; the whole call where the keyword came in a dict."""
    return when.at if getattr(value, "lineno", None) is None else site_of(when.at.path, value)


def inserted(path: str, row: int, column: int, text: str) -> Edit:
    return Edit(Site(path, row, column, row, column), text)


def text(program: Program, site: Site) -> str:
    """What stands at a place on one line; nothing where the syntax tree has the place wrong, as in old f-strings."""
    line = Sources({site.path: program.project.data(site.path)}).line(site.path, site.row)
    if line is None or site.row != site.end_row:
        return ""
    return line.encode()[site.column - 1 : site.end_column - 1].decode(errors="replace")


def replaced(program: Program, path: str, node: nodes.Attribute, new: str, extra: str = "") -> Edit | None:
    """``new`` in place of ``.name`` (and of what is written right behind it), if that is what stands there."""
    old = f".{node.attrname}{extra}"
    row, start = node.expr.end_lineno, node.expr.end_col_offset + 1
    site = Site(path, row, start, row, start + len(old.encode()))
    return Edit(site, new) if text(program, site) == old else None


def renamed(path: str, value: nodes.NodeNG, keyword: str, new: str) -> Edit | None:
    """Another name for a keyword that is written out in a call."""
    written = value.parent
    if not isinstance(written, nodes.Keyword) or written.arg != keyword:
        return None  # it came in a dict
    row, column = written.lineno, written.col_offset + 1
    return Edit(Site(path, row, column, row, column + len(keyword.encode())), new)


def is_global(name: str, node: nodes.NodeNG) -> bool:
    """Does a name mean at this place what it means outside of all functions and classes?"""
    at = node.scope()
    while not isinstance(at, nodes.Module):
        if name in at.locals:
            return False
        at = at.parent.scope()
    return True
