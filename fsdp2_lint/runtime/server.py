"""What the server of :mod:`.ranks` imports, once, so that no rank has to.

Torch imports the compiler when the first hook of FSDP2 runs, which takes a second; each clause is a module of its own.
"""

from __future__ import annotations

import gc

import torch._dynamo
import torch.distributed.checkpoint.state_dict

from .. import registry
from . import checked, script

__all__ = ["checked", "script", "torch"]

registry.rules()
# A rank that collects its garbage looks at no object from before the fork, and so copies no page of theirs.
gc.collect()
gc.freeze()
