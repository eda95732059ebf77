"""Programs of one function ``main``, with what unseen code brought in."""

from __future__ import annotations

import textwrap

from tests.static.program import script

IMPORTS = """
import math
import sys
from dataclasses import dataclass
from functools import partial
import yaml
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel, AutoModelForCausalLM, BitsAndBytesConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
try:
    from torch.distributed.tensor import DTensor
    HAS_DTENSOR = True
except ImportError:
    HAS_DTENSOR = False
"""
START = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
"""
SHARDED = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""

LAYERS = """
class Local(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)

class Square(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)

class Tiny(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.last = nn.Linear(8, 2)
"""


def main(body: str, before: str = "") -> str:
    return script(textwrap.dedent(START) + textwrap.dedent(body), IMPORTS + textwrap.dedent(before))
