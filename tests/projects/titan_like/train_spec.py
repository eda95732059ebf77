from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from model import Llama, LlamaArgs
from optimizer import build_lr_schedulers, build_optimizers
from parallelize import parallelize_llama


@dataclass
class TrainSpec:
    name: str
    model_cls: type[nn.Module]
    flavors: dict[str, LlamaArgs]
    parallelize_fn: Callable
    build_optimizers_fn: Callable
    build_lr_schedulers_fn: Callable


_TRAIN_SPECS: dict[str, TrainSpec] = {}


def register_train_spec(spec: TrainSpec) -> None:
    if spec.name in _TRAIN_SPECS:
        raise ValueError(f"model {spec.name} is already registered")
    _TRAIN_SPECS[spec.name] = spec


def get_train_spec(name: str) -> TrainSpec:
    return _TRAIN_SPECS[name]


register_train_spec(
    TrainSpec(
        name="llama",
        model_cls=Llama,
        flavors={
            "1B": LlamaArgs(dim=2048, n_layers=16, n_heads=16, hidden_dim=8192),
            "8B": LlamaArgs(dim=4096, n_layers=32, n_heads=32, hidden_dim=14336),
            "70B": LlamaArgs(dim=8192, n_layers=80, n_heads=64, hidden_dim=28672),
        },
        parallelize_fn=parallelize_llama,
        build_optimizers_fn=build_optimizers,
        build_lr_schedulers_fn=build_lr_schedulers,
    )
)
