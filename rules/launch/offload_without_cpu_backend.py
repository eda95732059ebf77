"""FSDP105: parameters that are offloaded to the CPU have a process group that works there."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import Offloaded
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule


class OffloadWithoutCpuBackend(Rule):
    code = "FSDP105"
    summary = "CPUOffloadPolicy with a process group that only NCCL serves"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = 'give the group both backends, init_process_group("cpu:gloo,cuda:nccl"), or name none'

    def offloaded(self, event: Offloaded) -> Outcomes:
        yield APPLIES
        if lacking := event.offload.without_cpu_backend():
            yield self.found(
                lacking.what.when,
                f"the process group has {lacking.what.words} only, and gradients of CPUOffloadPolicy lie on the CPU: "
                "clipping and every other collective on them fails",
                "no backend for CPU tensors",
                (event.when, "sharded with CPUOffloadPolicy"),
            )
