"""Decorators of methods run when their class is made, wherever it is asked for the method first."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HELPERS = """
import functools


def main_only(METHOD):
    @functools.wraps(METHOD)
    def guarded(self, *args):
        if dist.get_rank() == 0:
            return METHOD(self, *args)
        return None

    return guarded


class Exporter:
    def __init__(self, model):
        self.model = model

    @main_only
    def write(self, path):
        MARK
"""
TRAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
exporter = Exporter(model)
if os.environ.get("EARLY"):
    exporter.write("early.pt")
else:
    exporter.write("later.pt")
exporter.write("last.pt")
"""


@pytest.mark.parametrize(("mark", "expected"), [("print(path)", "upheld"), ("print(self.model(path))", "violated")])
def test_it_is_decorated_in_the_other_branch_and_behind_it_too(mark: str, expected: str) -> None:
    found = analyse(script(TRAIN, HELPERS.replace("MARK", mark)))
    assert found.verdicts("FSDP302") == {"upheld"}, "what a method closes over is known behind the branch"
    assert ("violated" in found.verdicts("FSDP801")) is (expected == "violated")
