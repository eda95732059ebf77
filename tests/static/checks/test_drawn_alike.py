"""Random numbers that all ranks draw alike decide nothing apart: one seed, and as many draws on each rank."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
import random
import time
import numpy as np
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
"""
TRAINING = """
dist.init_process_group("gloo")
SEED
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.randint(100, (64, 8)))
for step, (x,) in enumerate(DataLoader(data, batch_size=8, sampler=DistributedSampler(data))):
    loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    BEFORE
    if random.random() < 0.5:
        dist.all_reduce(loss)
    optimizer.step()
    optimizer.zero_grad()
"""


def verdict(seed: str = "random.seed(0)", before: str = "pass", imports: str = IMPORTS, draw: str = "") -> set[str]:
    main = TRAINING.replace("SEED", seed).replace("BEFORE", before.replace("\n", "\n    "))
    return analyse(script(main.replace("random.random() < 0.5", draw or "random.random() < 0.5"), imports)).verdicts(
        "FSDP801"
    )


ALIKE = {
    "one seed": {},
    "the seed of a setting": {"seed": 'random.seed(int(os.environ["SEED"]))'},
    "one more draw each round": {"before": "shift = random.randint(0, 3)"},
    "by another name": {
        "imports": IMPORTS.replace("import random\n", "import random as chance\n"),
        "seed": "chance.seed(0)",
        "draw": "chance.random() < 0.5",
    },
    "numpy's": {"seed": "np.random.seed(0)", "draw": "np.random.rand() < 0.5"},
}
PERHAPS_NOT = {
    "only some ranks draw": {"before": "if dist.get_rank() == 0:\n    print(random.random())"},
    "each rank draws as often as it likes": {"before": "if loss.item() > 3:\n    print(random.random())"},
    "in a loop of its own": {"before": "for _ in range(torch.load('number')):\n    random.random()"},
    "only some ranks seed": {"seed": "if dist.get_rank() == 0:\n    random.seed(0)"},
    "a seed that is not known": {"seed": "random.seed(time.time_ns())"},
    "another package may draw": {"before": "import augment\naugment.shuffle(x)", "imports": IMPORTS},
    "by another name": {"imports": IMPORTS + "from random import shuffle\n\n\ndef mix(items):\n    shuffle(items)\n"},
    "where nobody came": {"imports": IMPORTS + "\n\ndef unused(items):\n    random.shuffle(items)\n"},
    "together with what a rank has": {"draw": "random.random() < loss.item()"},
}


@pytest.mark.parametrize("name", ALIKE)
def test_all_ranks_draw_the_same(name: str) -> None:
    assert verdict(**ALIKE[name]) == {"upheld"}


@pytest.mark.parametrize("name", PERHAPS_NOT)
def test_ranks_may_draw_different_numbers(name: str) -> None:
    assert "upheld" not in verdict(**PERHAPS_NOT[name])


@pytest.mark.parametrize("seed", ["pass", "random.seed(dist.get_rank())"])
def test_ranks_draw_different_numbers(seed: str) -> None:
    assert verdict(seed) == {"violated"}


BY_RANK = "random.seed(1000 + dist.get_rank())"
RESUMED = "saved = torch.load('state.pt') if os.path.exists('state.pt') else None"


@pytest.mark.parametrize(
    ("again", "found"),
    [
        ("if os.environ.get('RESUME') == '1':\n    random.setstate(torch.load('state.pt')['random'])", True),
        (f"{RESUMED}\nif saved is not None and 'random' in saved:\n    random.seed(saved['random'])", True),
        ("random.seed(torch.load('state.pt')['random'])", False),
        ("if os.environ.get('ALIKE') == '1':\n    random.seed(0)\nelse:\n    random.seed(1)", False),
    ],
)
def test_what_is_set_again_where_a_job_is_resumed(again: str, found: bool) -> None:
    """A job that begins anew draws by the seed of each rank."""
    assert ("violated" in verdict(f"{BY_RANK}\n{again}")) is found
