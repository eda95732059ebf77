from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class ModelConfig:
    features: int
    hidden: int
    depth: int
    classes: int
    dropout: float = 0.0


class ResidualMLP(nn.Module):
    def __init__(self, hidden: int, dropout: float):
        super().__init__()
        self.norm = nn.RMSNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.down(torch.relu(self.up(self.norm(x)))))


class Classifier(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.stem = nn.Linear(config.features, config.hidden)
        self.blocks = nn.ModuleList(ResidualMLP(config.hidden, config.dropout) for _ in range(config.depth))
        self.classifier = nn.Linear(config.hidden, config.classes)

    def forward(self, x, labels=None):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        logits = self.classifier(x)
        if labels is None:
            return logits
        return nn.functional.cross_entropy(logits, labels)
