"""All modules whose functions say what calls of other packages do: they register themselves when they are imported."""
# ruff: noqa: F401

from . import adapters, frameworks, pretrained
from .python import (
    arguments,
    attempts,
    builtins,
    calculation,
    commands,
    configured,
    copies,
    counting,
    dynamic,
    kinds,
    operators,
    own_dicts,
    patterns,
    pytrees,
    records,
    reflection,
    standard_library,
    subcommands,
    value_methods,
)
from .torch.checkpoints import (
    async_saves,
    gathering,
    kept_futures,
    key_prefixes,
    load_targets,
    loaded_values,
    state_dict,
    state_helpers,
)
from .torch.forward import uses
from .torch.initialisation import blank, draws, slices
from .torch.launch import device, meshes, self_started
from .torch.migration import fsdp1_methods, migration, versions
from .torch.precision import dtypes, precision
from .torch.ranks import agreement, collectives, data, dealing, groups, own_sources, rank, rounds, seeds
from .torch.sharding import (
    composition,
    module_tree,
    modules,
    parallel_styles,
    parameters,
    sharding,
    sizes,
    submodules,
)
from .torch.training import (
    differentiation,
    dtensors,
    generators,
    local_parts,
    losses,
    optim,
    schedulers,
    step_hooks,
    steps,
)
