"""The rehearsal as one page that needs nothing else: no network, no script. ImportError without matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from ...files.source import line_of
from ...output import plural
from ...output.terminal import clean
from ...vocab.facts import in_words
from ...vocab.finding import Finding
from ..plan import sizes
from ..plan.shape import Plan, Rehearsal, Rehearsed
from . import pictures, tables
from .words import in_bytes, in_numbers, limits, peak_in_words, runs, uneven

_CSS = """
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b;
  background: #fff; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
h3 { margin: 1.6rem 0 .3rem; font-size: 1.05rem; }
table { border-collapse: collapse; font-size: .85rem; white-space: nowrap; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
th { border-bottom: 1px solid #999; } tr:nth-child(even) td { background: #f6f6f6; }
td:not(:first-child) { font-variant-numeric: tabular-nums; }
svg { width: 100%; min-width: 42rem; max-width: 58rem; height: auto; } code { font-size: .9em; } .note { color: #555; }
.error { color: #b00020; } .warning { color: #8a5a00; } .info { color: #00629b; }
"""


def render(rehearsal: Rehearsal) -> str:
    title = _text(" ".join([rehearsal.script, *rehearsal.arguments]))
    body = "\n".join(_body(rehearsal))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>preflight: {title}</title>\n'
        f"<style>{_CSS}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )


def _body(rehearsal: Rehearsal) -> Iterator[str]:
    counts = ", ".join(f"{each.world_size:,}" for each in rehearsal.sizes)
    yield f'<p class="note">Rehearsed without GPUs ({_text(rehearsal.depth)}) as a job of {counts} ranks.</p>'
    yield from _findings(rehearsal.findings)
    if any(each.plan is not None for each in rehearsal.sizes):
        yield "<h2>Memory and traffic against the number of ranks</h2>"
        yield _table(tables.by_size(rehearsal.sizes))
        yield _wide(pictures.by_size(rehearsal.sizes))
        yield (
            '<p class="note">Points are rehearsed. Lines are computed for the last of these plans: its meshes grow '
            "along the dimension that shards. The optimizer keeps two states, as Adam does.</p>"
        )
    for size in rehearsal.sizes:
        yield f"<h2>{plural(size.world_size, 'rank')}</h2>"
        yield from _size(size)
    if said := limits(rehearsal):
        yield "<h2>What was not as in the job</h2>\n<ul>"
        for limit in said:
            where = f" <code>{_text(line_of(limit.site))}</code>" if limit.site is not None else ""
            yield f"<li>{_text(limit.text)}{where}</li>"
        yield "</ul>"


def _findings(findings: Iterable[Finding]) -> Iterator[str]:
    found = list(findings)
    yield f"<h2>{plural(len(found), 'finding') if found else 'No findings'}</h2>"
    for each in found:
        seen = f" Seen on {in_words(each.observed.ranks)}." if each.observed and each.observed.ranks else ""
        yield (
            f'<p><b class="{each.severity.value}">{_text(each.code)}</b> {_text(each.message)}<br>'
            f"<code>{_text(line_of(each.primary.site))}</code> {_text(each.primary.message)}.{seen} "
            f"Help: {_text(each.help)}.</p>"
        )


def _size(size: Rehearsed) -> Iterator[str]:
    yield f'<p class="note">{_text(in_words(size.ranks))} ran here.</p>'
    if size.plan is None:
        yield "<p>Nothing was sharded.</p>"
        return
    yield from _plan(size.plan)
    if size.watched is not None:
        yield f"<h3>Memory over step {size.watched.peak.step}</h3>"
        yield f"<p>The most of {plural(size.watched.steps, 'step')}: {_text(peak_in_words(size.watched))}.</p>"
        yield _wide(pictures.memory(size.watched))
        yield _table(tables.peak(size.watched))
    yield "<h3>The fullest rank, from step to step</h3>"
    yield _table(tables.state(size.plan))
    held = sizes.state(size.plan)
    yield f"<p>The largest group while gathered is {_text(held.largest)}: {in_bytes(held.largest_bytes)}.</p>"
    if (sent := tables.traffic(size.plan)).rows:
        yield "<h3>Sent by a rank in a step, with each group run once</h3>"
        yield _table(sent)
    if any(group.own_gather for group in size.plan.groups):
        yield "<p>Some tensors say themselves what is gathered: the size of that is not known.</p>"
    if (saved := tables.checkpoints(size.checkpoints)).rows:
        yield "<h3>Checkpoints that it would write</h3>"
        yield _table(saved)
    if (others := tables.alternatives(size.alternatives)).rows:
        yield "<h3>Other plans, without activations</h3>"
        yield _wide(pictures.others(size.alternatives))
        yield _table(others)
        means = [each for each in size.alternatives if each.means]
        yield f'<p class="note">{"; ".join(f"{_text(each.name)}: {_text(each.means)}" for each in means)}.</p>'


def _plan(plan: Plan) -> Iterator[str]:
    yield (
        f"<h3>The plan</h3>\n<p>{_text(plan.label)}: {in_numbers(plan.numel)} parameters in "
        f"{plural(len(plan.groups), 'group')}.</p>"
    )
    yield _table(tables.groups(plan))
    words = [f"In no group: {each.fqn}, {in_bytes(each.bytes)} on every rank" for each in plan.loose]
    tied = [param for group in plan.groups for param in group.params if param.also]
    words += [f"Tied: {' = '.join([each.fqn, *each.also])}" for each in tied]
    words += [f"Uneven: {each}" for each in uneven(plan)]
    yield from _list(words)
    if plan.groups:
        yield "<h3>Which rank has how much of each group</h3>"
        yield _wide(pictures.shards(plan))
        drawn, rows = pictures.MOST_ROWS, len(runs(plan))
        first = f" The first {drawn} of {rows} rows." if rows > drawn else ""
        yield f'<p class="note">The darker the more; white where a rank has nothing.{first}</p>'


def _list(words: list[str]) -> Iterator[str]:
    if words:
        yield "<ul>"
        yield from (f"<li>{_text(each)}</li>" for each in words)
        yield "</ul>"


def _table(table: tables.Table) -> str:
    head = f"<tr>{''.join(f'<th>{_text(cell)}</th>' for cell in table.head)}</tr>\n" if table.head else ""
    rows = "\n".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return _wide(f"<table>\n{head}{rows}\n</table>")


def _wide(content: str) -> str:
    """On a narrow screen it is scrolled: a picture that is made smaller has letters that nobody can read."""
    return f'<div class="wide">{content}</div>'


def _text(text: str) -> str:
    return escape(clean(text))
