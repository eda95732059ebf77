"""What every test gets: an environment that does not depend on who runs it."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("steps", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("steps")

SCRUBBED = ("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FSDP2_LINT_DEBUG")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SCRUBBED:
        monkeypatch.delenv(name, raising=False)
