"""The runtime monitor: watches a real job under ``torchrun`` and confirms the contract. Needs torch.

``fsdp2-lint run --check`` puts an unmodified script under its hooks. For people who own their
training loop there are :func:`check`, a context manager, and :func:`assert_contract`, which looks
once and installs nothing.
"""

from .api import assert_contract, check
from .session import ContractViolation

__all__ = ["ContractViolation", "assert_contract", "check"]
