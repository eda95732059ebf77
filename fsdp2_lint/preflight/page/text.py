"""The rehearsal for people who read a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ...files.source import line_of
from ...output import plural
from ...output.terminal import Paint, clean
from ...vocab.facts import in_words
from ..plan import sizes
from ..plan.shape import Plan, Rehearsal, Rehearsed
from . import tables
from .words import in_bytes, in_numbers, limits, peak_in_words, uneven

MOST_UNEVEN = 8


def render(rehearsal: Rehearsal, *, color: bool = False) -> str:
    """All of it but the findings, which are shown as those of a job are."""
    return "\n".join(_lines(rehearsal, Paint(color))) + "\n"


def _lines(rehearsal: Rehearsal, paint: Paint) -> Iterator[str]:
    command = " ".join([rehearsal.script, *rehearsal.arguments])
    yield paint(f"{clean(command)} (rehearsed: {rehearsal.depth})", "bold")
    for size in rehearsal.sizes:
        yield ""
        yield paint(f"{plural(size.world_size, 'rank')}, of which {in_words(size.ranks)} ran here", "bold")
        yield from _size(size)
    if len(rehearsal.sizes) > 1:
        yield ""
        yield from _table(tables.by_size(rehearsal.sizes))
    if said := limits(rehearsal):
        yield ""
        yield "What was not as in the job:"
        for limit in said:
            where = f" ({line_of(limit.site)})" if limit.site is not None else ""
            yield f"  - {clean(limit.text + where)}"


def _size(size: Rehearsed) -> Iterator[str]:
    plan = size.plan
    if plan is None:
        yield "  Nothing was sharded."
        return
    yield from _plan(plan)
    yield "  memory of the fullest rank, from step to step (Adam's two states):"
    yield from _table(tables.state(plan), indent=4)
    state = sizes.state(plan)
    yield f"    largest group while gathered: {clean(state.largest)}, {in_bytes(state.largest_bytes)}"
    if size.watched is not None:
        yield f"  peak of a step: {clean(peak_in_words(size.watched))}:"
        yield from _table(tables.peak(size.watched), indent=4)
    if (sent := tables.traffic(plan)).rows:
        yield "  a rank sends in a step, with each group run once:"
        yield from _table(sent, indent=4)
    if any(group.own_gather for group in plan.groups):
        yield "    some tensors say themselves what is gathered: the size of that is not known"
    if (saved := tables.checkpoints(size.checkpoints)).rows:
        yield "  checkpoints that it would write:"
        yield from _table(saved, indent=4)
    if (others := tables.alternatives(size.alternatives)).rows:
        yield "  other plans, without activations:"
        yield from _table(others, indent=4)


def _plan(plan: Plan) -> Iterator[str]:
    yield f"  {clean(plan.label)}: {in_numbers(plan.numel)} parameters in {plural(len(plan.groups), 'group')}"
    yield from _table(tables.groups(plan))
    for each in plan.loose:
        trained = ", trained without being reduced" if each.trained else ""
        yield f"  in no group: {clean(each.fqn)}, {in_bytes(each.bytes)} on every rank{trained}"
    for group in plan.groups:
        for param in group.params:
            if param.also:
                yield f"  tied: {clean(' = '.join([param.fqn, *param.also]))}"
    unequal = uneven(plan)
    for words in unequal[:MOST_UNEVEN]:
        yield f"  uneven: {clean(words)}"
    if len(unequal) > MOST_UNEVEN:
        yield f"  uneven: {len(unequal) - MOST_UNEVEN} more"


def _table(table: tables.Table, indent: int = 2) -> Iterator[str]:
    rows = [tuple(map(clean, row)) for row in ([table.head] if table.head else []) + [*table.rows]]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield (" " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip()
