"""A block that a loop takes out of a model that was not seen is no model of its own."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
model = {made}
for {name} in {blocks}:
    fully_shard({part}, reshard_after_forward=False)
    fully_shard(block, reshard_after_forward=False)
"""
WHOLE = "fully_shard(model, reshard_after_forward={})\n"
BLOCKS = [
    ("_, block", "model.layers.items()", "block.feed_forward.experts"),
    ("block", "parts_of(model)", "block.experts"),
    ("block", "model.layers", "block.experts"),
]


@pytest.mark.parametrize(("name", "blocks", "part"), BLOCKS)
@pytest.mark.parametrize("whole", ["", WHOLE.format("not theirs.stages"), WHOLE.format(True)])
def test_nothing_is_said_of_the_blocks_alone(name: str, blocks: str, part: str, whole: str) -> None:
    body = RUN.format(made="build()", name=name, blocks=blocks, part=part) + whole
    assert "FSDP312" not in analyse(main(body, "import theirs\nfrom theirs import build, parts_of\n")).codes


def test_a_model_that_was_seen_has_all_its_groups() -> None:
    body = RUN.format(made="Net()", name="block", blocks="model.layers", part="block.up")
    assert "FSDP312" in analyse(main(body + WHOLE.format(False))).codes
    assert "FSDP312" not in analyse(main(body + WHOLE.format(True))).codes
