"""What the watcher of a node does, round by round, until the ranks of the node have ended."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...catalogue import registry
from ...errors import debugging
from ..hangs.layers import layers_from_json
from .comparer import Comparer
from .node import Node
from .speaker import Speaker

ROUND = 0.5  # seconds; who dies is seen at once
GLANCE = 0.02  # seconds between two looks at what is compared all the time
LATE = 2.0  # seconds between two rounds: somebody has stopped us, and perhaps the ranks
ALONE = 10.0  # seconds until the first heartbeat, which was there before us


Look = Callable[[Node, float], None]
"""What is looked at besides: it is given the node, and the time of a clock that nobody sets."""


def main(given: str) -> None:
    if os.fork():
        os._exit(0)  # nobody's child any more
    values = json.loads(given)
    node = Node(Path(values["folder"]), values["patience"], layers_from_json(values["layers"]))
    judges = registry.select(registry.rules(), tuple(values["select"]), tuple(values["ignore"]))
    looks: list[Look] = [Speaker(node.folder.parent, *judges).look]
    glances: list[Look] = []
    if values["watch"]:
        comparer = Comparer(*judges)
        looks.append(comparer.meet)
        glances.append(comparer.look)
    watch(node, looks, glances)


def watch(node: Node, looks: list[Look], glances: list[Look]) -> None:
    """``looks`` once in each round, ``glances`` as often as can be."""
    began = last = time.monotonic()
    while not node.is_over:
        now = time.monotonic()
        if now - last > LATE:
            node.excuse(now)
        if not node.ranks and (now - began > ALONE or not node.folder.exists()):
            return
        last = now
        node.look(now)
        _all(looks, node, now)
        _between(node, glances, now + ROUND)
    _all(glances, node, last)  # what came after the last glance


def _between(node: Node, glances: list[Look], until: float) -> None:
    """The time to the next round, or to the end of a rank."""
    while not node.is_over and (left := until - time.monotonic()) > 0:
        if node.deaths.wait(min(left, GLANCE) if glances else left):
            return
        _all(glances, node, until)


def _all(looks: list[Look], node: Node, now: float) -> None:
    for look in list(looks):
        try:
            look(node, now)
        except Exception as error:
            looks.remove(look)
            _defect(node, error)


def _defect(node: Node, error: Exception) -> None:
    """A defect of our own disturbs nobody, and is in the report."""
    if debugging():
        sys.excepthook(type(error), error, error.__traceback__)
    what: dict[str, Any] = {"where": "the watcher", "error": f"{type(error).__name__}: {error}"}
    for rank in list(node.ranks.values())[:1]:
        rank.write("defect", **what)
