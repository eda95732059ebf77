"""``register_fsdp_forward_method`` on a module that is not sharded yet does nothing (FSDP402)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

NET = """
from torch.distributed.fsdp import register_fsdp_forward_method


class Writer(nn.Module):
    methods = ("generate",)

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def generate(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
BEGIN = 'dist.init_process_group("gloo")\nmodel = Writer()\nfor layer in model.layers:\n    fully_shard(layer)\n'
ROOT = "fully_shard(model)\n"
END = "model(torch.ones(8)).sum().backward()\nmodel.generate(torch.ones(8))\n"
REGISTRATIONS = {
    "by name": 'register_fsdp_forward_method(model, "generate")\n',
    "in a loop": "for name in model.methods:\n    register_fsdp_forward_method(model, name)\n",
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_before_the_module_is_sharded_it_does_nothing(name: str) -> None:
    analysis = analyse(script(BEGIN + REGISTRATIONS[name] + ROOT + END, NET))
    assert analysis.codes == ["FSDP402"]
    (finding,) = analysis.result.findings
    assert any("before the module is sharded" in each.message for each in finding.related)


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_afterwards_it_does(name: str) -> None:
    assert analyse(script(BEGIN + ROOT + REGISTRATIONS[name] + END, NET)).codes == []


def test_what_unseen_code_may_have_sharded_is_not_known() -> None:
    program = BEGIN.replace("model = Writer()", "from theirs import built\nmodel = built()")
    assert "FSDP402" not in analyse(script(program + REGISTRATIONS["by name"] + ROOT + END, NET)).codes
