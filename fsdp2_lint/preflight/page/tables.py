"""The tables of a rehearsal, as rows of words. The first row is the head, where a table has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...files.source import line_of
from ..plan import sizes
from ..plan.shape import WORDS, Alternative, Checkpoint, MemoryProfile, Plan, Rehearsed
from .words import Run, after_forward, dtypes, in_bytes, runs

_KINDS = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "all_reduce": "all-reduce"}
Row = tuple[str, ...]


class Table(NamedTuple):
    head: Row
    rows: Sequence[Row]


def groups(plan: Plan) -> Table:
    dtype = "dtype (gathered, reduced)"
    head = ("group", "class", "unsharded", "a rank has", "ranks", "after forward", dtype, "sharded at")
    return Table(head, [_group(run) for run in runs(plan)])


def _group(run: Run) -> Row:
    group = run.first
    each = " each" if len(run.groups) > 1 else ""
    return (
        run.name + (f" ({len(run.groups)})" if each else ""),
        group.label,
        in_bytes(group.bytes) + each,
        in_bytes(group.held) + each,
        str(group.mesh),
        after_forward(group),
        dtypes(group),
        line_of(group.at) if group.at is not None else "",
    )


def state(plan: Plan) -> Table:
    """Of the first rank, which has the most."""
    held = sizes.state(plan, shard_rank=0)
    rows = [
        ("parameters", held.parameters),
        ("gradients", held.gradients),
        ("optimizer state", held.optimizer),
        ("in no group", held.loose),
        ("buffers", held.buffers),
        ("in all", held.total),
        ("on the host", held.host),
    ]
    return Table((), [(name, in_bytes(count)) for name, count in rows if count])


def peak(memory: MemoryProfile) -> Table:
    rows = [(words, getattr(memory.peak.held, name)) for name, words in WORDS.items()]
    return Table((), [(words, in_bytes(count)) for words, count in rows if count])


def traffic(plan: Plan) -> Table:
    issued = sizes.traffic(plan)
    rows: list[Row] = []
    for kind, ranks in dict.fromkeys((each.kind, each.ranks) for each in issued):
        own = [each for each in issued if (each.kind, each.ranks) == (kind, ranks)]
        times, sent = sum(each.count for each in own), sum(each.sent for each in own)
        rows.append((f"{times:,} {_KINDS[kind]}{'s' if times > 1 else ''}", f"over {ranks:,} ranks", in_bytes(sent)))
    if rows:
        rows.append(("in all", "", in_bytes(sum(each.sent for each in issued))))
    return Table((), rows)


def checkpoints(found: Sequence[Checkpoint]) -> Table:
    """What would be written. The rank that writes the most of one checkpoint stands for all."""
    most: dict[tuple[str, str, str], Checkpoint] = {}
    for each in found:
        key = (each.by, each.target, line_of(each.at))
        most[key] = max(most.get(key, each), each, key=lambda one: one.own)
    head = ("by", "to", "at", "tensors", "a rank writes", "at another number of ranks")
    rows = [
        (by, target, at, f"{each.dtensors + each.plain:,}", in_bytes(each.own), _loads(each))
        for (by, target, at), each in most.items()
    ]
    return Table(head, rows)


def _loads(checkpoint: Checkpoint) -> str:
    return f"{'it loads' if checkpoint.resizable else 'it does not load'}: {checkpoint.why}"


def alternatives(found: Sequence[Alternative]) -> Table:
    head = ("", "state", "gathered at once", "gradients at once", "in all", "sent in a step", "collectives")
    rows = [
        (each.name, *map(in_bytes, (each.state, each.gathered, each.gradients, each.total, each.sent)))
        + (f"{each.collectives:,}",)
        for each in found
    ]
    return Table(head, rows if len(found) > 1 else [])


def by_size(found: Sequence[Rehearsed]) -> Table:
    """A line for each number of ranks; the peak where steps were rehearsed."""
    peaks = any(each.watched for each in found)
    head = ("ranks", "parameters", "gradients", "optimizer", *(["peak"] if peaks else []), "sent in a step")
    return Table(head, list(_sizes(found, peaks)))


def _sizes(found: Sequence[Rehearsed], peaks: bool) -> Iterator[Row]:
    for each in found:
        if each.plan is None:
            continue
        held = sizes.state(each.plan, shard_rank=0)
        most = [in_bytes(each.watched.peak.held.total) if each.watched else ""] if peaks else []
        sent = sum(one.sent for one in sizes.traffic(each.plan))
        parts = map(in_bytes, (held.parameters, held.gradients, held.optimizer))
        yield (f"{each.world_size:,}", *parts, *most, in_bytes(sent))
