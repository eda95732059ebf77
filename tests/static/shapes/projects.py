"""Two small trainings as people write them, over several files. Both are right, and faults are edited into them.

``FSDP*.txt`` have a rule's faults in shapes that its page does not have, and what is right and looks like them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fsdp2_lint.vocab.target import NEWEST, Version

# A trainer class, settings in a dataclass, helpers in modules of their own.
TRAINER = {
    "settings.py": """\
import argparse
from dataclasses import dataclass, fields


@dataclass
class Settings:
    lr: float = 1e-3
    clip: float = 1.0
    seed: int = 0
    epochs: int = 2
    accumulate: int = 2
    save_every: int = 2
    folder: str = "checkpoints"
    # more


def parse_settings() -> Settings:
    parser = argparse.ArgumentParser()
    for field in fields(Settings):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    return Settings(**vars(parser.parse_args()))
""",
    "model.py": """\
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ModelArgs:
    vocab: int = 64
    dim: int = 32
    depth: int = 2


class Block(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.norm = nn.LayerNorm(args.dim)
        self.up = nn.Linear(args.dim, 4 * args.dim)
        self.down = nn.Linear(4 * args.dim, args.dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Transformer(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.embed = nn.Embedding(args.vocab, args.dim)
        self.blocks = nn.ModuleList(Block(args) for _ in range(args.depth))
        self.head = nn.Linear(args.dim, args.vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
""",
    "parallel.py": """\
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard


def build_mesh(settings):
    return init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))


def shard(model, mesh, settings):
    options = {"mesh": mesh}
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    return model
""",
    "data.py": """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build_loader(settings):
    generator = torch.Generator().manual_seed(7)
    tokens = torch.randint(0, 64, (32, 9), generator=generator)
    dataset = TensorDataset(tokens[:, :-1], tokens[:, 1:])
    sampler = DistributedSampler(dataset, seed=settings.seed)
    return DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=True)
""",
    "trainer.py": """\
import os
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)

from data import build_loader
from model import ModelArgs, Transformer
from parallel import build_mesh, shard


class Trainer:
    def __init__(self, settings):
        self.settings = settings
        self.mesh = build_mesh(settings)
        torch.manual_seed(settings.seed)
        self.model = shard(Transformer(ModelArgs()), self.mesh, settings)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 10))
        self.loader = build_loader(settings)
        self.step = 0
        self.best = float("inf")

    def loss(self, batch):
        inputs, labels = batch
        logits = self.model(inputs)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def train_step(self, micro_batches):
        total = 0.0
        for number, batch in enumerate(micro_batches):
            self.model.set_requires_gradient_sync(number == len(micro_batches) - 1)
            loss = self.loss(batch) / len(micro_batches)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.scheduler.step()
        self.step += 1
        return total

    @torch.no_grad()
    def evaluate(self):
        losses = [self.loss(batch) for batch in self.loader]
        return torch.stack(losses).mean()

    def train(self):
        for epoch in range(self.settings.epochs):
            self.loader.sampler.set_epoch(epoch)
            batches = list(self.loader)
            for start in range(0, len(batches), self.settings.accumulate):
                self.train_step(batches[start : start + self.settings.accumulate])
                if self.step % self.settings.save_every == 0:
                    self.save()
            self.evaluate()

    def save(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optimizer": optimizer, "step": self.step}
        dcp.save(state, checkpoint_id=f"{self.settings.folder}/{self.step}")
""",
    "main.py": """\
import torch.distributed as dist

from settings import parse_settings
from trainer import Trainer


def main():
    dist.init_process_group("gloo")
    Trainer(parse_settings()).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
""",
}

# Functions that hand everything on, and a namespace of arguments.
FUNCTIONS = {
    "net.py": """\
import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.inner(x)


class Net(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.stem = nn.Linear(16, width)
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.fc(x)


def build_model(args):
    return Net(args.width, args.depth, 10)
""",
    "utils.py": """\
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
)


def is_main():
    return dist.get_rank() == 0


def average(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()


def save_checkpoint(model, optimizer, epoch, args):
    state = {
        "model": get_model_state_dict(model),
        "optimizer": get_optimizer_state_dict(model, optimizer),
        "epoch": epoch,
    }
    dcp.save(state, checkpoint_id=os.path.join(args.output, f"epoch{epoch}"))
""",
    "engine.py": """\
import math
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import FSDPModule

import utils


def train_one_epoch(model, loader, optimizer, epoch, args):
    model.train()
    for i, (images, labels) in enumerate(loader):
        update = (i + 1) % args.accum == 0
        model.set_requires_gradient_sync(update)
        loss = F.cross_entropy(model(images), labels) / args.accum
        loss.backward()
        if update:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            optimizer.zero_grad()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = torch.zeros(())
    for images, labels in loader:
        total += F.cross_entropy(model(images), labels)
    return total / len(loader)
""",
    "train.py": """\
import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import utils
from engine import evaluate, train_one_epoch
from net import build_model


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--accum", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="output")
    return parser.parse_args()


def get_dataset():
    generator = torch.Generator().manual_seed(7)
    images = torch.randn(32, 16, generator=generator)
    return TensorDataset(images, torch.randint(0, 10, (32,), generator=generator))


def main(args):
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    dataset = get_dataset()
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=True)
    model = build_model(args)
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, loader, optimizer, epoch, args)
        evaluate(model, loader)
        utils.save_checkpoint(model, optimizer, epoch, args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(get_args())
""",
}


PROJECTS = {"trainer": TRAINER, "functions": FUNCTIONS}
_HEADING = re.compile(r"# (fault|correct): (.+) \((\w+)(, source)?(?:, torch (\d+)\.(\d+))?\)\n")
_EDIT = re.compile(r"<<<<\n(.*?)====\n(.*?)>>>>\n", re.DOTALL)


@dataclass(frozen=True)
class Shape:
    """One of the two, edited. ``# fault`` marks the rows on which ``code`` has to be said; without one it is not.

    ``source``: a job of two ranks on CPUs does not meet the fault, or does not run.
    """

    code: str
    name: str
    correct: bool
    source: bool
    torch: Version
    files: Mapping[str, str]

    @property
    def marked(self) -> list[tuple[str, int]]:
        """Files and rows with a mark."""
        return sorted(
            (name, row)
            for name, text in self.files.items()
            for row, line in enumerate(text.splitlines(), 1)
            if "# fault" in line
        )


def shapes() -> Iterator[Shape]:
    """Those in the files beside this one: each is a project and its edits, whole lines that stand there once."""
    for path in sorted(Path(__file__).parent.glob("FSDP*.txt")):
        _, *parts = _HEADING.split(path.read_text(encoding="utf-8"))
        for at in range(0, len(parts), 7):
            kind, name, project, source, *version, body = parts[at : at + 7]
            torch = (int(version[0]), int(version[1])) if version[0] else NEWEST
            files = edited(PROJECTS[project], _EDIT.findall(body))
            yield Shape(path.stem, name, kind == "correct", bool(source), torch, files)


def edited(project: Mapping[str, str], edits: list[tuple[str, str]]) -> dict[str, str]:
    files = dict(project)
    for old, new in edits:
        (name,) = [name for name, text in files.items() if text.count(old) == 1]
        files[name] = files[name].replace(old, new)
    return files
