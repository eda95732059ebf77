"""What a class body binds, in whatever way it writes it."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

COMMUNICATORS = """
class Alone:
    {bound}

class Together:
    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
"""
RUN = """
comm = Together() if "--together" in sys.argv else Alone()
model = Net()
if comm.size > {least}:
    fully_shard(model)
if isinstance(comm, Together):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if comm.rank == 0:
    torch.save(state, "model.pt")
"""


def saved(bound: str, least: int = 1) -> bool:
    return "FSDP701" in analyse(main(RUN.format(least=least), COMMUNICATORS.format(bound=bound))).codes


@pytest.mark.parametrize("bound", ["rank, size = 0, 1", "(rank, size) = (0, 1)", "size, rank = 1, 0"])
def test_names_of_a_tuple_are_bound_one_by_one(bound: str) -> None:
    assert not saved(bound)


@pytest.mark.parametrize("bound", ["rank, size = 0, 2", "size, rank = 2, 0", "rank = 0; size = 2"])
def test_each_gets_its_own_value(bound: str) -> None:
    assert saved(bound)
