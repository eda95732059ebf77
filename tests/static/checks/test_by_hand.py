"""Helpers that no program calls, and models whose class nobody sees."""

from __future__ import annotations

from tests.static.program import analyse

HELPER = """\
from contextlib import contextmanager

from torch.distributed.fsdp import FSDPModule, fully_shard


@contextmanager
def gathered(modules):
    handles = []
    for module in modules:
        if isinstance(module, FSDPModule):
            handle = module.unshard()
            handles.append(handle)
            handle.__enter__()
    yield
"""
UNSEEN = """\
import torch
from torch.distributed.fsdp import fully_shard


class Trainer:
    def __init__(self, model):
        self.model = model
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)

    def save(self, path):
        return self.model.module.state_dict()
"""


def test_a_handle_that_is_entered_by_hand() -> None:
    assert analyse({"helper.py": HELPER}).found == [("FSDP909", "helper.py", 11)]


def test_a_handle_that_is_kept() -> None:
    assert analyse({"helper.py": HELPER.replace("            handle.__enter__()\n", "")}).found == []


ASKED = "        if isinstance(module, FSDPModule):\n"


def test_what_the_module_is_was_not_asked() -> None:
    assert analyse({"helper.py": HELPER.replace(ASKED, "        if module is not None:\n")}).found == []
    assert analyse({"helper.py": HELPER.replace(ASKED, "        if not isinstance(module, FSDPModule):\n")}).found == []


def test_a_parameter_of_the_class_of_torch() -> None:
    typed = "from torch.distributed.fsdp import FSDPModule as Sharded\n\n\ndef gathered(module: Sharded):\n"
    typed += "    handle = module.unshard()\n    handle.__enter__()\n"
    found = analyse({"helper.py": typed + "# fully_shard\nfully_shard = 0\n"}).found
    assert found == [("FSDP909", "helper.py", 5)]
    assert analyse({"helper.py": typed.replace(": Sharded", ": Ring") + "fully_shard = 0\n"}).found == []


def test_a_model_whose_parts_are_sharded_is_no_wrapper() -> None:
    assert ("FSDP905", "train.py", 13) in analyse(UNSEEN).found


def test_what_is_sharded_as_one_may_be_a_wrapper() -> None:
    whole = UNSEEN.replace("        for layer in model.layers:\n            fully_shard(layer)\n", "")
    assert "FSDP905" not in analyse(whole).codes
