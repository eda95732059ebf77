"""What torch does in some versions and not in others. What it *has* in each of them is in ``torch_api.json``.

A rule whose truth depends on the version asks here, for its target, and names the version in its message. The static
analysis judges for the torch that the program is to run on, the runtime monitor for the one that runs.
"""

from __future__ import annotations

from .declared import record
from .target import Version, in_digits, in_words


@record
class Behaviour:
    """``since``: the first version that does it; None: the oldest known does. ``until``: the first that does not do it
    any more; None: the newest known does. ``source`` is where the two are known from: a thread, or the sources of the
    versions on both sides. Where a version is in doubt it counts as one that does not.
    """

    words: str
    since: Version | None
    until: Version | None
    source: str

    def of(self, torch: Version) -> bool:
        """Does this version do it?"""
        return (self.since is None or self.since <= torch) and (self.until is None or torch < self.until)

    @property
    def versions(self) -> str:
        """``before torch 2.13``, ``from torch 2.8 to before 2.14``."""
        if self.until is None:
            return f"from {in_words(self.since)}" if self.since is not None else "in all versions"
        if self.since is None:
            return f"before {in_words(self.until)}"
        return f"from {in_words(self.since)} to before {in_digits(self.until)}"


FSDP2_IS_PUBLIC = Behaviour(
    "torch.distributed.fsdp exports fully_shard",
    since=(2, 6),
    until=None,
    source="torch_api.json",
)
ROOT_STAYS_GATHERED = Behaviour(
    "a root keeps its gathered parameters after forward, whatever reshard_after_forward says",
    since=None,
    until=(2, 8),
    source="FSDPState of torch 2.7.1 and 2.8.0, which has _auto_reshard_after_forward",
)
NORM_OF_CLIPPING_IS_PARTIAL = Behaviour(
    "clip_grad_norm_ returns a norm of which each rank holds a part",
    since=None,
    until=(2, 10),  # replicated in 2.13, as measured; between the two nobody has measured it
    source="the sources of torch 2.9.1 and a measurement with 2.13",
)
TESTS_ARE_PARTIAL = Behaviour(
    "any() and all() of a DTensor give each rank the answer for its own part",
    since=None,
    until=(2, 14),  # complete from then on; sums, means and extremes are not
    source="_ops/_math_ops.py of torch 2.13.0 and 2.14.1, and a measurement with 2.13.0, 2.14.1 and 2.15.0",
)
TIED_ACROSS_GROUPS_IS_REFUSED = Behaviour(
    "the first forward raises where two groups share a parameter",
    since=(2, 12),
    until=None,
    source="_fsdp_state.py of torch 2.11.0 and 2.12.0",
)
REDUCED_AS_COMPUTED = Behaviour(
    "gradients are reduced in param_dtype where reduce_dtype is None",
    since=None,
    until=(2, 15),  # from then on they are reduced in the dtype of the sharded gradient
    source="the docstrings of MixedPrecisionPolicy in torch 2.14.1 and 2.15.0, and a measurement with 2.13 and 2.15",
)
POLICY_IS_COPIED = Behaviour(
    "fully_shard copies mp_policy, and raises where it is none",
    since=(2, 15),
    until=None,
    source="FSDPState.init of torch 2.14.1 and 2.15.0, and a measurement with both",
)

RESET_CLEARS_SUMS = Behaviour(
    "reset_iter_state() clears gradients that were added up without synchronisation",
    since=(2, 15),
    until=None,
    source="FSDPParamGroup of torch 2.14.1 and 2.15.0, and a measurement with 2.13 and 2.15",
)
RESET_CLEARS_PARTIAL_SUMS = Behaviour(
    "reset_iter_state() clears the partial sums of replicas",
    since=(2, 13),
    until=None,
    source="torch_api.json, which has the method from 2.13 on, and a measurement with 2.13",
)


def about_root(torch: Version) -> str:
    """What has to be said of a root that stays gathered, where the keyword that would free it has no effect."""
    ignored = ROOT_STAYS_GATHERED.of(torch)
    return f"; {in_words(torch)} ignores reshard_after_forward=True on the root" if ignored else ""
