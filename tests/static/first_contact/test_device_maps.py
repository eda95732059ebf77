"""``from_pretrained(..., device_map=...)`` puts the whole model on a device before it is sharded."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
local_rank = int(os.environ["LOCAL_RANK"])
where = sys.argv[2]
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], device_map={where})
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(input_ids=torch.zeros(1, 8, dtype=torch.long)).logits.sum().backward()
optimizer.step()
"""
MOVED = [
    '"cuda"',
    'f"cuda:{local_rank}"',
    '{"": local_rank}',
    '{"": f"cuda:{local_rank}"}',
    'torch.device("cuda", local_rank)',
]
NOT_KNOWN = ['"auto"', "where", '{"model": 0, "lm_head": 1}', "json.load(open(where))"]
STAYS = ["None", '"cpu"', '{"": "cpu"}']


def verdict(where: str) -> str:
    (word,) = analyse(main(RUN.replace("{where}", where), "import json\n")).verdicts("FSDP206")
    return word


@pytest.mark.parametrize("where", MOVED)
def test_it_is_moved_as_a_whole(where: str) -> None:
    assert verdict(where) == "violated"


@pytest.mark.parametrize("where", NOT_KNOWN)
def test_where_it_goes_is_not_known(where: str) -> None:
    assert verdict(where) == "unknown"


@pytest.mark.parametrize("where", STAYS)
def test_it_stays(where: str) -> None:
    assert verdict(where) == "upheld"
