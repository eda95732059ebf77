"""What code leaves behind that is called by no name, that is passed over, or that runs when its file is imported."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HOOKS = """\
class Control:
    def __init__(self):
        self.save = False


class State:
    def __init__(self, main):
        self.main, self.step = main, 0


class EachStep:
    def on_step(self, state, control):
        state.step += 1
        control.save = state.step % 10 == 0


class Best:
    def on_step(self, state, control):
        {asks}
        control.save = True


class Hooks:
    def __init__(self, hooks, main):
        self.hooks, self.state, self.control = list(hooks), State(main), Control()

    def fire(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self.state, self.control)
"""
TRAIN = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
hooks = Hooks([EachStep(), Best()], dist.get_rank() == 0)
for batch in torch.load("batches"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    hooks.control.save = False
    hooks.fire("on_step")
    if hooks.control.save:
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("asks", "upheld"), [("if not state.main:\n            return", False), ("print(state.step)", True)]
)
def test_a_flag_that_a_hook_sets_on_some_ranks(asks: str, upheld: bool) -> None:
    """The hook is looked up by its name, in a file that has nothing of torch."""
    files = {
        "hooks.py": HOOKS.format(asks=asks),
        "train.py": script(TRAIN, "from hooks import Best, EachStep, Hooks\n"),
    }
    assert ("upheld" in analyse(files).verdicts("FSDP801")) is upheld


def test_a_flag_that_is_only_set_in_what_is_passed_over() -> None:
    """It is read in no such place, and is another one all the same."""
    hooks = HOOKS.format(asks="pass")
    late = TRAIN.replace(", Best()", "").replace("dist.barrier()", "model.forward(batch)")
    assert (
        "FSDP401" in analyse({"hooks.py": hooks, "train.py": script(late, "from hooks import EachStep, Hooks\n")}).codes
    )


def test_a_device_that_is_used_when_a_file_is_imported() -> None:
    means = "import torch\n\nMEAN = torch.tensor((0.4, 0.5)).cuda()\n\n\ndef centred(x):\n    return x - MEAN\n"
    main = TRAIN.replace("model(batch)", "model(centred(batch))").replace("hooks.fire", "# ").replace("hooks = ", "# ")
    main = main.partition("    hooks.control")[0]
    files = {"means.py": means, "train.py": script(main, "from means import centred\n")}
    assert analyse(files).verdicts("FSDP103") == {"unknown"}
    assert analyse({**files, "means.py": means.replace(".cuda()", "")}).verdicts("FSDP103") == {"upheld"}


@pytest.mark.parametrize(("start", "asked"), [("", 1), (", start=1", 2), (", 5", 6)])
def test_numbers_begin_where_enumerate_is_told_to(start: str, asked: int) -> None:
    main = TRAIN.partition("hooks = ")[0] + (
        f'for number, name in enumerate(["a", "b"]{start}):\n'
        f"    if number == {asked}:\n        model.forward(torch.ones(2, 8, dtype=torch.long))\n"
    )
    assert "FSDP401" in analyse(script(main)).codes
