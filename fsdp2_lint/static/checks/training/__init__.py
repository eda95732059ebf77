"""Training: optimizers, the order of a step, what is read off sharded tensors."""

from . import producers  # noqa: F401 (they register themselves)
