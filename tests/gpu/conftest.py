"""What a test of this folder needs: a GPU, or as many as its marker ``gpus(n)`` says."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpus(n): needs so many GPUs in this machine; one without it")


@pytest.fixture(autouse=True)
def gpus(request: pytest.FixtureRequest) -> int:
    """How many there are; tests that need more are skipped. Asking does not initialise CUDA."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    if not torch.distributed.is_nccl_available():
        pytest.skip("needs NCCL")
    marker = request.node.get_closest_marker("gpus")
    needed, there = marker.args[0] if marker is not None else 1, torch.cuda.device_count()
    if there < needed:
        pytest.skip(f"needs {needed} GPUs, and there are {there}")
    return int(there)
