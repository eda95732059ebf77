"""Optimizers, gradients, losses and what is read of them."""
