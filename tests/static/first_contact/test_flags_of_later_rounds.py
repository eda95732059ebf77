"""Flags that what a loop calls sets: a later round meets them, though the first one did not."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

LOOPS = {
    "condition": """
        while self.at < 1000 and not self.over:
            self.round()
    """,
    "break before": """
        for at in range(1000):
            if self.over:
                break
            self.round()
    """,
    "return behind": """
        while True:
            self.round()
            if self.over:
                return
    """,
}
CLASSES = """
import signal


class Watch:
    def __init__(self):
        self.received = False

    def note(self, number, frame):
        self.received = True

    def begin(self, run):
        signal.signal(signal.SIGTERM, self.note)

    def end_of_round(self, run):
        if {flag}:
            run.over = True


class Run:
    def __init__(self, model, optimizer, watchers):
        self.model, self.optimizer, self.watchers = model, optimizer, watchers
        self.over, self.at = False, 0

    def tell(self, name):
        for each in self.watchers:
            getattr(each, name)(self)

    def round(self):
        self.model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.at += 1
        self.tell("end_of_round")

    def go(self):
        self.tell("begin")
{loop}

def agreed(flag):
    told = torch.tensor(float(flag))
    dist.all_reduce(told)
    return told.item() > 0
"""
USED = f"""
{SHARDED}
Run(model, torch.optim.AdamW(model.parameters()), [Watch()]).go()
"""


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_each_rank_ends_by_a_flag_of_its_own(loop: str) -> None:
    alone = analyse(main(USED, CLASSES.format(flag="self.received", loop=loop)))
    assert "FSDP801" in alone.codes
    together = analyse(main(USED, CLASSES.format(flag="agreed(self.received)", loop=loop)))
    assert "FSDP801" not in together.codes


ONCE = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
state = {{{{"last": False}}}}


def count(at):
    if at % 100 == 99:
        state["last"] = True


for at, batch in enumerate(torch.utils.data.DataLoader(torch.load("tokens.pt"))):
    if state["last"]:
        {{save}}
        break
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    count(at)
"""


def test_what_stands_behind_such_a_flag_is_run() -> None:
    assert "FSDP701" in analyse(main(ONCE.format(save="torch.save(model.state_dict(), 'last.pt')"))).codes
    assert analyse(main(ONCE.format(save="pass"))).codes == []


SAVES = """
import torch.distributed.checkpoint as dcp


class Saver:
    def __init__(self, model):
        self.model, self.pending = model, None

    def save(self, at):
        {first}
        self.pending = dcp.async_save({{"model": self.model.state_dict()}}, checkpoint_id=f"step-{{at}}")

    def wait(self):
        if self.pending is not None:
            self.pending.result()
            self.pending = None


class Events:
    def __init__(self, saver):
        self.saver = saver

    def tell(self, name, *given):
        getattr(self, name)(*given)

    def on_round(self, at):
        if at % 100 == 0:
            self.saver.save(at)

    def on_end(self):
        self.saver.wait()
"""
ROUNDS = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
told = Events(Saver(model))
for at, batch in enumerate(torch.utils.data.DataLoader(torch.load("tokens.pt"))):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    told.tell("on_round", at)
told.tell("on_end")
"""


def test_a_wait_at_the_end_is_none_before_the_next_save() -> None:
    assert "FSDP706" in analyse(main(ROUNDS, SAVES.format(first="pass"))).codes
    assert "FSDP706" not in analyse(main(ROUNDS, SAVES.format(first="self.wait()"))).codes
    each = ROUNDS.replace('told.tell("on_round", at)', 'told.tell("on_round", at)\n    told.tell("on_end")')
    assert "FSDP706" not in analyse(main(each, SAVES.format(first="pass"))).codes
