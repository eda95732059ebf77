"""All modules whose functions say what calls of other packages do: they register themselves when they are imported."""
# ruff: noqa: F401

from . import adapters, frameworks, pretrained
from .python import (
    arguments,
    attempts,
    builtins,
    calculation,
    copies,
    dynamic,
    grouping,
    kinds,
    named_tuples,
    pytrees,
    records,
    reflection,
    signatures,
    value_methods,
)
from .torch.checkpoints import (
    async_saves,
    gathering,
    key_prefixes,
    load_targets,
    state_dict,
    state_helpers,
    state_hooks,
)
from .torch.forward import uses
from .torch.initialisation import blank, draws, slices
from .torch.launch import device, meshes, self_started
from .torch.migration import api, fallbacks, fsdp1_methods, migration
from .torch.precision import dtypes, precision, scalers
from .torch.ranks import collectives, data, own_sources, rank, rounds, seeds
from .torch.sharding import composition, module_tree, modules, parameters, pipelines, sharding, sizes, tying
from .torch.training import differentiation, dtensors, generators, losses, optim, schedulers, steps
