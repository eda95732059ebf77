"""Which name is handled where. Transfer functions register themselves here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter
    from ..values import Obj, Value

External = Callable[["Interpreter", "Call"], "Value"]
Method = Callable[["Interpreter", "Obj", "Call"], "Value"]

Observer = Callable[["Interpreter", str, "Call"], None]
MethodObserver = Callable[["Interpreter", "Obj", str, "Call"], None]

SeesMethods = TypeVar("SeesMethods", bound=MethodObserver)

EXTERNALS: dict[str, External] = {}
METHODS: dict[str, Method] = {}
OBSERVERS: list[Observer] = []
METHOD_OBSERVERS: list[MethodObserver] = []


def external(*qnames: str) -> Callable[[External], External]:
    def register(function: External) -> External:
        _once(qnames, EXTERNALS)
        EXTERNALS.update(dict.fromkeys(qnames, function))
        return function

    return register


def method(*names: str) -> Callable[[Method], Method]:
    """A method of any object whose class does not define it itself."""

    def register(function: Method) -> Method:
        _once(names, METHODS)
        METHODS.update(dict.fromkeys(names, function))
        return function

    return register


def _once(names: tuple[str, ...], table: Mapping[str, object]) -> None:
    """A second handler would take the first one's place without a word."""
    if taken := sorted(set(names) & table.keys()):
        raise RuntimeError(f"{', '.join(taken)} is handled elsewhere already")


def observer(function: Observer) -> Observer:
    """Sees each call of a function of another package, before it is handled."""
    OBSERVERS.append(function)
    return function


def method_observer(function: SeesMethods) -> SeesMethods:
    """Sees each call of a method that no table has."""
    METHOD_OBSERVERS.append(function)
    return function


# Packages whose functions, as far as we know, neither shard a model, nor build or re-map an
# optimizer, nor select a device behind the caller's back. Others may do anything.
HARMLESS = frozenset(
    """
    torch torchvision torchaudio torchdata torchmetrics numpy scipy pandas PIL cv2 matplotlib einops tqdm rich
    wandb tensorboard tensorboardX mlflow swanlab datasets tokenizers tiktoken sentencepiece safetensors
    huggingface_hub transformers diffusers timm omegaconf yaml toml tomli ml_collections absl fire tyro click typer
    simple_parsing jsonargparse pydantic attr attrs dotenv loguru termcolor colorama tabulate psutil pynvml requests
    packaging flash_attn xformers triton regex sklearn h5py webdataset streaming jinja2 aiohttp fsspec boto3 dacite
    jaxtyping typing_extensions beartype peft lpips thop fvcore torchinfo bitsandbytes apex ftfy imageio decord av
    liger_kernel tensordict lightning_utilities
    """.split()
)  # fmt: skip
MODEL_MAKERS = ("transformers.", "diffusers.", "timm.", "peft.", "torch.hub.", "torchvision.models")
DYNAMIC = frozenset(
    {
        "hydra.utils.instantiate",
        "hydra.utils.call",
        "hydra.utils.get_class",
        "importlib.import_module",
        "builtins.eval",
        "builtins.exec",
    }
)
_STDLIB_OPAQUE = ("subprocess", "importlib", "runpy", "multiprocessing", "concurrent")


# Base classes of frameworks whose own methods leave the layers of the model to the user.
_PLAIN_BASES = frozenset({"LightningModule", "LightningDataModule"})
# Methods that only tensors have: whatever they are called on, nothing is sharded, moved or selected.
TENSOR_METHODS = frozenset(
    """flatten unflatten view view_as reshape transpose permute contiguous unsqueeze squeeze expand expand_as
    repeat_interleave chunk argmax argmin softmax log_softmax masked_fill masked_select gather scatter index_select
    numel dim size mean sum amax amin std var exp log sqrt pow clamp abs eq ne lt gt le ge logical_not logical_and
    cumsum topk tril triu unbind roll tolist nonzero long int bool""".split()
)


def is_harmless(qname: str) -> bool:
    """Does this function of another package leave models, optimizers and the device alone?"""
    package = qname.split(".")[0]
    if any(part in _PLAIN_BASES for part in qname.rsplit(".", 2)[1:]):
        return True
    if qname in DYNAMIC or package in _STDLIB_OPAQUE:
        return False
    return package in HARMLESS or package in sys.stdlib_module_names


FRAMEWORKS = {
    "accelerate": "Accelerate",
    "lightning": "Lightning",
    "pytorch_lightning": "Lightning",
    "lightning_fabric": "Lightning Fabric",
    "composer": "Composer",
    "deepspeed": "DeepSpeed",
    "ray": "Ray",
    "colossalai": "ColossalAI",
    "torchtitan": "torchtitan",
    "torchtune": "torchtune",
    "trl": "TRL",
    "unsloth": "Unsloth",
    "megatron": "Megatron",
    "mmengine": "MMEngine",
    "ignite": "Ignite",
    "fairscale": "FairScale",
    "axolotl": "Axolotl",
}  # fmt: skip
