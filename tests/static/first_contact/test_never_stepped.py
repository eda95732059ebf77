"""An optimizer that never steps updates nothing."""

from __future__ import annotations

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
model = Net().bfloat16()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.Adam(model.parameters())
model(torch.zeros(2, 3, dtype=torch.long)).sum().backward()
{rest}
"""


def test_only_what_steps_loses_small_updates() -> None:
    kept = "state = optimizer.state_dict()\noptimizer.load_state_dict(state)"
    assert "FSDP501" not in analyse(main(RUN.replace("{rest}", kept))).codes
    for steps in (
        "optimizer.step()",
        "for each in [optimizer]:\n    each.step()",
        "scaler = torch.amp.GradScaler()\nscaler.step(optimizer)",
    ):
        assert "FSDP501" in analyse(main(RUN.replace("{rest}", steps))).codes
