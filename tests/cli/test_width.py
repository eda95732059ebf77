"""What fits a terminal, and who says how wide it is."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.cli.streams import columns
from fsdp2_lint.output.contract import Contract, render_text
from fsdp2_lint.output.markdown import fitted_page
from tests import fake

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "fsdp2_lint"]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("said", "width"), [("72", 72), ("1", 1), ("", None), ("0", None), ("-5", None), ("wide", None), ("9" * 30, None)]
)
def test_the_environment_comes_before_the_terminal(said: str, width: int | None) -> None:
    """This one cannot say how wide it is, so that without a number in COLUMNS nobody does."""
    assert columns(Terminal(), {"COLUMNS": said}) == width
    assert columns(StringIO(), {"COLUMNS": said}) is None, "a file is as wide as it needs"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal")
def test_what_people_read_fits_their_terminal(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "broken" / "root_only.py").read_text(encoding="utf-8")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    for arguments in (["check"], ["contract"], ["explain", "FSDP601"], ["explain", "FSDP907"]):
        shown = on_terminal(tmp_path, *arguments).splitlines()
        unbroken = ("|", "  runtime", "  preflight", "What", "    ")  # tables, commands, and code
        wide = [line for line in shown if len(line) > 70 and not line.startswith(unbroken)]
        assert len(shown) > 5 and not wide, arguments


def on_terminal(folder: Path, *arguments: str) -> str:
    import pty

    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "70", "NO_COLOR": "1", "TERM": "dumb"}  # without a line of progress
    run = subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:  # so Linux says that nobody writes there any more
        pass
    os.close(master)
    run.wait(60)
    return shown.decode()


@pytest.mark.parametrize("width", [40, 72, 100])
def test_a_page_keeps_its_words_its_code_and_its_tables(width: int) -> None:
    for page in registry.pages().values():
        told = fitted_page(page, width)
        assert told.split() == page.split()
        as_it_is = [line for line in page.splitlines() if line.startswith(("#", "|", "```", "    "))]
        assert {*as_it_is} <= {*told.splitlines()}
        assert fitted_page(page, None) == page


def test_an_item_goes_on_below_its_words() -> None:
    page = "- one two three four five six seven eight nine ten\n  eleven\n- short\n\n  more of it\n"
    assert fitted_page(page, 40) == (
        "- one two three four five six seven\n  eight nine ten eleven\n- short\n\n  more of it\n"
    )


def test_the_five_points_are_fitted() -> None:
    at = fake.site("/a.py", 1)
    rules = [fake.rule(f"FSDP6{number:02}", "violated") for number in range(1, 21)]
    told = render_text(Contract([fake.model("Net", at, *rules)], [], []), {}, width=80)  # type: ignore[list-item]
    assert max(map(len, told.partition("\n\n")[0].splitlines())) <= 80
