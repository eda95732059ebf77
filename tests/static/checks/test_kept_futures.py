"""FSDP706 of a future that an attribute keeps: who waits for it, before the next save and at the end."""

from __future__ import annotations

import pytest

from tests.static.program import FOOT, HEAD, NET, analyse

IMPORTS = "import torch.distributed.checkpoint as dcp\n"
WAIT = "if self.pending is not None:\n    self.pending.result()\n    self.pending = None"
TRAINING = """

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    saver = Saver(dist.new_group(backend="gloo"))
"""
LOOP = """
for epoch in range(2):
    for step, batch in enumerate(torch.load("batches")):
        model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            {save}
{end}
"""


def indented(lines: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in lines.strip().splitlines())


def saver(wait: str, save: str, more: str = "") -> str:
    """A class that keeps the future of its save."""
    return (
        "\n\nclass Saver:\n    def __init__(self, group):\n        self.group, self.pending = group, None\n\n"
        f"    def wait(self):\n{indented(wait, 8)}\n    def save(self, model):\n{indented(save, 8)}{more}"
    )


GENERATOR = """

def batches():
    for number in range(9):
        yield torch.ones(2, 8, dtype=torch.long)
"""
SAVE = 'self.pending = dcp.async_save(model.state_dict(), checkpoint_id="x", process_group=self.group)'


def verdicts(kept_by: str, loop: str) -> set[str]:
    return analyse(HEAD + IMPORTS + NET + kept_by + TRAINING + indented(loop, 4) + FOOT).verdicts("FSDP706")


@pytest.mark.parametrize(
    ("kept_by", "loop", "expected"),
    [
        # The mend that the page recommends, and other shapes of it.
        (saver(WAIT, f"self.wait()\n{SAVE}"), LOOP.format(save="saver.save(model)", end="saver.wait()"), "upheld"),
        (saver(WAIT, SAVE), LOOP.format(save="saver.wait(); saver.save(model)", end="saver.wait()"), "upheld"),
        (saver(WAIT, SAVE), LOOP.format(save="saver.save(model); saver.wait()", end=""), "upheld"),
        (saver(WAIT, f"self.wait()\n{SAVE}"), "saver.save(model)\nsaver.save(model)\nsaver.wait()", "upheld"),
        (
            saver("if self.pending:\n    self.pending.result()", f"self.wait()\n{SAVE}"),
            LOOP.format(save="saver.save(model)", end="saver.wait()"),
            "upheld",
        ),
        (
            saver(WAIT, f"self.wait()\n{SAVE}", GENERATOR),
            LOOP.replace('torch.load("batches")', "batches()").format(save="saver.save(model)", end="saver.wait()"),
            "upheld",
        ),
        (
            saver(
                "if self.pending is None:\n    return\nself.pending.result()\nself.pending = None",
                f"self.wait()\n{SAVE}",
            ),
            LOOP.format(save="saver.save(model)", end="saver.wait()"),
            "upheld",
        ),
        # The next save comes first.
        (saver(WAIT, SAVE), LOOP.format(save="saver.save(model)", end="saver.wait()"), "violated"),
        (saver(WAIT, SAVE), "saver.save(model)\nsaver.save(model)\nsaver.wait()", "violated"),
        (
            saver(
                "if self.pending is not None and self.pending.done():\n    self.pending.result()",
                f"self.wait()\n{SAVE}",
            ),
            LOOP.format(save="saver.save(model)", end="saver.pending.result()"),
            "violated",
        ),
        (
            saver("if self.pending is None or not self.pending.done():\n    return\nself.pending.result()", SAVE),
            LOOP.format(save="saver.wait(); saver.save(model)", end="saver.wait()"),
            "violated",
        ),
        # Nobody waits for the last one, or only on a condition that is not known.
        (saver(WAIT, f"self.wait()\n{SAVE}"), LOOP.format(save="saver.save(model)", end=""), "unknown"),
        (
            saver(WAIT, SAVE),
            LOOP.format(
                save='if os.environ.get("WAIT"): saver.wait()\n            saver.save(model)', end="saver.wait()"
            ),
            "unknown",
        ),
        (
            saver("if self.pending is not None and not self.pending.done():\n    self.pending.result()", SAVE),
            LOOP.format(save="saver.wait(); saver.save(model)", end="saver.wait()"),
            "unknown",
        ),
        (
            saver(WAIT, SAVE, "\n    def ready(self):\n        return self.pending is None or self.pending.done()\n"),
            LOOP.format(save="if saver.ready(): saver.save(model)", end="saver.wait()"),
            "unknown",
        ),
        (
            saver("for part in os.listdir():\n    if part: return\nself.pending.result()", f"self.wait()\n{SAVE}"),
            LOOP.format(save="saver.save(model)", end="saver.wait()"),
            "unknown",
        ),
        # Code that is not seen may wait for it.
        (
            saver(WAIT, SAVE),
            "from elsewhere import hold\nhold(saver)\n" + LOOP.format(save="saver.save(model)", end="saver.wait()"),
            "unknown",
        ),
        # A later round comes to where the first one does not.
        (
            saver("if self.started:\n" + indented(WAIT, 4), f"self.wait()\n{SAVE}\nself.started = True").replace(
                "= group, None", "= group, None\n        self.started = False"
            ),
            LOOP.format(save="saver.save(model)", end="saver.wait()"),
            "unknown",
        ),
    ],
)
def test_who_waits_for_what_an_attribute_keeps(kept_by: str, loop: str, expected: str) -> None:
    assert verdicts(kept_by, loop) == {expected}


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("if self.pending is not None and self.pending.done():\n    self.pending.result()", "violated"),
        (WAIT, "upheld"),
    ],
)
def test_other_loops_that_come_before(wait: str, expected: str) -> None:
    """Those that run on some ways only, and have nothing to do with it."""
    before = """
if os.environ.get("CHECK"):
    for part in model.modules():
        print(part)
    for _ in range(9):
        print()
"""
    loop = before + LOOP.format(save="saver.save(model)", end="saver.pending and saver.pending.result()")
    assert verdicts(saver(wait, f"self.wait()\n{SAVE}"), loop) == {expected}


def test_it_is_not_known_when_callers_that_are_not_seen_save() -> None:
    source = HEAD + IMPORTS + NET + saver(WAIT, f"fully_shard(model)\n{SAVE}")
    assert analyse(source).verdicts("FSDP706") == {"unknown"}


PAIR = f"name, future = 'x', {SAVE.partition(' = ')[2]}\nself.pending = (name, future)"
TAKEN = "if self.pending is None:\n    return\nname, future = self.pending\n{asks}future.result()\nself.pending = None"
SLOW = "if not future.done():\n    return\n"
HANDLERS = """

class Handlers:
    def __init__(self):
        self.known = []

    def on(self, handler):
        self.known.append(handler)

    def fire(self, *given):
        for handler in self.known:
            handler(*given)
"""
FIRED = (
    "handlers = Handlers()\nhandlers.on(lambda model: saver.save(model))\n"
    + LOOP.format(save="handlers.fire(model)", end="saver.wait()").lstrip()
)


@pytest.mark.parametrize("loop", [LOOP.format(save="saver.save(model)", end="saver.wait()"), FIRED])
@pytest.mark.parametrize(("asks", "expected"), [("", "upheld"), (SLOW, "violated")])
def test_a_future_beside_other_things(asks: str, expected: str, loop: str) -> None:
    """Kept with a name in a tuple; saved by a method, or by a handler that nobody calls by its name."""
    assert verdicts(saver(TAKEN.format(asks=asks), f"self.wait()\n{PAIR}") + HANDLERS, loop) == {expected}
