"""Four faults in a project of several files, mended one after the other by what each finding says, and proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fix import fix_all
from fsdp2_lint.findings.verify import compare
from fsdp2_lint.lint import lint
from fsdp2_lint.output.advice import findings_as_json
from fsdp2_lint.vocab.finding import Finding

PROJECT = {
    "pyproject.toml": "",
    "gpt/__init__.py": "",
    "gpt/model.py": """\
import torch.nn as nn


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.layers = nn.ModuleList([nn.Linear(128, 128) for _ in range(4)])
        self.head = nn.Linear(128, 1000, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
""",
    "gpt/parallel.py": """\
from torch.distributed.fsdp import fully_shard


def apply_fsdp(model, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return model
""",
    "gpt/optim.py": """\
import torch


def build_optimizer(model):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    other = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}])
""",
    "gpt/checkpoint.py": """\
import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def save(model, optimizer, step):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = {"model": get_model_state_dict(model, options=options), "optimizer": optimizer.state_dict()}
    if dist.get_rank() == 0:
        torch.save(state, f"step-{step}.pt")
""",
    "gpt/ranks.py": "import torch.distributed as dist\n\n\ndef is_main():\n    return dist.get_rank() == 0\n",
    "gpt/metrics.py": """\
def log_norm(model, step):
    norm = model.head.weight.full_tensor().norm()
    print(step, norm.item())
""",
    "train.py": """\
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from gpt.checkpoint import save
from gpt.metrics import log_norm
from gpt.model import GPT
from gpt.optim import build_optimizer
from gpt.parallel import apply_fsdp
from gpt.ranks import is_main


def train(device):
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = build_optimizer(model)
    model = apply_fsdp(model, mesh)
    for step in range(500):
        loss = model(torch.randint(1000, (8, 64), device=device)).logsumexp(-1).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            if is_main():
                log_norm(model, step)
            save(model, optimizer, step)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    train(torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
""",
}
# What a person does who reads the help. The first fault is mended by the tool; it and the next hide the last two.
BY_HAND = {
    "FSDP303": [
        ("gpt/parallel.py", "    return model\n", "    fully_shard(model, mesh=mesh)\n    return model\n"),
    ],
    "FSDP701": [
        ("gpt/checkpoint.py", "get_model_state_dict\n", "get_model_state_dict, get_optimizer_state_dict\n"),
        ("gpt/checkpoint.py", "optimizer.state_dict()", "get_optimizer_state_dict(model, optimizer, options=options)"),
    ],
    "FSDP801": [
        (
            "train.py",
            "            if is_main():\n                log_norm(model, step)\n",
            "            log_norm(model, step)\n",
        ),
        ("gpt/metrics.py", "    print(", "    if is_main():\n        print("),
        ("gpt/metrics.py", "def log_norm", "from gpt.ranks import is_main\n\n\ndef log_norm"),
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_round_ends_with_a_proof(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    first = found(project)
    assert [each.code for each in first] == ["FSDP303", "FSDP601"]
    fixed = fix_all(lambda overlay: lint([str(project)], Asked(), overlay=overlay), unsafe=True)
    for path, data in fixed.changed.items():
        Path(path).write_bytes(data)
    by_hand(project, "FSDP303")
    assert proved(first, project) == ["FSDP303", "FSDP601"]
    second = found(project)
    assert [each.code for each in second] == ["FSDP701", "FSDP801"]
    for code in ("FSDP701", "FSDP801"):
        by_hand(project, code)
    assert proved([*first, *second], project) == ["FSDP303", "FSDP601", "FSDP701", "FSDP801"]
    assert found(project) == []
    (model,) = lint([str(project)], Asked()).models
    assert {each.code: each.word for each in model.rules}["FSDP303"] == "upheld"


def test_the_words_lead_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the steps above call is named by the finding: an agent reads no further."""
    monkeypatch.chdir(project)
    by_hand(project, "FSDP303")
    train = (project / "train.py").read_text()
    late, shard = "    optimizer = build_optimizer(model)\n", "    model = apply_fsdp(model, mesh)\n"
    (project / "train.py").write_text(train.replace(late + shard, shard + late))
    saved = next(each for each in found(project) if each.code == "FSDP701")
    assert "get_optimizer_state_dict" in saved.help
    (told,) = findings_as_json([saved])
    assert any("get_optimizer_state_dict(model, optimizer" in step for step in told["remediation"])
    assert any("the model alone" in step for step in told["do_not"])


def found(project: Path) -> list[Finding]:
    return sorted(lint([str(project)], Asked()).findings, key=lambda each: each.code)


def by_hand(project: Path, code: str) -> None:
    for name, before, after in BY_HAND[code]:
        text = (project / name).read_text()
        assert before in text
        (project / name).write_text(text.replace(before, after))


def proved(before: list[Finding], project: Path) -> list[str]:
    compared = compare(before, [str(project)], Asked(), lint)
    return sorted(each.finding.code for each in compared.fixed)
