"""Training: optimizers, the order of a step, what is read off sharded tensors."""

from . import producers

__all__ = ["producers"]
