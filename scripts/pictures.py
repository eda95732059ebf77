"""Draws the pictures of the site's first page, from what the tool says: a finding over files, and a watched job.

``python scripts/pictures.py`` draws both, the job from its recording. ``--record`` runs the job anew before, which
needs torch. A recording is an asciicast, so any player of these shows it too. Pictures load nothing, and where the
reader wants no motion the terminal stands still at its end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # what this checkout says, whatever is installed

from fsdp2_lint.lint import lint  # noqa: E402
from fsdp2_lint.vocab.finding import Finding, Label  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
FINDING, CAST, TERMINAL = FOLDER / "finding.svg", FOLDER / "run.cast", FOLDER / "run.svg"
EXAMPLE = "examples/broken/optimizer_before_sharding"
JOB = "run --nproc-per-node 2 --check examples/broken/hyperparameters_differ.py".split()

COLUMNS, ROWS = 92, 24
PAUSE, HOLD = 0.8, 12.0  # seconds: no wait is shown longer, and the end stays for so long before it begins again
CELL, LINE = 7.8, 18  # a character of 13 px, and a line
BACK, CARD, EDGE, TEXT, DIM = "#0d1117", "#161b22", "#30363d", "#e6edf3", "#8b949e"
STORY = ("#ff7b72", "#79c0ff", "#d2a8ff")
ANSI = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "36": "#a5d6ff"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_MARK = re.compile(r"\s*# (?:error|related): \[FSDP\d{3}\]$")
_STYLED = re.compile(r"\x1b\[([\d;]*)m")


def text(x: float, y: float, words: str, colour: str = TEXT, more: str = "") -> str:
    """One line of characters that are all as wide as ``CELL``, whatever font the reader has."""
    if not words.strip():
        return ""
    x, words = x + CELL * (len(words) - len(words.lstrip())), words.strip()
    width = f'textLength="{CELL * len(words):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {width}{more}>{escape(words)}</text>'


def svg(width: float, height: float, title: str, body: str, style: str = "") -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'font-family="{FONT}" font-size="13" xml:space="preserve">\n<title>{escape(title)}</title>\n{style}'
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>\n{body}\n</svg>\n'
    )


# A finding: a card for each file of its story, and arrows between the places that tell the same.


@dataclass
class Place:
    """A line that is marked in its card, and where it came to lie in the picture."""

    row: int
    label: Label
    colour: str
    y: float = 0


def finding(found: Finding, width: float = 640) -> str:
    labels = (found.primary, *found.related)
    colours = dict(zip(dict.fromkeys(label.message for label in labels), STORY))
    files: dict[str, list[Place]] = {}
    for label in labels:
        files.setdefault(label.site.path, []).append(Place(label.site.row, label, colours[label.message]))
    parts, y = [], 30.0
    for line in wrap(f"{found.code} {found.severity.value}: {found.message}", 76):
        parts.append(text(20, y, line, more=' font-weight="bold"'))
        y += LINE
    for path, places in files.items():
        drawn, y = card(Path(path), sorted(places, key=lambda place: place.row), y + 6, width - 90)
        parts += drawn
    everywhere = [place for places in files.values() for place in places]
    for number, colour in enumerate(colours.values()):
        parts += arrows([place for place in everywhere if place.colour == colour], width - 74 + 26 * number, width - 90)
    parts.append(text(20, y + 18, f"$ fsdp2-lint check {EXAMPLE}", DIM))
    return svg(width, y + 34, found.message, "\n".join(filter(None, parts)))


def card(path: Path, places: list[Place], top: float, right: float) -> tuple[list[str], float]:
    """The file around its places; they learn where they lie."""
    lines = path.read_text(encoding="utf-8").splitlines()
    marked = {place.row: place for place in places}
    y = top + 20
    parts = [text(32, y, path.name, DIM)]
    around = range(places[0].row - 2, min(places[-1].row + 2, len(lines) + 1))
    for row in around if lines[around[-1] - 1].strip() else around[:-1]:
        y += LINE
        code = _MARK.sub("", lines[row - 1])
        if place := marked.get(row):
            place.y = y - 4
            shade = f'<rect x="21" y="{y - 13:.1f}" width="{right - 22:.1f}" height="{2 * LINE}"'
            parts.append(f'{shade} fill="{place.colour}" opacity="0.14"/>')
        parts += [text(32, y, f"{row:3}", DIM), text(32 + 5 * CELL, y, code)]
        if place:
            y += LINE
            indent = len(code) - len(code.lstrip()) + 5
            parts.append(text(32 + indent * CELL, y, place.label.message, place.colour))
    y += 14
    frame = f'<rect x="20" y="{top:.1f}" width="{right - 20:.1f}" height="{y - top:.1f}" rx="6"'
    return [f'{frame} fill="{CARD}" stroke="{EDGE}"/>', *parts], y + 6


def arrows(places: list[Place], x: float, left: float) -> Iterator[str]:
    """From the first place to the others, along the margin."""
    first, *others = places
    for other in others:
        way = f"M{left:.1f} {first.y:.1f}H{x:.1f}V{other.y:.1f}H{left + 8:.1f}"
        yield f'<path d="{way}" fill="none" stroke="{first.colour}" stroke-width="2"/>'
        head = f"M{left:.1f} {other.y:.1f}l10 -5v10z"
        yield f'<path d="{head}" fill="{first.colour}"/>'


# A job: recorded as an asciicast, and drawn as a terminal that scrolls.


def record() -> None:
    """Runs the job and writes down what it says, and when."""
    environment = {**os.environ, "FORCE_COLOR": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fsdp2_lint", *JOB]
    begun = time.monotonic()
    events = [[0.0, "o", f"$ fsdp2-lint {' '.join(JOB)}\r\n"]]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as job:
        assert job.stdout is not None
        for line in job.stdout:
            events.append([round(time.monotonic() - begun, 2), "o", line.rstrip("\n") + "\r\n"])
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": f"fsdp2-lint {' '.join(JOB)}"}
    CAST.write_text("".join(f"{json.dumps(each)}\n" for each in (head, *events)), encoding="utf-8")


def terminal(cast: str) -> str:
    head, *events = map(json.loads, cast.splitlines())
    lines: list[str] = []  # as drawn
    shown: list[tuple[float, int]] = []  # after so many seconds so many lines
    seconds, before = 0.0, 0.0
    for moment, _, words in events:
        seconds += min(moment - before, PAUSE)
        before = moment
        for row in folded(words.rstrip("\r\n")):
            lines.append(row_of(row, 26 + LINE * (len(lines) + 1)))
        shown.append((seconds, len(lines)))
    width, height = 2 * 16 + CELL * COLUMNS, 26 + LINE * (ROWS + 1)
    clip = f'<clipPath id="window"><rect y="30" width="{width:.0f}" height="{LINE * ROWS + 2}"/></clipPath>'
    dots = "".join(
        f'<circle cx="{18 + 16 * at}" cy="14" r="5" fill="{dot}"/>'
        for at, dot in enumerate((*STORY[:1], "#e3b341", "#7ee787"))
    )
    cover = f'<rect class="cover" y="30" width="{width:.0f}" height="{LINE * len(lines) + height:.0f}" fill="{BACK}"/>'
    body = f'{clip}{dots}\n<g clip-path="url(#window)"><g class="scroll">\n' + "\n".join(filter(None, lines))
    return svg(width, height, head["title"], f"{body}\n{cover}\n</g></g>", motion(shown, len(lines)))


def motion(shown: list[tuple[float, int]], count: int) -> str:
    """Styles that uncover the lines one after the other. Without motion all are there, and the last ones are seen."""
    length = shown[-1][0] + HOLD

    def stops(offset: str) -> str:
        return "".join(
            f"{100 * at / length:.2f}%{{transform:translateY({moved(offset, many)}px)}}" for at, many in shown
        )

    def moved(offset: str, many: int) -> int:
        return LINE * many if offset == "cover" else -LINE * max(0, many - ROWS)

    return (
        f"<style>.scroll{{transform:translateY({moved('scroll', count)}px)}}.cover{{display:none}}"
        "@media (prefers-reduced-motion:no-preference){.cover{display:inline}"
        + "".join(
            f".{name}{{animation:{name} {length:.2f}s step-end infinite}}@keyframes {name}{{{stops(name)}}}"
            for name in ("scroll", "cover")
        )
        + "}</style>\n"
    )


def folded(line: str) -> Iterator[list[tuple[str, str, bool]]]:
    """Rows of the terminal: pieces of text, each with its colour and whether it is bold."""
    row: list[tuple[str, str, bool]] = []
    room, colour, bold = COLUMNS, TEXT, False
    words = _STYLED.split(line)
    for at, piece in enumerate(words):
        if at % 2:
            codes = piece.split(";")
            bold = "1" in codes
            colour = next((ANSI[code] for code in codes if code in ANSI), TEXT)
            continue
        while len(piece) > room:
            yield [*row, (piece[:room], colour, bold)]
            row, piece, room = [], piece[room:], COLUMNS
        row.append((piece, colour, bold))
        room -= len(piece)
    yield row


def row_of(row: list[tuple[str, str, bool]], y: float) -> str:
    x, parts = 16.0, []
    for words, colour, bold in row:
        parts.append(text(x, y, words, colour, ' font-weight="bold"' if bold else ""))
        x += CELL * len(words)
    return "".join(parts)


def drawings() -> dict[Path, str]:
    (found,) = lint([str(ROOT / EXAMPLE)]).findings
    return {FINDING: finding(found), TERMINAL: terminal(CAST.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="run the job anew before, which needs torch")
    FOLDER.mkdir(exist_ok=True)
    if parser.parse_args().record:
        record()
    for path, drawing in drawings().items():
        path.write_text(drawing, encoding="utf-8")
