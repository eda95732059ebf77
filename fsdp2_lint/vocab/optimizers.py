"""What all optimizers have, and those of libraries that do not work on sharded parameters."""

from __future__ import annotations

HYPERPARAMETERS = ("lr", "betas", "weight_decay", "momentum", "eps")

_REFUSES = "raises at its first step, where it reduces a shard in place"
_MIXES = "raises at its first step, where it mixes shards with plain tensors of its own"
_NO_STRATEGY = "raises at its first step: one of its operators is not defined for shards"
_EIGHT_BITS = "keeps states in blocks of 8 bits and reads the shards past DTensor: illegal memory accesses"

UNSAFE = {
    ("torch", "Adafactor"): _REFUSES,
    ("pytorch_optimizer", "AdaFactor"): _REFUSES,
    ("pytorch_optimizer", "CAME"): _REFUSES,
    ("pytorch_optimizer", "Lamb"): _REFUSES,
    ("pytorch_optimizer", "LARS"): _NO_STRATEGY,
    ("pytorch_optimizer", "NovoGrad"): _NO_STRATEGY,
    ("pytorch_optimizer", "Shampoo"): _MIXES,
    ("pytorch_optimizer", "SOAP"): _MIXES,
}
_EIGHT_BIT_CLASSES = (
    "Adagrad8bit Adam8bit AdamW8bit PagedAdam8bit PagedAdamW8bit AdEMAMix8bit PagedAdEMAMix8bit LAMB8bit LARS8bit"
    " Lion8bit PagedLion8bit RMSprop8bit SGD8bit"
).split()


def on_shards(qname: str) -> str:
    """What an optimizer's class, by its qualified name, does with sharded parameters; empty if that is not known."""
    package, name = qname.split(".")[0], qname.rsplit(".", 1)[-1]
    if package == "bitsandbytes" and name in _EIGHT_BIT_CLASSES:
        return _EIGHT_BITS
    return UNSAFE.get((package, name), "")
