"""Faults of torch itself that some programs meet: in which versions, and what the program can do.

An entry needs both: a thread, and bounds that the sources of the versions on both sides show. What no released version
has is left out, and so is what nobody knows the end of. FSDP910 says which these are.
"""

from __future__ import annotations

from .behaviour import Behaviour
from .declared import record
from .target import Version, in_words


@record
class Defect:
    """``behaviour``: what torch does wrong, as the continuation of its name. ``remedy``: what the program can do."""

    behaviour: Behaviour
    remedy: str

    def in_words(self, torch: Version) -> str:
        """``torch 2.13 does ... (thread; fixed in torch 2.14): remedy``."""
        mended = f"; fixed in {in_words(self.behaviour.until)}" if self.behaviour.until is not None else ""
        return f"{in_words(torch)} {self.behaviour.words} ({self.behaviour.source}{mended}): {self.remedy}"


UNFROZEN_AFTER_FORWARD = Defect(
    Behaviour(
        "ignores reduce_dtype for a group that is frozen at the first forward",
        since=(2, 8),  # before, the dtypes were taken from all parameters of the group
        until=(2, 14),
        source="pytorch#186998",
    ),
    remedy="freeze it after the first forward, or leave its parameters out of the optimizer instead",
)
HOOK_BEFORE_COPY = Defect(
    Behaviour(
        "runs hooks on an offloaded gradient before its copy to the CPU has ended",
        since=None,
        until=(2, 13),
        source="pytorch#180666",
    ),
    remedy="offload with CPUOffloadPolicy(pin_memory=False), or step after backward() instead of in hooks",
)
REPLICAS_DIVIDE_AGAIN = Defect(
    Behaviour(
        "divides by the number of replicas once more behind set_reduce_scatter_divide_factor",
        since=None,
        until=(2, 8),  # the factor is that of the whole reduction from then on
        source="pytorch#155903",
    ),
    remedy="give the factor for the ranks that share a parameter only, without the replicas",
)
BUFFER_OF_REPLICAS_REUSED = Defect(
    Behaviour(
        "frees a gradient's buffer while the replicas of an HSDP mesh still reduce it in 16 bits",
        since=None,
        until=(2, 6),
        source="pytorch#140044",
    ),
    remedy="reduce in float32, with reduce_dtype=torch.float32",
)
