"""What ``hydra.compose`` gives are settings, and a program that is run leaves models and the device alone."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse, script

HYDRA = "from hydra import compose, initialize, initialize_config_dir\n"
KEPT = NET.replace("def __init__(self):\n        super().__init__()\n        self.embed", "{}").format(
    "def __init__(self, cfg):\n        super().__init__()\n        self.cfg = cfg\n        self.embed"
)
TRAINED = """
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randint(100, (4, 16), device="cuda")).sum().backward()
optimizer.step()
"""


def composed(use: str, how: str = 'initialize(config_path="conf")') -> list[str]:
    body = f"""
with {how}:
    cfg = compose(config_name="train")
model = Net(cfg)
{use}
fully_shard(model)
{TRAINED}
"""
    return analyse(script(body, HYDRA, net=KEPT)).codes


@pytest.mark.parametrize(
    "use",
    [
        'name = cfg.get("experiment", {}).get("name")',
        'strategy = cfg.experiment.strategy.lower()\nprint(cfg.experiment.get("strategy", "ddp"))',
        'if cfg.embeddings.current is None:\n    raise SystemExit(1)\nfiles = cfg.data.root.format("x")',
    ],
)
def test_settings_that_a_model_keeps_do_nothing_to_it(use: str) -> None:
    assert "FSDP301" in composed(use)
    assert "FSDP301" in composed(use, 'initialize_config_dir("/conf")')


def test_what_settings_name_may_do_anything() -> None:
    use = "from hydra.utils import instantiate\ninstantiate(cfg.hook, model)"
    assert "FSDP301" not in composed(use)


@pytest.mark.parametrize(
    "run",
    [
        'subprocess.check_output(["git", "rev-parse", "HEAD"]).decode().strip()',
        'subprocess.run("nvidia-smi", shell=True, capture_output=True).stdout',
        'subprocess.Popen(["tensorboard"], stdout=subprocess.DEVNULL).wait()',
        'multiprocessing.set_start_method("spawn")',
    ],
)
def test_what_other_processes_do_does_not_select_the_device_of_this_one(run: str) -> None:
    body = f"""
import multiprocessing
import subprocess
dist.init_process_group("nccl")
said = {run}
model = Net().cuda()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
{TRAINED}
"""
    assert "FSDP101" in analyse(script(body)).codes
