"""By which words a file has to do with FSDP2, before anybody parses it."""

from __future__ import annotations

WORDS = (b"fully_shard", b"FSDPModule")
_OF_FSDP1 = b"fully_sharded"  # its module is fully_sharded_data_parallel


def speaks_of_fsdp2(program: bytes) -> bool:
    """And not of FSDP1 alone."""
    if _OF_FSDP1 in program:
        program = program.replace(_OF_FSDP1, b"")
    return any(word in program for word in WORDS)
