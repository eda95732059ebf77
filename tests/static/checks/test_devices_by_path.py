"""Which device a rank selects, where there are several to choose from; and lists that are gone through together."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
{before}
torch.cuda.set_device({device})
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
{after}
"""
USED = 'first = torch.zeros(3, device="cuda")'
CHOSEN = "device = torch.device('cuda', {index}) if torch.cuda.is_available() else torch.device('cpu')"


def codes(before: str, device: str, after: str = "pass", extra: str = "") -> list[str]:
    return analyse(script(MAIN.format(before=before, device=device, after=after), extra)).codes


@pytest.mark.parametrize("device", ["0", "'cuda:0'", "torch.device('cuda', 0)", "torch.device('cuda:0')"])
def test_the_first_device_is_the_current_one_before(device: str) -> None:
    assert codes(USED, device) == []


@pytest.mark.parametrize("device", ["1", "int(os.environ['LOCAL_RANK'])"])
def test_another_one_is_selected_too_late(device: str) -> None:
    assert codes(USED, device) == ["FSDP103"]


@pytest.mark.parametrize(
    ("index", "expected"), [("0", []), ("1", ["FSDP103"]), ("dist.get_rank()", ["FSDP102", "FSDP103"])]
)
def test_a_device_that_is_chosen_by_what_there_is(index: str, expected: list[str]) -> None:
    assert codes(f"{USED}\n{CHOSEN.format(index=index)}", "device") == expected


WEIGHTS = """
class Plain:
    def shard(self, model):
        return model
    def weights(self, model):
        return {{n: p.detach().cpu() for n, p in model.named_parameters()}}

class Sharded:
    def shard(self, model):
        for layer in model.layers:
            fully_shard(layer)
        return fully_shard(model)
    def weights(self, model):
        return {{n: p.detach(){full}.cpu() for n, p in model.named_parameters()}}
"""
COMPARED = """
import sys
strategy = Sharded() if sys.argv[1] == "fsdp" else Plain()
sharded = strategy.shard(Net())
plain = Net()
found = strategy.weights(sharded)
worst = max((a - b.detach().cpu()).abs().max().item() for a, b in zip(found.values(), plain.parameters()))
"""


@pytest.mark.parametrize(("full", "expected"), [(".full_tensor()", []), ("", ["FSDP603"])])
def test_what_is_gone_through_together_keeps_its_path(full: str, expected: list[str]) -> None:
    """The weights of one strategy are plain where the other one shards: each is compared on its own path."""
    device = "int(os.environ['LOCAL_RANK'])"
    assert codes("pass", device, COMPARED, WEIGHTS.format(full=full)) == expected
