"""What a watched job leaves as it is: the attributes of torch, and its collectives."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from fsdp2_lint.runtime.patches import Patches  # noqa: E402

COLLECTIVES = (
    "all_gather_single",  # what FSDP2 calls in torch 2.13, and the two of older ones
    "reduce_scatter_single",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_reduce",
    "all_gather",
    "all_gather_object",
    "broadcast",
    "broadcast_object_list",
    "barrier",
    "all_to_all_single",
    "gather",
    "scatter",
    "send",
    "recv",
)


class Places:
    """Every attribute that a session replaces, as it was before."""

    def __init__(self) -> None:
        self.before: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._replace = Patches.replace

    def __enter__(self) -> Places:
        replace = self._replace

        def recorded(patches: Patches, owner: Any, name: str, *rest: Any, **more: Any) -> None:
            self.before.setdefault((id(owner), name), (owner, name, vars(owner).get(name, self)))
            replace(patches, owner, name, *rest, **more)

        Patches.replace = recorded  # type: ignore[method-assign]
        self.hooks = _global_hooks()
        return self

    def __exit__(self, *_: object) -> None:
        Patches.replace = self._replace  # type: ignore[method-assign]

    def left_behind(self) -> list[str]:
        """What is not the very object that was there before."""
        names = [
            f"{getattr(owner, '__name__', owner)}.{name}"
            for owner, name, original in self.before.values()
            if vars(owner).get(name, self) is not original
        ]
        return names + [name for name, count in _global_hooks().items() if count != self.hooks[name]]


def _global_hooks() -> dict[str, int]:
    spaces = [(nn_module, name) for name in vars(nn_module) if name.startswith("_global_") and "hooks" in name]
    spaces += [(optim, name) for name in vars(optim) if name.startswith("_global_optimizer_")]
    return {name: len(found) for owner, name in spaces if hasattr(found := getattr(owner, name), "__len__")}


@contextmanager
def counted_collectives() -> Iterator[Counter[str]]:
    """How often functions of torch.distributed are called, whoever calls them."""
    counts: Counter[str] = Counter()
    originals = {name: getattr(dist, name) for name in COLLECTIVES if hasattr(dist, name)}

    def counting(name: str) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return originals[name](*args, **kwargs)

        return counted

    spaces = [dist, sys.modules["torch.distributed.distributed_c10d"]]
    for space in spaces:
        for name in originals:
            setattr(space, name, counting(name))
    try:
        yield counts
    finally:
        for space in spaces:
            for name, original in originals.items():
                setattr(space, name, original)


def sequence_number() -> int:
    """How many collectives the process group itself has begun."""
    return int(dist.group.WORLD._get_sequence_number_for_group())  # type: ignore[union-attr]


# The jobs. Each runs on every rank, and rank 0's result counts.
