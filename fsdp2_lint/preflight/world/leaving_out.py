"""What a rehearsal leaves out, or refuses: compilers, workers of loaders, and other ways to train in parallel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.multiprocessing
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from ...runtime.sites import here
from .place import CannotRehearse, Limits, Place
from .replacing import arguments, instead

COMPILED = "torch.compile changes nothing here: the code runs as it is written"
WORKERS = "a DataLoader has no workers here: batches are made in the process that trains"
SPAWNED = "the script starts its ranks itself: one of them is rehearsed, in this process"
REFUSED = "the script trains with {}, and only FSDP2 (fully_shard) is rehearsed"
SPAWNS = ("spawn", "start_processes")


def leave_out_compilers(limits: Limits) -> None:
    """``torch.compile`` and its kin give back what they are given, once this was said."""

    def compiled(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: a compiler keeps what a program computes, and FSDP2's hooks are outside of what it compiles.
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is None:
                return lambda function: function
            limits.say(COMPILED, here().at)
            return model

        return compile

    def in_place(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(self: nn.Module, *args: Any, **kwargs: Any) -> None:
            limits.say(COMPILED, here().at)

        return compile

    instead([(torch, "compile")], compiled)
    instead([(nn.Module, "compile")], in_place)


ALONE = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "pin_memory": False, "timeout": 0}


def leave_out_workers(limits: Limits) -> None:
    def alone(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: the same samples in the same order; a data set that asks which worker it is in gets all of them.
        def initialise(*args: Any, **kwargs: Any) -> None:
            given = arguments(original, args, kwargs)
            if given.get("num_workers"):
                limits.say(WORKERS, here().at)
            given = {**given, **{name: value for name, value in ALONE.items() if name in given}}
            given.pop("multiprocessing_context", None)
            original(**given)

        return initialise

    instead([(DataLoader, "__init__")], alone)


def run_one_rank(place: Place, limits: Limits) -> None:
    """Of the ranks that a script starts itself, the one of our number on its node."""

    def inline(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: the function that each rank runs is run, with the number of this one.
        def spawn(fn: Callable[..., Any], args: Any = (), nprocs: int = 1, *more: Any, **options: Any) -> Any:
            limits.say(SPAWNED, here().at)
            fn(place.rank % nprocs, *args)
            return SimpleNamespace(join=lambda *given, **named: True)  # for who joins them

        return spawn

    for name in SPAWNS:
        instead([(torch.multiprocessing, name), (sys.modules["torch.multiprocessing.spawn"], name)], inline)


def refuse_others() -> None:
    for kind, name in ((DistributedDataParallel, "DDP"), (FullyShardedDataParallel, "FSDP1")):
        instead([(kind, "__init__")], _refusal(name))


def _refusal(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def initialise(*args: Any, **kwargs: Any) -> None:
            raise CannotRehearse(REFUSED.format(name))

        return initialise

    return make
