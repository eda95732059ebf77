"""FSDP106: the launcher and the process group tell the same story."""

from __future__ import annotations

from fsdp2_lint.vocab.events.launch import Launched
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class LaunchMismatch(Rule):
    code = "FSDP106"
    summary = "RANK and WORLD_SIZE disagree with the process group, or two ranks share a GPU"
    severity = Severity.ERROR
    judged_by = "R"
    compares = "device"
    each_its_own = True
    help = "call init_process_group() without rank and world_size, and select the GPU from LOCAL_RANK"

    def launched(self, event: Launched) -> Outcomes:
        yield APPLIES
        if mismatch := event.process.launch_mismatch():
            yield self.found(
                event.when,
                f"{mismatch.what}: the ranks do not train one model",
                "the process group is made here",
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        for ranks, device in groups_of_ranks(facts, "device"):
            if len(ranks) > 1 and device is not None:
                yield self.found(
                    facts[ranks[0]].when,
                    f"{in_words(ranks)} work on one GPU ({device})",
                    "the model is sharded on that GPU here",
                )
