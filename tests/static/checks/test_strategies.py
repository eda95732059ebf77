"""Programs that train by FSDP2 or by another framework: what the other one gets its hands on is never sharded."""

from __future__ import annotations

from tests.static.program import analyse, script

BEFORE = """
import argparse
import deepspeed
from deepspeed.ops.adam import DeepSpeedCPUAdam


class ByFsdp2:
    def prepare(self, model):
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        return model, torch.optim.AdamW(model.parameters())


class ByDeepSpeed:
    def prepare(self, model):
        optimizer = DeepSpeedCPUAdam(model.parameters())
        engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer)
        return engine, optimizer
"""
MAIN = """
parser = argparse.ArgumentParser()
parser.add_argument("--fsdp", action="store_true")
args = parser.parse_args()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
strategy = STRATEGY
model, optimizer = strategy.prepare(Net())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_an_optimizer_of_the_other_framework() -> None:
    seen = analyse(script(MAIN.replace("STRATEGY", "ByFsdp2() if args.fsdp else ByDeepSpeed()"), BEFORE))
    for code in ("FSDP301", "FSDP303", "FSDP501", "FSDP601"):
        assert seen.verdicts(code) == {"upheld"}, seen.reasons(code)


def test_both_on_one_path() -> None:
    both = MAIN.replace("STRATEGY", "ByDeepSpeed()").replace(
        "strategy.prepare(Net())", "strategy.prepare(shard(Net()))"
    )
    shard = "\n\ndef shard(model):\n    fully_shard(model)\n    return model\n"
    assert analyse(script(both, BEFORE + shard)).verdicts("FSDP601") == {"unknown"}
