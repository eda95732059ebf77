"""Edits that mend a place for certain, from the syntax alone."""

from __future__ import annotations

from astroid import nodes

from ...vocab.finding import Edit, Fix, Moment, Site
from ..trace import Step

_RENAMED = {"device_mesh": "mesh"}
_DROPPED = frozenset({"use_orig_params", "limit_all_gathers"})  # FSDP2 always does what they asked for


def keyword_fix(step: Step, keyword: str, when: Moment) -> Fix | None:
    """Another name for a keyword that fully_shard has under that name, or none where it needs none."""
    value = step["keywords"][keyword]
    written = value.parent
    if not isinstance(written, nodes.Keyword) or not isinstance(written.parent, nodes.Call):
        return None  # it came in a dict
    path, row, column = when.at.path, written.lineno, written.col_offset + 1
    new = _RENAMED.get(keyword)
    if new is not None and new not in step["keywords"]:
        return Fix((Edit(Site(path, row, column, row, column + len(keyword)), new),))
    if keyword not in _DROPPED:
        return None
    before = [
        (part.end_lineno, part.end_col_offset)
        for part in (*written.parent.args, *written.parent.keywords)
        if (part.end_lineno, part.end_col_offset) <= (row, column)
    ]
    if not before:
        return None
    end_row, end_column = max(before)
    return Fix((Edit(Site(path, end_row, end_column + 1, value.end_lineno, value.end_col_offset + 1), ""),))
