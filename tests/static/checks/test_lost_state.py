"""State that a class of parameters keeps, which ``fully_shard`` does not take over."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, analyse, script

CLASS = """\
class Int8({base}):
{made}

"""
NEW = """\
    def __new__(cls, data, scale):
        made = torch.Tensor._make_subclass(cls, data, False)
        made.scale = scale
        return made
"""
INIT = """\
    def __new__(cls, data, scale):
        return super().__new__(cls, data, requires_grad=False)

    def __init__(self, data, scale):
        self.scale = scale
"""
OUTSIDE = """\
    def __new__(cls, data, scale):
        return super().__new__(cls, data, requires_grad=False)
"""
MODULE = """\
class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Int8(torch.zeros(8, 8), torch.ones(8))
        {kept}
        self.out = nn.Linear(8, 8)

    def forward(self, x):
        {read}
        return self.out(x @ (self.weight if scale is None else self.weight * scale))


dist.init_process_group("gloo")
model = nn.Sequential(Quantised(), Quantised())
{sharded}
{again}
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
model(torch.ones(2, 8)).sum().backward()
optimizer.step()
"""
GETATTR = 'scale = getattr(self.weight, "scale", None)'
SHARDED = "for layer in model:\n    fully_shard(layer)\nfully_shard(model)"


def verdict(
    made: str = NEW,
    base: str = "nn.Parameter",
    read: str = GETATTR,
    sharded: str = SHARDED,
    kept: str = "",
    again: str = "",
) -> tuple[list[str], set[str]]:
    text = HEAD + CLASS.format(base=base, made=made) + MODULE.format(kept=kept, read=read, sharded=sharded, again=again)
    analysis = analyse(text)
    found = [each.severity.value for each in analysis.result.findings if each.code == "FSDP317"]
    return found, analysis.verdicts("FSDP317")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="with another default"),
        pytest.param({"made": INIT}, id="set by the initialiser"),
        pytest.param({"made": OUTSIDE, "kept": "self.weight.scale = torch.ones(8)"}, id="set from outside"),
        pytest.param(
            {"sharded": "for layer in model:\n    fully_shard(layer.out)\nfully_shard(model)"}, id="in the root"
        ),
        pytest.param(
            {"read": 'scale = self.weight.scale if hasattr(self.weight, "scale") else None'}, id="asked first"
        ),
        pytest.param({"sharded": "fully_shard(model)"}, id="one group"),
    ],
)
def test_state_is_lost(changes: dict[str, str]) -> None:
    assert verdict(**changes)[0] == ["error"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"read": "scale = None"}, id="never read"),
        pytest.param(
            {"kept": 'self.register_buffer("scale", torch.ones(8))', "read": "scale = self.scale"}, id="in a buffer"
        ),
        pytest.param(
            {"made": NEW + "\n    def fsdp_pre_all_gather(self, *args):\n        return (self,), None\n"},
            id="it says what is gathered",
        ),
        pytest.param(
            {"made": NEW + "\n    @classmethod\n    def __torch_function__(cls, *args):\n        return None\n"},
            id="it says what operations make",
        ),
        pytest.param({"base": "Parameter"}, id="of a class that was not seen"),
        pytest.param({"again": "for layer in model:\n    layer.weight.scale = torch.ones(8)"}, id="attached again"),
        pytest.param(
            {"sharded": SHARDED.replace("(layer)", "(layer, ignored_params={layer.weight})")},
            id="left out of the group",
        ),
        pytest.param({"sharded": "for layer in model:\n    fully_shard(layer.out)"}, id="in no group"),
        pytest.param({"sharded": ""}, id="not sharded"),
    ],
)
def test_state_that_is_there_or_not_known_to_be_lost(changes: dict[str, str]) -> None:
    assert verdict(**changes)[0] == []


MARKED = """
def undecayed(parameter):
    parameter.no_decay = True
    return parameter


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = undecayed(nn.Parameter(torch.ones(4)))
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale
"""
READ = """
dist.init_process_group("nccl")
model = Scaled()
BEFORE
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
AFTER
optimizer = torch.optim.AdamW([{"params": plain, "weight_decay": 0.0}])
"""
ASKS = 'plain = [p for p in model.parameters() if getattr(p, "no_decay", False)]'


def test_a_parameter_that_was_marked_before_a_module_had_it() -> None:
    late = analyse(script(READ.replace("BEFORE\n", "").replace("AFTER", ASKS), MARKED))
    assert "violated" in late.verdicts("FSDP317")
    early = analyse(script(READ.replace("BEFORE", ASKS).replace("AFTER\n", ""), MARKED))
    assert "violated" not in early.verdicts("FSDP317")
