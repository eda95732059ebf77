"""Jobs that Accelerate and Ray Train start themselves: the ranks know who they are, and are compared.

Both are no part of the suite's environment: ``pip install -e '.[launchers]'``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.commands import row
from tests.runtime.test_launching import LAUNCHERS, ROOT, SAME_DATA, found, free_port, report

pytestmark = [pytest.mark.slow, pytest.mark.torchrun]

INIT = 'dist.init_process_group("gloo")\n'
# Accelerate makes the process group, of what its launcher says; FSDP2 comes by hand: on CPUs Accelerate has none.
ACCELERATE = SAME_DATA.replace(INIT, "from accelerate import PartialState\n\nstate = PartialState(cpu=True)\n")

# Ray starts a process for each rank, and the loop in a thread of it: only what runs in there can begin to watch.
RAY = """\
import os
import threading

import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def loop(config):
    import torch
    import torch.nn as nn
    from fsdp2_lint.runtime import check
    from torch.distributed.fsdp import fully_shard

    assert threading.current_thread() is not threading.main_thread()
    with check(report_dir=config["report"]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(32, 16), nn.Linear(16, 32))
        fully_shard(model[1])
        fully_shard(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            batch = torch.arange(8) + step
            nn.functional.cross_entropy(model(batch), batch).backward()
            optimizer.step()
            optimizer.zero_grad()


ray.init(num_cpus=2, include_dashboard=False)
TorchTrainer(
    loop,
    train_loop_config={"report": os.path.abspath("fsdp2-lint-report")},
    torch_config=TorchConfig(backend="gloo"),
    scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
).fit()
"""


def start(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    own = {key: value for key, value in os.environ.items() if key not in LAUNCHERS}
    own |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    own["RAY_USAGE_STATS_ENABLED"] = "0"
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=300, check=False)


def test_accelerate(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "train.py").write_text(ACCELERATE)
    ran = start(
        tmp_path,
        *("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", 2, "--num_machines", 1),
        *("--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", free_port()),
        *("-m", "fsdp2_lint", "run", "--check", "train.py"),
    )
    told = report(tmp_path)
    assert (told.ranks, told.world_size, told.complete, told.notes) == ((0, 1), 2, True, []), ran.stderr
    assert found(told) == {"FSDP808": (0, 1)} and "Found 1 error on 2 ranks" in ran.stderr


def test_ray_train(tmp_path: Path) -> None:
    pytest.importorskip("ray.train")
    (tmp_path / "train.py").write_text(RAY)
    ran = start(tmp_path, "train.py")
    told = report(tmp_path)
    assert (told.ranks, told.world_size, told.complete, told.notes) == ((0, 1), 2, True, []), ran.stderr
    (one,) = told.findings
    assert (one.code, one.primary.site.row) == ("FSDP808", row(RAY, "            nn.functional"))
