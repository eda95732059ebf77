"""Fingerprints that depend on every bit of a tensor, on its order, shape and dtype, and on nothing else."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.runtime.agreement.digests import PIECE, digest

LENGTHS = (1, 2, 7, 513, 2 * PIECE, 4 * PIECE + 3)  # elements of 4 bytes, so a piece takes two for each word


@pytest.mark.parametrize("length", LENGTHS)
def test_one_bit_counts_wherever_it_is(length: int) -> None:
    values = torch.randn(length, generator=torch.Generator().manual_seed(length))
    bits, before = values.view(torch.int32), digest(values)
    for place in sorted({0, 1, length // 3, length // 2, length - 2, length - 1} & set(range(length))):
        bits[place] ^= 1
        assert digest(values) != before, place
        bits[place] ^= 1
    assert digest(values) == before == digest(values.clone())


@given(st.integers(0, 3 * PIECE - 1), st.integers(0, 3 * PIECE - 1))
def test_the_order_counts(one: int, other: int) -> None:
    """Also across pieces: the place in a piece and the number of the piece are not interchangeable."""
    values = torch.zeros(3 * PIECE, dtype=torch.int64)
    values[one] = 5
    moved = torch.zeros_like(values)
    moved[other] = 5
    assert (digest(values) == digest(moved)) is (one == other)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float64, torch.complex64])
def test_any_dtype_and_any_layout(dtype: torch.dtype) -> None:
    values = (torch.arange(99) % 2).to(dtype).view(9, 11)
    for part in (values, values[1:], values.t(), values[:, 3], values[2, 2], values[:0]):
        assert digest(part) == digest(part.clone())
    assert digest(values) != digest(values.view(11, 9)) != digest(values.view(-1))


def test_zeros_differ_by_their_number_and_minus_zero_is_none() -> None:
    assert digest(torch.zeros(2)) != digest(torch.zeros(3))
    assert digest(torch.zeros(2)) != digest(-torch.zeros(2))
