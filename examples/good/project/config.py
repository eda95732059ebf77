"""Settings of a run, from the command line."""

import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class ModelConfig:
    vocab: int = 64
    dim: int = 64
    layers: int = 2
    length: int = 32


@dataclass(frozen=True)
class Config:
    """One training run; every field is also an option of train.py."""

    epochs: int = 4
    sequences: int = 512
    batch: int = 8
    accumulation: int = 2
    lr: float = 5e-3
    bf16: bool = True
    resume: bool = False
    output: str = "output"


def parse_config() -> Config:
    parser = argparse.ArgumentParser(description="Train a small model with FSDP2.")
    for field in fields(Config):
        option = f"--{field.name}"
        if field.type is bool:
            action = argparse.BooleanOptionalAction
            parser.add_argument(option, action=action, default=field.default)
        else:
            parser.add_argument(option, type=field.type, default=field.default)
    return Config(**vars(parser.parse_args()))
