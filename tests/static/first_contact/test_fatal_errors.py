"""Collectives on the way out of a job that fails: each rank may come there by itself, or the job ends anyway."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

FATAL = """
import sys
import argparse

def fatal(message):
    print(message)
    dist.barrier()
    {end}

def checked(args):
    if args.width % args.heads:
        fatal("the width must be a multiple of the number of heads")
    return args.width
"""
ENDS = ("sys.exit(1)", "raise SystemExit('stopped')", "dist.destroy_process_group()\n    raise ValueError(message)")
BODY = "args = argparse.ArgumentParser().parse_args()\nif dist.get_rank() == 0:\n    print(checked(args))\n"


@pytest.mark.parametrize("end", ENDS)
def test_who_ends_the_job_waits_for_nobody(end: str) -> None:
    assert "FSDP801" not in analyse(main(SHARDED + BODY, FATAL.format(end=end))).codes


@pytest.mark.parametrize("end", ["return None", "if len(sys.argv) > 3: sys.exit(1)", "sys.exit(0)"])
def test_who_goes_on_does(end: str) -> None:
    assert "FSDP801" in analyse(main(SHARDED + BODY, FATAL.format(end=end))).codes
