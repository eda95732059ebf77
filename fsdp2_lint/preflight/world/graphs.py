"""CUDA graphs: what is captured runs once, as Python; what is replayed does not."""

from __future__ import annotations

from typing import Any

from ...runtime.sites import here
from .place import Limits

REPLAYED = "a CUDA graph is replayed here: its collectives and its memory are seen where it was captured, and not again"


def graphs(limits: Limits) -> dict[str, Any]:
    """By the name in ``torch.cuda``. Sound: a graph does again what was captured, and no shape differs."""

    class CUDAGraph:
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return super().__new__(cls)

        def capture_begin(self, *args: Any, **kwargs: Any) -> None: ...

        def capture_end(self) -> None: ...

        def instantiate(self) -> None: ...

        def reset(self) -> None: ...

        def pool(self) -> tuple[int, int]:
            return (0, 1)

        def replay(self) -> None:
            limits.say(REPLAYED, here().at)

    class graph:
        def __init__(self, cuda_graph: Any, *args: Any, **kwargs: Any) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *told: object) -> None: ...

    return {
        "CUDAGraph": CUDAGraph,
        "graph": graph,
        "graph_pool_handle": lambda: (0, 1),
        "make_graphed_callables": lambda callables, *args, **kwargs: callables,
    }
