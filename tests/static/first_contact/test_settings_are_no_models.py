"""What a package for settings makes is never a module: where it might be sharded, torch refuses it."""

from __future__ import annotations

from tests.static.program import analyse, script

BUILD = """
from omegaconf import DictConfig, OmegaConf


def build(config):
    if isinstance(config, DictConfig) and config.get("raw"):
        return OmegaConf.create({"a": 1})
    return Net()
"""
MAIN = """
import sys
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = build(OmegaConf.load(sys.argv[1]))
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model.forward(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


def test_only_the_model_is_sharded() -> None:
    models = {model.label for model in analyse(script(MAIN, BUILD)).result.models}
    assert "Net" in models and not any("OmegaConf" in label for label in models)
