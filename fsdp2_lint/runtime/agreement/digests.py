"""Short fingerprints of tensors, by which ranks and moments are compared. They change nothing.

:func:`digest` depends on every bit. It adds up the tensor's words of 8 bytes, each times an odd weight of its position,
modulo 2**64: integers, so the order of the additions does not matter, and one word that changes always changes the
sum; two that change hide each other once in 2**64. That is computed where the tensor lies, in pieces, and one number
is copied. :func:`sample` looks at some elements only: enough to tell two initialisations apart.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math

import torch

from .. import adapter

SAMPLE = 512  # elements
WHOLE = 4096  # elements: what is smaller is taken whole
PIECE = 2**15  # words: one weight for each is kept
SLAB = 64  # pieces: 16 MiB are needed besides the tensor on a GPU


def digest(tensor: torch.Tensor) -> str:
    """Of this rank's part: shape, dtype and all elements, bit by bit."""
    with torch.no_grad():
        data = adapter.local(tensor)
        return _short(data, b"" if _is_hollow(data) else str(_sum(_words(data))).encode())


def sample(tensor: torch.Tensor) -> str:
    """Of this rank's part: shape, dtype and some of the elements, bit by bit."""
    with torch.no_grad():
        data = adapter.local(tensor)
        return _short(data, b"" if _is_hollow(data) else _bytes_of_some(data))


def _short(data: torch.Tensor, content: bytes) -> str:
    words = f"{tuple(data.shape)} {data.dtype}".encode()
    return hashlib.blake2b(words + content, digest_size=8).hexdigest()


def _is_hollow(data: torch.Tensor) -> bool:
    return data.device.type == "meta" or not data.numel() or adapter.is_fake(data)


def _flat(data: torch.Tensor) -> torch.Tensor:
    return data.reshape(-1) if data.is_contiguous() else data.contiguous().reshape(-1)


def _words(data: torch.Tensor) -> torch.Tensor:
    """The bits of a tensor as integers of 8 bytes, the last one filled up; a copy only where they lie askew."""
    raw = _flat(data).view(torch.uint8)
    if rest := -raw.numel() % 8:
        raw = torch.cat([raw, raw.new_zeros(rest)])
    return (raw.clone() if raw.storage_offset() % 8 else raw).view(torch.int64)


def _sum(words: torch.Tensor, level: int = 0) -> int:
    """Of all words; the sums of the pieces are the words of the next level, which has other weights."""
    if words.numel() == 1:
        return int(words.item())
    weights = _weights_at(level, words.device)
    whole = words.numel() - words.numel() % PIECE
    sums = [_sum_rows(rows, weights) for rows in words[:whole].view(-1, PIECE).split(SLAB)]
    sums.append((words[whole:] * weights[: words.numel() - whole]).sum().view(1))
    return _sum(torch.cat(sums), level + 1)


def _sum_rows(rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """On a CPU without any copy; elsewhere matrices of integers are not multiplied."""
    return torch.mv(rows, weights) if rows.is_cpu else (rows * weights).sum(dim=1)


@functools.cache
def _weights_at(level: int, device: torch.device) -> torch.Tensor:
    """An odd number for each place in a piece: the steps of a generator of random numbers (splitmix64)."""
    bits = torch.arange(1 + level * PIECE, 1 + (level + 1) * PIECE, dtype=torch.int64, device="cpu")
    bits = bits * _signed(0x9E3779B97F4A7C15)
    for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27), (1, 31)):
        bits = (bits ^ (bits >> shift)) * _signed(factor)
    return (bits | 1).to(device)


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


def _bytes_of_some(data: torch.Tensor) -> bytes:
    flat = _flat(data)
    step = max(1, flat.numel() // SAMPLE) if flat.numel() > WHOLE else 1
    while step > 1 and math.gcd(step, data.shape[-1] or 1) > 1:
        step += 1  # else the sample might lie in a few columns
    some = flat[::step].contiguous().cpu()
    return ctypes.string_at(some.data_ptr(), some.numel() * some.element_size())


def is_all_zero(tensor: torch.Tensor) -> bool:
    """What has no values is not."""
    own = adapter.local(tensor)
    with torch.no_grad():
        return not adapter.is_fake(own) and not bool(own.any())


_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def sum_of_bits(tensor: torch.Tensor) -> torch.Tensor:
    """Of this rank's part, as a tensor of one number where that lies: nobody waits for it."""
    with torch.no_grad():
        data = adapter.local(tensor)
        return _flat(data).view(_WORDS.get(data.element_size(), torch.int64)).sum(dtype=torch.int64)
