"""What every test gets: an environment that does not depend on who runs it."""

from __future__ import annotations

import pytest

SCRUBBED = ("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FSDP2_LINT_DEBUG")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SCRUBBED:
        monkeypatch.delenv(name, raising=False)
