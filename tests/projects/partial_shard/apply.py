from collections.abc import Callable

from torch import nn

Wrap = Callable[[nn.Module], nn.Module]


def is_unit(module: nn.Module) -> bool:
    return getattr(module, "fsdp_unit", False)


def apply_bottom_up(module: nn.Module, wrap: Wrap, want: Callable[[nn.Module], bool]) -> None:
    """Children first, so that every parent meets parts that are already wrapped."""
    for child in module.children():
        apply_bottom_up(child, wrap, want)
        if want(child):
            wrap(child)


def wrap_model(model: nn.Module, wrap: Wrap) -> nn.Module:
    apply_bottom_up(model, wrap, is_unit)
    wrap(model)
    return model
