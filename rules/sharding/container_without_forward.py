"""FSDP306: a container that is never called cannot be a group."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import Sharded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ContainerWithoutForward(Rule):
    code = "FSDP306"
    summary = "fully_shard is applied to a ModuleList or ModuleDict"
    severity = Severity.ERROR
    judged_by = "SP"
    help = "loop over the container and shard each module in it"

    def sharded(self, event: Sharded) -> Outcomes:
        yield APPLIES
        if container := event.unit.container_without_forward():
            yield self.found(
                event.when,
                f"{container.what} has no forward of its own: fully_shard raises a ValueError",
                "this container is never called",
            )
