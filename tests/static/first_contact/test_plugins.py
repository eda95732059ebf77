"""Modules of a user's own, which a program imports where a setting names one."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

SETTINGS = """
import argparse
import importlib
parser = argparse.ArgumentParser()
parser.add_argument("--plugin", default="")

def load(name):
    if not name:
        return None
    return importlib.import_module(name)
"""
RUN = f"""
args = parser.parse_args()
{{imports}}
{{selects}}
{SHARDED.replace("Net()", "Net().cuda()")}
"""
SELECTS = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'


def _codes(imports: str, selects: str) -> list[str]:
    program = main(RUN.format(imports=imports, selects=selects), SETTINGS)
    before, start, rest = program.partition(f"    {SELECTS}\n")
    return analyse(before + rest if start else program).codes


@pytest.mark.parametrize("imports", ["if args.plugin:\n    importlib.import_module(args.plugin)", "load(args.plugin)"])
def test_a_run_that_names_no_plugin_selects_no_device(imports: str) -> None:
    assert "FSDP101" in _codes(imports, "pass")
    assert "FSDP101" not in _codes(imports, SELECTS)


@pytest.mark.parametrize("imports", [
    "importlib.import_module(args.plugin)",
    "if not args.plugin:\n    raise ValueError('--plugin')\nimportlib.import_module(args.plugin)",
    "assert args.plugin\nload(args.plugin)",
    "plugin = load(args.plugin)\nif plugin is not None:\n    plugin.setup()",
])  # fmt: skip
def test_a_module_that_is_always_imported_may_select_it(imports: str) -> None:
    assert "FSDP101" not in _codes(imports, "pass")
