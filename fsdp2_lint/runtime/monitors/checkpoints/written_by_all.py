"""What several ranks write under one name: keys of a checkpoint, of which DCP keeps one rank's value, and files."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner

from ....vocab.facts import Fact
from ....vocab.finding import Moment, Site
from ... import adapter
from ...agreement.digests import digest, sample
from ...facts import everyone, short
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here, users_next
from .payloads import is_array, path_of
from .round_trips import DEPTH

VALUES, FILES = "saved-values", "written-files"
MOST = 500  # values of one checkpoint
MAX_CALLS = 64  # of one place


def install(session: Session) -> None:
    watch = _Watch(session)
    if session.compares(VALUES):
        if hasattr(dcp, "async_save"):
            saver = sys.modules.get("torch.distributed.checkpoint.state_dict_saver", dcp)
            session.watch([(dcp, "async_save"), (saver, "async_save")], rare=True, before=watch.async_save)
        session.watch_fsdp2("saving", rare=True, before=watch.saving)
    if session.compares(FILES):
        session.watch([(torch, "save"), (torch.serialization, "save")], rare=True, before=watch.save)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls: Counter[tuple[str, Site]] = Counter()
        self.begun: Moment | None = None  # the last save that goes on in the background

    def async_save(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.begun = here()

    def saving(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The state as it is written, with what Stateful objects returned. A planner may give each rank other keys."""
        state, group = argument(args, kwargs, 0, "state_dict"), argument(args, kwargs, 2, "process_group")
        planner = argument(args, kwargs, 5, "planner")
        changed = planner is not None and type(planner) is not DefaultSavePlanner
        if changed or argument(args, kwargs, 4, "no_dist") or argument(args, kwargs, 6, "use_collectives") is False:
            return
        when = here() if users_next(sys._getframe())[0] is not None else self.begun
        if when is None:
            return
        ranks = everyone(adapter.all_ranks()) if group is None else tuple(dist.get_process_group_ranks(group))
        buffers = self._buffers()
        values: dict[str, str] = {}
        for name, value in _plain(state, DEPTH):
            if len(values) < MOST and not _is_one_of(buffers, name) and (told := _fingerprint(value)):
                values[name] = told
        if values:
            self._state(VALUES, when, ranks, values)

    def save(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        path = path_of(argument(args, kwargs, 1, "f"))
        if not path or path == os.devnull or called_by_torch(sys._getframe()):
            return
        if content := _fingerprint(argument(args, kwargs, 0, "obj"), whole=False):
            values = {"file": f"{platform.node()}:{os.path.realpath(path)}", "content": content}
            self._state(FILES, here(), everyone(adapter.all_ranks()), values)

    def _state(self, kind: str, when: Moment, ranks: tuple[int, ...], values: Mapping[str, str]) -> None:
        self.calls[kind, when.at] += 1
        if (number := self.calls[kind, when.at]) <= MAX_CALLS and len(ranks) > 1:
            key = f"{when.at}, call {number}"
            self.session.state(Fact(kind, key, when, ranks, values, step=self.session.step + 1))

    def _buffers(self) -> frozenset[str]:
        """The names of the buffers of models: that those differ is another rule's affair."""
        tops = [top for model in self.session.ledger.models if (top := model.module()) is not None]
        return frozenset(name for top in tops for name, _ in top.named_buffers())


def _plain(state: Any, depth: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is no sharded tensor in a state dict, under the names that DCP gives it."""
    for key, item in state.items() if depth and isinstance(state, Mapping) else ():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping):
            yield from _plain(item, depth - 1, name)
        elif not isinstance(item, adapter.DTensor):
            yield name, item


def _is_one_of(buffers: frozenset[str], name: str) -> bool:
    """With whatever the job has put before it."""
    parts = name.split(".")
    return any(".".join(parts[start:]) in buffers for start in range(len(parts)))


def _fingerprint(value: Any, *, whole: bool = True) -> str:
    """Empty where there is nothing to compare, or something that cannot be read. Not ``whole``: of parts of tensors."""
    words = list(_words(value, digest if whole else sample))
    return "" if None in words or whole and not any(words) else short(" ".join(filter(None, words)))


def _words(value: Any, of_tensor: Callable[[torch.Tensor], str]) -> Iterator[str | None]:
    """What tells a state from another one; None for what cannot be looked into.

    A single number with a fraction, or a text, may be a clock or a name: each rank has its own, and that is right.
    """
    if isinstance(value, torch.Tensor):
        single = not value.ndim and value.is_floating_point()
        yield "" if single or isinstance(value, adapter.DTensor) else of_tensor(value)
    elif is_array(value):
        yield of_tensor(torch.as_tensor(value))
    elif value is None or isinstance(value, (bool, float, complex, str)):
        yield ""
    elif isinstance(value, (int, bytes)):
        yield repr(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _words(item, of_tensor)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _words(item, of_tensor)
    else:
        yield None
