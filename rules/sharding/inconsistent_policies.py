"""FSDP308: the calls on one model ask for what fits together."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import PolicySettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class InconsistentPolicies(Rule):
    code = "FSDP308"
    summary = "the calls on one model differ in precision, offloading or mesh"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "put mesh, mp_policy and offload_policy into one dictionary, and pass it to every call on the model"

    def settled(self, event: PolicySettled) -> Outcomes:
        policy = event.policy
        yield APPLIES
        precision, offloading = policy.other_precision(), policy.other_offloading()
        mesh, forgotten = policy.other_mesh(), policy.replicas_forgotten()
        if not (precision | offloading | mesh | forgotten):
            return
        if precision.surely:
            yield self.found(
                event.when,
                f"groups of one model compute in different dtypes: {precision.what.words}",
                "the weights have the dtype that this call asks for",
                (precision.what.when, "the tensors come out of this group"),
            )
        if offloading.surely:
            yield self.found(
                event.when,
                f"{policy.label} differs in offload_policy from another group of its model",
                "some parameters stay on the GPU, and others on the CPU",
                (offloading.what.when, f"this call {offloading.what.words}"),
            )
        if mesh.surely:
            yield self.found(
                event.when,
                f"{policy.label} has another mesh than its blocks: clipping all gradients fails",
                "the mesh of the root",
                (mesh.what.when, "the blocks have another one"),
            )
        if forgotten.surely:
            yield self.found(
                event.when,
                f"the dimension {forgotten.what.words} of the mesh is left out: nothing keeps its replicas equal",
                "gradients are reduced over the other dimension only",
                (forgotten.what.when, "the mesh is made here"),
            )
