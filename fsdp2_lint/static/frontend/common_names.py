"""Names that so many functions and methods have that they say nothing about which one is meant."""

from __future__ import annotations

GENERIC = frozenset(
    """main run train forward setup build apply init __init__ __call__ wrapper get load save step fit call
    create make wrap prepare execute start launch configure update test eval evaluate inner decorator func fn
    from_config from_pretrained __enter__ __post_init__ model wrapped to initialize process""".split()
)  # fmt: skip
_OF_TORCH = """args backward buffers children clone config cpu cuda data detach device dtype grad item kwargs
    load_state_dict mesh module modules name named_parameters numel optimizer parameters rank requires_grad
    requires_grad_ reset shape size state_dict tensor tolist type value view weight zero_grad"""
# As attributes these say as little: those of tensors, modules and optimizers, and of what Python itself has.
COMMON = GENERIC | {*_OF_TORCH.split(), *(name for kind in (str, list, dict, set) for name in dir(kind))}
