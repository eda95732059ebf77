"""FSDP1, other versions of torch."""
