"""FSDP101: each rank selects its own GPU."""

from __future__ import annotations

from fsdp2_lint.vocab.events.launch import ProgramEnded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DeviceNotSet(Rule):
    code = "FSDP101"
    summary = "CUDA is used and nothing selects the GPU from LOCAL_RANK"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = 'call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) first'

    def ended(self, event: ProgramEnded) -> Outcomes:
        used, mesh = event.process.current_device_used(), event.process.mesh_made()
        if not (used | mesh):
            return
        yield APPLIES
        if event.process.device_selected():
            return
        if used:
            moment, how = used.what
            yield self.found(
                moment,
                "every rank works on cuda:0: no reachable code selects the GPU from LOCAL_RANK",
                f"{how} means the current device, which is cuda:0 on every rank",
            )
        else:
            yield self.found(
                mesh.what,
                "no reachable code selects the GPU: it is right only while CUDA is untouched up to here",
                "torch selects LOCAL_RANK here, if nothing has used CUDA before",
                severity=Severity.WARNING,
            )
