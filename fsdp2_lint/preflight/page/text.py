"""The rehearsal for people who read a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...files.source import line_of
from ...output import plural
from ...output.terminal import Paint, clean
from ...vocab.facts import in_words
from ..plan import sizes
from ..plan.shape import WORDS, Alternative, MemoryProfile, Plan, Rehearsal, Rehearsed
from .words import Run, after_forward, dtypes, in_bytes, in_numbers, runs, uneven

MOST_UNEVEN = 8
_HEAD = ("group", "class", "unsharded", "a rank has", "ranks", "after forward", "dtype", "sharded at")
_KINDS = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "all_reduce": "all-reduce"}


def render(rehearsal: Rehearsal, *, color: bool = False) -> str:
    """All of it but the findings, which are shown as those of a job are."""
    return "\n".join(_lines(rehearsal, Paint(color))) + "\n"


def _lines(rehearsal: Rehearsal, paint: Paint) -> Iterator[str]:
    command = " ".join([rehearsal.script, *rehearsal.arguments])
    yield paint(f"{clean(command)} (rehearsed: {rehearsal.depth})", "bold")
    for size in rehearsal.sizes:
        yield ""
        yield paint(f"{plural(size.world_size, 'rank')}, of which {in_words(size.ranks)} ran here", "bold")
        if size.plan is None:
            yield "  Nothing was sharded."
            continue
        yield from _plan(size.plan)
        yield from _memory(size)
        yield from _traffic(size.plan)
        yield from _alternatives(size.alternatives)
    if len(rehearsal.sizes) > 1:
        yield ""
        yield from _by_size(rehearsal.sizes)
    if rehearsal.limits:
        yield ""
        yield "What was not as in the job:"
        for limit in rehearsal.limits:
            where = f" ({line_of(limit.site)})" if limit.site is not None else ""
            yield f"  - {clean(limit.text + where)}"


def _plan(plan: Plan) -> Iterator[str]:
    yield f"  {clean(plan.label)}: {in_numbers(plan.numel)} parameters in {plural(len(plan.groups), 'group')}"
    yield from _table([_HEAD, *map(_row, runs(plan))])
    for each in plan.loose:
        trained = ", trained without being reduced" if each.trained else ""
        yield f"  in no group: {clean(each.fqn)}, {in_bytes(each.bytes)} on every rank{trained}"
    for group in plan.groups:
        for param in group.params:
            if param.also:
                yield f"  tied: {clean(' = '.join([param.fqn, *param.also]))}"
    unequal = list(uneven(plan))
    for words in unequal[:MOST_UNEVEN]:
        yield f"  uneven: {clean(words)}"
    if len(unequal) > MOST_UNEVEN:
        yield f"  uneven: {len(unequal) - MOST_UNEVEN} more"


def _row(run: Run) -> tuple[str, ...]:
    group = run.first
    each = " each" if len(run.groups) > 1 else ""
    return (
        clean(run.name) + (f" ({len(run.groups)})" if each else ""),
        clean(group.label),
        in_bytes(group.bytes) + each,
        in_bytes(group.held) + each,
        str(group.mesh),
        after_forward(group),
        dtypes(group),
        clean(line_of(group.at)) if group.at is not None else "",
    )


def _memory(size: Rehearsed) -> Iterator[str]:
    plan = size.plan
    assert plan is not None
    state = sizes.state(plan, shard_rank=0)
    yield "  memory of the fullest rank, from step to step (Adam's two states):"
    rows = [
        ("parameters", state.parameters),
        ("gradients", state.gradients),
        ("optimizer state", state.optimizer),
        ("in no group", state.loose),
        ("buffers", state.buffers),
        ("in all", state.total),
        ("on the host", state.host),
    ]
    yield from _table([(name, in_bytes(count)) for name, count in rows if count], indent=4)
    yield f"    largest group while gathered: {clean(state.largest)}, {in_bytes(state.largest_bytes)}"
    if size.memory is not None:
        yield from _peak(size.memory)


def _peak(memory: MemoryProfile) -> Iterator[str]:
    peak = memory.peak
    where = f" of {clean(peak.where)}" if peak.where else ""
    yield f"  peak of a step: {in_bytes(peak.held.total)}, in {peak.phase}{where}, step {peak.step}:"
    rows = [(words, getattr(peak.held, name)) for name, words in WORDS.items()]
    yield from _table([(words, in_bytes(count)) for words, count in rows if count], indent=4)


def _traffic(plan: Plan) -> Iterator[str]:
    issued = sizes.traffic(plan)
    if not issued:
        return
    yield "  a rank sends in a step, with each group run once:"
    rows = []
    for kind, ranks in dict.fromkeys((each.kind, each.ranks) for each in issued):
        own = [each for each in issued if (each.kind, each.ranks) == (kind, ranks)]
        times, sent = sum(each.count for each in own), sum(each.sent for each in own)
        rows.append((f"{times} {_KINDS[kind]}{'s' if times > 1 else ''}", f"over {ranks:,} ranks", in_bytes(sent)))
    rows.append(("in all", "", in_bytes(sum(each.sent for each in issued))))
    yield from _table(rows, indent=4)
    if any(group.own_gather for group in plan.groups):
        yield "    some tensors say themselves what is gathered: the size of that is not known"


def _alternatives(found: Sequence[Alternative]) -> Iterator[str]:
    if len(found) < 2:
        return
    yield "  other plans, without activations:"
    head = ("", "state", "gathered at once", "gradients at once", "in all", "sent in a step", "collectives")
    rows = [
        (each.name, *map(in_bytes, (each.state, each.gathered, each.gradients, each.total, each.sent)))
        + (f"{each.collectives:,}",)
        for each in found
    ]
    yield from _table([head, *rows], indent=4)


def _by_size(found: Sequence[Rehearsed]) -> Iterator[str]:
    peaks = any(each.memory for each in found)
    rows = [("ranks", "parameters", "gradients", "optimizer", *(["peak"] if peaks else []), "sent in a step")]
    for each in found:
        if each.plan is None:
            continue
        state = sizes.state(each.plan, shard_rank=0)
        peak = [in_bytes(each.memory.peak.held.total) if each.memory else ""] if peaks else []
        sent = sum(one.sent for one in sizes.traffic(each.plan))
        held = (state.parameters, state.gradients, state.optimizer)
        rows.append((f"{each.world_size:,}", *map(in_bytes, held), *peak, in_bytes(sent)))
    yield from _table(rows)


def _table(rows: Sequence[tuple[str, ...]], indent: int = 2) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield (" " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip()
