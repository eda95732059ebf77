"""The whole model comes onto a GPU, or into a low precision, in ways other than ``model.to(...)``."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

NET = """
class Part(nn.Module):
    def __init__(self, d, made):
        super().__init__()
        self.up = nn.Linear(d, d, **made)

    def forward(self, x):
        return x + self.up(x)


class Large(nn.Module):
    def __init__(self, d=8192, n=16, **made):
        super().__init__()
        self.blocks = nn.ModuleList([Part(d, made) for _ in range(n)])
        self.head = nn.Linear(d, d, **made)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""
REST = """
for block in model.blocks:
    BEFORE
    fully_shard(block)
fully_shard(model)
model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8192, device="cuda")).sum().backward()
optimizer.step()
"""
ON_GPU = {
    "default": 'torch.set_default_device("cuda")\nmodel = Large()',
    "context": 'with torch.device("cuda", local_rank):\n    model = Large()',
    "keyword": 'model = Large(device="cuda")',
    "empty": 'with torch.device("meta"):\n    model = Large()\nmodel.to_empty(device="cuda")\n'
    'model.load_state_dict(torch.load("weights.pt"))',
    "in parts": 'model = Large()\nfor block in model.blocks:\n    block.to("cuda")\nmodel.head.cuda()',
}
NOT_KNOWN = {
    "tensors": "model = Large()\nmodel._apply(lambda tensor: tensor.to(torch.device('cuda', local_rank)).half())",
    "data": "model = Large()\nfor one in model.parameters():\n    one.data = one.data.to('cuda').half()",
    "assigned": 'with torch.device("meta"):\n    model = Large()\n'
    'model.load_state_dict(torch.load("weights.pt", map_location="cuda"), assign=True)',
}
NOT_MOVED = {
    "plain": "model = Large()",
    "context": 'with torch.device("cpu"):\n    model = Large()',
    "another object": 'with torch.device("cuda"):\n    table = torch.zeros(8)\nmodel = Large()',
    "back": 'torch.set_default_device("cuda")\ntorch.set_default_device("cpu")\nmodel = Large()',
    "keyword": 'model = Large(device="cpu")',
    "a part": "model = Large()\nmodel.head.cuda()",
    "copied": 'model = Large()\nmodel.load_state_dict(torch.load("weights.pt"))',
}


def verdict(code: str, made: str, before: str = "pass") -> str:
    body = 'local_rank = int(os.environ["LOCAL_RANK"])\n' + made + REST.replace("BEFORE", before)
    (word,) = analyse(main(body, NET)).verdicts(code)
    return word


@pytest.mark.parametrize("made", ON_GPU.values(), ids=ON_GPU)
def test_it_is_made_or_moved_as_a_whole(made: str) -> None:
    assert verdict("FSDP206", made) == "violated"


@pytest.mark.parametrize("made", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_of_tensors_that_are_exchanged_neither_device_nor_dtype_is_known(made: str) -> None:
    assert verdict("FSDP206", made) == "unknown"
    assert verdict("FSDP501", made) == "unknown"


@pytest.mark.parametrize("made", NOT_MOVED.values(), ids=NOT_MOVED)
def test_it_stays_where_it_is(made: str) -> None:
    assert verdict("FSDP206", made) == "upheld"
    assert verdict("FSDP501", made) == "upheld"


def test_blocks_that_are_moved_and_then_sharded_are_not_the_whole() -> None:
    assert verdict("FSDP206", "model = Large()", 'block.to("cuda")') == "upheld"


HOLDERS = """
class Holder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)
"""


@pytest.mark.parametrize(
    ("made", "word"),
    [
        ("holder = Holder(Large())\nholder.to('cuda')\nmodel = holder.inner", "violated"),
        ("holder = Holder(Large())\nmodel = holder.inner", "upheld"),
        ("model = Large()\nholder = Holder(nn.Linear(8, 8))\nholder.to('cuda')\nholder.inner = model", "upheld"),
        ("holder = diffusers.DiffusionPipeline.from_pretrained('a')\nmodel = holder.unet", "upheld"),
        ("holder = diffusers.DiffusionPipeline.from_pretrained('a').to('cuda')\nmodel = holder.unet", "unknown"),
    ],
)
def test_what_holds_it_is_moved(made: str, word: str) -> None:
    body = made + REST.replace("BEFORE", "pass")
    assert analyse(main(body, "import diffusers\n" + NET + HOLDERS)).verdicts("FSDP206") == {word}


MOVED = "model = Large(); model.cuda()\n"
BLOCKS = "for block in model.blocks:\n    fully_shard(block)\n"


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (MOVED + BLOCKS, "Large"),  # the root is forgotten, but it is what was moved
        (MOVED + "for part in (*model.blocks, model.head):\n    fully_shard(part)\n", "Large"),
        (MOVED + "fully_shard(model.head)\n" + BLOCKS + "fully_shard(model.blocks)\n", "Large"),
        ("model = Holder(Large()).cuda().inner\n" + BLOCKS + "fully_shard(model)\n", "Large"),  # all that is sharded
        ("model = Holder(nn.Linear(32768, 32768)).cuda()\nfully_shard(model.inner)\n", "Linear"),
        ("model = Large(n=1)\nmodel.head.cuda()\nfully_shard(model.head)\nfully_shard(model)\n", None),
    ],
)
def test_what_was_moved_is_called_by_its_name_and_reported_once(made: str, name: str | None) -> None:
    found = [each for each in analyse(main(made, NET + HOLDERS)).result.findings if each.code == "FSDP206"]
    expected = [] if name is None else [f"each GPU holds all of {name} before fully_shard leaves it a part"]
    assert [each.message.partition(" (here and at")[0] for each in found] == expected


def test_layers_say_their_dtype() -> None:
    assert verdict("FSDP501", "model = Large(dtype=torch.bfloat16)") == "violated"
    assert verdict("FSDP501", "model = Large(dtype=torch.float32)") == "upheld"


SWITCHED = "model = Large()" + REST.replace("BEFORE", "pass").replace("optimizer =", "SWITCH\noptimizer =")


@pytest.mark.parametrize(
    ("switch", "word"),
    [
        ("model.set_reshard_after_forward(False)", "unknown"),
        ("for block in model.blocks:\n    block.set_reshard_after_forward(False)", "unknown"),
        ("model.set_reshard_after_forward(True)", "upheld"),
        ("model.set_reshard_after_backward(False)", "upheld"),
    ],
)
def test_resharding_that_is_switched_off_later(switch: str, word: str) -> None:
    assert analyse(main(SWITCHED.replace("SWITCH", switch), NET)).verdicts("FSDP312") == {word}


@pytest.mark.parametrize(
    ("made", "word"),
    [
        ("model.apply(lambda part: part.to(torch.bfloat16) if isinstance(part, nn.Linear) else part)", "unknown"),
        ("model.head.half()", "unknown"),
        ("model.head.half().requires_grad_(False)", "upheld"),
    ],
)
def test_parts_of_a_low_precision(made: str, word: str) -> None:
    assert verdict("FSDP501", f"model = Large()\n{made}") == word
