from .compat import DTensor


def gather_to_cpu(module, keep):
    """Full tensors of a sharded module; `keep` says on which rank they are kept."""
    state = {}
    for name, value in module.state_dict().items():
        full = value.full_tensor() if isinstance(value, DTensor) else value
        if keep:
            state[name] = full.cpu()
    return state
