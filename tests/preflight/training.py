"""The job for GPUs and NCCL in which faults are planted, and its pieces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fsdp2_lint.preflight.part import Asked

TRAINING = (Path(__file__).parent / "programs" / "training.py").read_text(encoding="utf-8")
STEP = Asked(depth="step", steps=2)
SHARDING = """\
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
"""
MESH = '    mesh = init_device_mesh("cuda", (dist.get_world_size(),))\n'
REPLICAS = MESH.replace("(dist.get_world_size(),)", '(2, 8), mesh_dim_names=("replicate", "shard")')


def edited(folder: Path, edits: Iterable[tuple[str, str]]) -> Path:
    """The script with each piece, which is there once, in place of another one."""
    text = TRAINING
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    script = folder / "train.py"
    script.write_text(text, encoding="utf-8")
    return script
