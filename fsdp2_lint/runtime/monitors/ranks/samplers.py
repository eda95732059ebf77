"""Samplers that deal out a data set to the ranks: with which seed, and for which epoch, to the end of the job."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from torch.utils.data import DistributedSampler

from ....vocab.facts import Fact
from ....vocab.finding import Moment, Site
from ... import adapter
from ...facts import everyone
from ...session import Session
from ...sites import construction_of, here

KIND = "sampler"
MAX_PASSES = 64  # of the samplers that one place makes


def install(session: Session) -> None:
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    session.watch((DistributedSampler, "__init__"), rare=True, after=watch.made)
    session.watch((DistributedSampler, "__iter__"), rare=True, before=watch.read)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.places: weakref.WeakKeyDictionary[Any, Moment] = weakref.WeakKeyDictionary()
        self.passes: Counter[Site] = Counter()

    def made(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.places[args[0]] = construction_of(args[0])

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sampler = args[0]
        when = self.places.get(sampler) or here()
        self.passes[when.at] += 1
        number, step = self.passes[when.at], self.session.step + 1
        if not sampler.shuffle or sampler.num_replicas < 2 or number > MAX_PASSES or not adapter.is_member():
            return
        values = {"order": f"seed {sampler.seed}, epoch {sampler.epoch}"}
        traits = {"part": str(sampler.rank), "parts": str(sampler.num_replicas)}
        key = f"{when.at}, pass {number}"
        self.session.state(Fact(KIND, key, when, everyone(adapter.all_ranks()), values, traits=traits, step=step))
