"""Optimizers, gradients and what is read off sharded tensors."""
