"""What DCP gives back to a Stateful object is the dict that its own ``state_dict`` made, filled."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

KINDS = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.checkpoint.stateful import Stateful


class Saver(Stateful):
    def __init__(self, model, other=None):
        self.model, self.other = model, other

    def state_dict(self):
        return {of}

    def load_state_dict(self, state):
        set_model_state_dict(self.model, state, options=StateDictOptions(strict=False))

    def without_teacher(self):
        kept = {{}}
        for name, tensor in get_model_state_dict(self.model).items():
            if "teacher" not in name:
                kept[name] = tensor
        return kept
"""
OWN = ["get_model_state_dict(self.model)", "self.without_teacher()"]


@pytest.mark.parametrize("of", OWN)
def test_names_of_the_model_itself(of: str) -> None:
    body = SHARDED + 'dcp.load({"app": Saver(model)}, checkpoint_id="saved")\n'
    assert "FSDP703" not in analyse(main(body, KINDS.format(of=of))).codes


RENAMED = "{f'model.{name}': tensor for name, tensor in get_model_state_dict(self.model).items()}"


def test_names_that_are_changed() -> None:
    body = SHARDED + 'dcp.load({"app": Saver(model)}, checkpoint_id="saved")\n'
    assert "FSDP703" in analyse(main(body, KINDS.format(of=RENAMED))).codes


def test_names_of_another_model() -> None:
    others = SHARDED.replace("model", "other")
    body = SHARDED + others + 'dcp.load({"app": Saver(model, other)}, checkpoint_id="saved")\n'
    assert "FSDP703" in analyse(main(body, KINDS.format(of="get_model_state_dict(self.other)"))).codes


@pytest.mark.parametrize("of", OWN)
def test_names_in_a_file(of: str) -> None:
    body = SHARDED + 'Saver(model).load_state_dict(torch.load("saved.pt"))\n'
    assert "FSDP703" in analyse(main(body, KINDS.format(of=of))).codes
