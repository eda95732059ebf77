"""The pictures of a rehearsal, as SVG that stands in the page itself. The only module that knows matplotlib."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ...output.terminal import clean
from ..plan import sizes
from ..plan.shape import WORDS, Alternative, MemoryProfile, Plan, PlannedGroup, Rehearsed, Sample
from .words import Run, in_bytes, runs, unit_of

# Told apart by people who see colours differently, too.
COLORS = {
    "parameters": "#0072B2",
    "gradients": "#E69F00",
    "optimizer": "#56B4E9",
    "unsharded": "#009E73",
    "unsharded_gradients": "#D55E00",
    "activations": "#CC79A7",
    "buffers": "#7F7F7F",
    "other": "#C7C7C7",
}
_PHASES = {"before": "#FFFFFF", "forward": "#EEF3F8", "backward": "#FBF1E7", "optimizer": "#EEF6EE"}
_STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name begins no formula
    "font.family": ["sans-serif"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_META = dict.fromkeys(("Creator", "Date", "Format", "Type"))
MOST_ROWS = 40
MOST_RANKS = 2**17  # in a line that goes on beyond what was asked


def memory(profile: MemoryProfile) -> str:
    """Over the step in which it is the highest, by what it is taken for."""
    samples = [each for each in profile.samples if each.step == profile.peak.step]
    top, most = samples.index(profile.peak), profile.peak.held.total
    name, unit = unit_of(most)

    def draw(axes: Axes) -> None:
        _shade(axes, samples)
        kinds = [kind for kind in WORDS if any(getattr(each.held, kind) for each in samples)]
        values = [[getattr(each.held, kind) / unit for each in samples] for kind in kinds]
        colors, labels = [COLORS[kind] for kind in kinds], [WORDS[kind] for kind in kinds]
        axes.stackplot(range(len(samples)), values, labels=labels, colors=colors, lw=0)
        axes.plot([top], [most / unit], "v", color="black", ms=5)
        side, away = ("right", -6) if top > len(samples) / 2 else ("left", 6)
        axes.annotate(
            in_bytes(most), (top, most / unit), (away, 4), textcoords="offset points", ha=side, fontweight="bold"
        )
        axes.set_xlim(0, max(len(samples) - 1, 1))
        axes.set_ylim(0, most / unit * 1.12 or 1)
        axes.set_xticks([])
        axes.set_ylabel(name)
        _legend(axes)

    return _picture(draw, "memory", 3.8)


def _shade(axes: Axes, samples: Sequence[Sample]) -> None:
    """Which phase it is."""
    begun = 0
    for phase, own in itertools.groupby(samples, key=lambda each: each.phase):
        end = begun + len(list(own))
        axes.axvspan(begun, min(end, len(samples) - 1), color=_PHASES[phase], lw=0, zorder=0)
        if end - begun > len(samples) / 14:
            place = ((begun + end) / 2, 0)
            axes.annotate(
                phase,
                place,
                (0, -6),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                ha="center",
                va="top",
                color="#555555",
            )
        begun = end


def shards(plan: Plan) -> str:
    """Which rank has how much of each group: the darker the more, white where it has nothing."""
    found = runs(plan)[:MOST_ROWS]

    def draw(axes: Axes) -> None:
        for row, run in enumerate(found):
            for start, end, part in spans(run.first):
                axes.broken_barh([(start, end - start)], (row - 0.4, 0.8), color=_shade_of(part), lw=0)
        axes.set_yticks(range(len(found)), [clean(_name(run)) for run in found])
        axes.invert_yaxis()
        axes.set_xlim(0, max((run.first.shards for run in found), default=1))
        axes.set_xlabel("rank among those that share the group")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _picture(draw, "shards", 0.9 + 0.32 * max(len(found), 1))


def spans(group: PlannedGroup) -> Iterator[tuple[int, int, float]]:
    """Ranks that hold as much: the first, the one after the last, and their part of what the first rank holds."""
    cuts = {0, group.shards}
    for param in group.params:
        length = param.shape[param.dimension]
        full = length // (sizes.chunk(length, group.shards) or 1)
        cuts |= {min(full, group.shards), min(full + 1, group.shards)}
    most = sum(sizes.held(each, group.shards, 0) for each in group.params)
    ordered = sorted(cuts)
    for start, end in zip(ordered, ordered[1:]):
        own = sum(sizes.held(each, group.shards, start) for each in group.params)
        yield start, end, own / most if most else 0.0


def _shade_of(part: float) -> tuple[float, float, float]:
    """From white to blue."""
    blue = (0.0, 0.447, 0.698)
    red, green, last = (1 - (0.15 + 0.85 * part) * (1 - each) if part else 1.0 for each in blue)
    return red, green, last


def _name(run: Run) -> str:
    return f"{run.name} ({len(run.groups)})" if len(run.groups) > 1 else run.name


def by_size(found: Sequence[Rehearsed]) -> str:
    """Memory and traffic against the number of ranks, in closed form; the rehearsed ones are marked."""
    planned = [(each.world_size, each.plan, each.watched) for each in found if each.plan is not None]
    world, plan, _ = planned[-1]
    curve = [(size, other) for size in _sizes(world) if (other := sizes.resized(plan, size)) is not None]
    lines: list[tuple[str, str, Callable[[Plan], int]]] = [
        ("parameters, gradients, optimizer", COLORS["parameters"], lambda each: sizes.state(each, shard_rank=0).total),
        ("largest group gathered", COLORS["unsharded"], lambda each: sizes.state(each).largest_bytes),
        ("sent in a step", COLORS["unsharded_gradients"], lambda each: sum(one.sent for one in sizes.traffic(each))),
    ]

    def draw(axes: Axes) -> None:
        for name, color, of in lines:
            axes.plot([size for size, _ in curve], [of(other) for _, other in curve], color=color, label=name, lw=1.6)
            axes.plot([size for size, *_ in planned], [of(own) for _, own, _ in planned], "o", color=color, ms=5)
        if peaks := [(size, profile.peak.held.total) for size, _, profile in planned if profile is not None]:
            axes.plot(*zip(*peaks), "v", color="black", label="peak of a step", ms=6)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel("ranks")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: in_bytes(round(value))))
        axes.grid(True, color="#E4E4E4", lw=0.6)
        _legend(axes)

    return _picture(draw, "sizes", 3.6)


def _sizes(asked: int) -> Iterator[int]:
    """Doubled and halved from a size that was asked for, so that meshes have whole numbers of ranks."""
    size = asked
    while size % 2 == 0 and size > 2:
        size //= 2
    while size <= 4 * asked and size <= MOST_RANKS:
        yield size
        size *= 2


def others(found: Sequence[Alternative]) -> str:
    """What other plans take, without activations."""
    parts = (("state", "parameters"), ("gathered", "unsharded"), ("gradients", "unsharded_gradients"))
    names = {
        "state": "parameters, gradients, optimizer",
        "gathered": "gathered at once",
        "gradients": "gradients at once",
    }

    most = max(each.total for each in found)
    name, unit = unit_of(most)

    def draw(axes: Axes) -> None:
        places, left = range(len(found)), [0.0] * len(found)
        for field, kind in parts:
            values = [getattr(each, field) / unit for each in found]
            axes.barh(places, values, left=left, color=COLORS[kind], label=names[field], height=0.6)
            left = [before + value for before, value in zip(left, values)]
        for place, each in zip(places, found):
            words = f"{in_bytes(each.total)}, sends {in_bytes(each.sent)}"
            axes.annotate(words, (each.total / unit, place), (5, 0), textcoords="offset points", va="center")
        axes.set_yticks(places, [each.name for each in found])
        axes.invert_yaxis()
        axes.set_xlim(0, most / unit * 1.6 or 1)
        axes.set_xlabel(name)
        _legend(axes)

    return _picture(draw, "others", 1.1 + 0.4 * len(found))


def _picture(draw: Callable[[Axes], None], name: str, height: float) -> str:
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(9.6, height), layout="constrained")
        figure.patch.set_alpha(0)
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata=_META)
    text = file.getvalue()
    return text[text.index("<svg") :]


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, reverse=True)
