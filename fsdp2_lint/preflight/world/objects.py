"""Objects that ranks send each other: those of this rank come from all, and those of one rank from where it left them.

Torch's own code runs over the fake group, so that each of these issues the collectives that it issues in the job.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from ...runtime.adapter import rehearsal
from ...runtime.sites import called_by_torch, here
from .place import CannotRehearse, Limits
from .replacing import arguments, instead
from .shared import Shared

OWN = "each rank is taken to have sent what this one sends"
NOT_KNOWN = "rank {} sends an object here, and it was not rehearsed before this rank: this rank keeps its own"
NO_SENDER = "the script receives an object from one other rank, which is not there"


class Objects:
    """Each rehearsed rank leaves what it sends to the others, and each takes what those before it left."""

    def __init__(self, limits: Limits, shared: Shared) -> None:
        self.limits = limits
        self.shared = shared

    def of_equals(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound where all ranks send the same; the limit says that this is assumed.
        def exchange(*args: Any, **kwargs: Any) -> Any:
            self._say(OWN)
            with rehearsal.without_fakes():
                return original(*args, **kwargs)

        return exchange

    def of_one(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In place of ``broadcast_object_list``. Sound: each rank gets what the sender sent when it was rehearsed."""

        def broadcast_object_list(*args: Any, **kwargs: Any) -> None:
            given = arguments(original, args, kwargs)
            objects, group = given["object_list"], given.get("group")
            source = _source(given)
            if source is None:
                return
            if source != dist.get_rank():
                objects[:] = self._received("broadcast", group, source, objects)
            else:
                self._leave("broadcast", group, objects)
            with rehearsal.without_fakes():
                original(objects, group_src=dist.get_rank(group), group=group)

        return broadcast_object_list

    def dealt_out(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In place of ``scatter_object_list``. Sound, as a broadcast is."""

        def scatter_object_list(*args: Any, **kwargs: Any) -> None:
            given = arguments(original, args, kwargs)
            group, parts = given.get("group"), given.get("scatter_object_input_list")
            source = _source(given)
            if source is None:
                return
            if source != dist.get_rank():
                parts = self._received("scatter", group, source, [None] * dist.get_world_size(group))
            else:
                self._leave("scatter", group, parts)
            with rehearsal.without_fakes():
                original(given["scatter_object_output_list"], parts, group=group, group_src=dist.get_rank(group))

        return scatter_object_list

    def refused(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def recv_object_list(*args: Any, **kwargs: Any) -> None:
            raise CannotRehearse(NO_SENDER)

        return recv_object_list

    def _say(self, text: str) -> None:
        """What torch's own functions send, such as who writes what of a checkpoint, decides nothing in a rehearsal."""
        if not called_by_torch(sys._getframe()):
            self.limits.say(text, here().at)

    def _leave(self, kind: str, group: Any, objects: Any) -> None:
        self.shared.turn(kind, group, dist.get_rank()).leave(objects)

    def _received(self, kind: str, group: Any, source: int, own: list[Any]) -> list[Any]:
        turn = self.shared.turn(kind, group, source)
        if not turn.was_left():
            self._say(NOT_KNOWN.format(source))
            return own
        found: list[Any] = turn.left()
        return found


def _source(given: dict[str, Any]) -> int | None:
    """The sender's rank in the whole job; None where this rank is not in the group."""
    group = given.get("group")
    if dist.get_rank(group) < 0:
        return None
    if given.get("group_src") is not None:
        world: Any = dist.group.WORLD
        return int(dist.get_global_rank(world if group is None else group, given["group_src"]))
    source = given.get("src")
    return 0 if source is None else int(source)


def exchange_objects(objects: Objects) -> None:
    for name, make in (
        ("all_gather_object", objects.of_equals),
        ("gather_object", objects.of_equals),
        ("broadcast_object_list", objects.of_one),
        ("scatter_object_list", objects.dealt_out),
        ("recv_object_list", objects.refused),
    ):
        instead(rehearsal.spots_of_groups(name), make)
