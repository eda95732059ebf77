"""Short fingerprints of tensors, by which ranks and moments are compared. They copy a sample, and change nothing."""

from __future__ import annotations

import ctypes
import hashlib
import math

import torch

from . import adapter

SAMPLE = 512  # elements: enough to tell two initialisations apart
WHOLE = 4096  # elements: what is smaller is taken whole


def digest(tensor: torch.Tensor) -> str:
    """Of this rank's part: shape, dtype and a sample of the elements, bit by bit."""
    with torch.no_grad():
        data = adapter.local(tensor)
        words = f"{tuple(data.shape)} {data.dtype}".encode()
        if data.device.type == "meta" or not data.numel() or adapter.is_fake(data):
            return hashlib.blake2b(words, digest_size=8).hexdigest()
        flat = data.reshape(-1) if data.is_contiguous() else data.contiguous().reshape(-1)
        step = max(1, flat.numel() // SAMPLE) if flat.numel() > WHOLE else 1
        while step > 1 and math.gcd(step, data.shape[-1] or 1) > 1:
            step += 1  # else the sample might lie in a few columns
        sample = flat[::step].contiguous().cpu()
        raw = ctypes.string_at(sample.data_ptr(), sample.numel() * sample.element_size())
        return hashlib.blake2b(words + raw, digest_size=8).hexdigest()


def is_all_zero(tensor: torch.Tensor) -> bool:
    with torch.no_grad():
        return not bool(adapter.local(tensor).any())
