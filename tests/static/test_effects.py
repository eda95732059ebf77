"""What the engine did not understand opens what it might have changed.

A clause that rests on absence (nothing shards the root, nothing selects the device, nothing
re-maps the optimizer) must not be violated behind code that was not followed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .program import analyse, script

GOOD = """\
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net().cuda()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(10):
    loss = model(torch.ones(2, 8, dtype=torch.long, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
""".splitlines()
OPTIMIZER = GOOD[6]
FAULTY = {
    "FSDP301": [line for line in GOOD if line not in GOOD[3:5]],
    "FSDP303": [line for line in GOOD if line != "fully_shard(model)"],
    "FSDP101": GOOD[1:],
    "FSDP601": [*GOOD[:3], OPTIMIZER, *GOOD[3:6], *GOOD[7:]],
}
OPENED_BY = {
    "FSDP301": ["model"],
    "FSDP303": ["model"],
    "FSDP101": ["", "model", "optimizer"],
    "FSDP601": ["optimizer"],
}
# What happens to the model or the optimizer behind these comes too late to mend the fault.
SETTLED_BY = {"FSDP301": "fully_shard(model)", "FSDP303": "loss.backward()", "FSDP601": "optimizer.step()"}
HELPERS = """
import asyncio, atexit, collections, contextlib, copy, dataclasses, functools, importlib, operator, threading, typing
import hydra
import mystery_lib
import torch.multiprocessing as mp
from mystery_lib import touch, flag, nested

def identity(it):
    return it

def hand_on(it):
    touch(it)

class Holder:
    def __init__(self, it):
        self.it = it

@dataclasses.dataclass
class State:
    it: object

class Pair(typing.NamedTuple):
    it: object
    step: int

class Sub(mystery_lib.Base):
    def __init__(self, it=None):
        super().__init__(it)

class Trainer(mystery_lib.Base):
    def __init__(self, it):
        self.it = it
        self.setup()

@touch
def decorated(it):
    pass
"""


def inserted(lines: list[str], statement: str, needs: str) -> Iterator[tuple[int, str]]:
    """``statement`` put before each line behind the one that makes what it ``needs``, and at the end."""
    first = 0 if not needs else next(at for at, line in enumerate(lines) if line.startswith(f"{needs} = ")) + 1
    for at in range(first, len(lines) + 1):
        follower = lines[at] if at < len(lines) else ""
        margin = " " * (len(follower) - len(follower.lstrip()))
        yield at, "\n".join([*lines[:at], margin + statement, *lines[at:]])


def test_the_base_is_clean_and_the_faults_are_found() -> None:
    assert analyse(script("\n".join(GOOD))).codes == []
    for code, lines in FAULTY.items():
        assert analyse(script("\n".join(lines))).codes == [code]


POSITIONS = [
    pytest.param(code, given, text, id=f"{code}-{given or 'nothing'}-{at}")
    for code, handed in OPENED_BY.items()
    for given in handed
    for at, text in inserted(FAULTY[code], f"touch({given})", given)
]


@pytest.mark.parametrize(("code", "given", "text"), POSITIONS)
def test_an_unknown_call_opens_what_it_was_given(code: str, given: str, text: str) -> None:
    seen = analyse(script(text, "from mystery_lib import touch\n"))
    if code in SETTLED_BY and text.index(f"touch({given})") > text.index(SETTLED_BY[code]):
        assert seen.codes == [code], "who gets the model after that comes too late to mend it"
        return
    assert seen.codes == []
    assert code == "FSDP101" or seen.verdicts(code) == {"unknown"}, "the device belongs to no model"


@pytest.mark.parametrize("code", ["FSDP301", "FSDP303", "FSDP601"])
def test_and_nothing_else(code: str) -> None:
    """An unknown call without the model leaves the proof as it was."""
    for _, text in inserted(FAULTY[code], "touch()", ""):
        assert analyse(script(text, "from mystery_lib import touch\n")).codes == [code], text


@pytest.mark.parametrize("given", ["", "model", "optimizer", "model, optimizer"])
def test_unknown_calls_add_no_finding_to_a_good_program(given: str) -> None:
    for _, text in inserted(GOOD, f"touch({given})", given.split(", ")[-1]):
        assert analyse(script(text, "from mystery_lib import touch\n")).codes == [], text


# Ways in which ``it`` gets into the hands of code that is not followed.
HANDED = """\
touch([it])
touch(m=it)
touch({"m": it})
touch(*[it])
touch(**{"m": it})
touch((1, (it, 2)))
touch(holder := [it])
touch(identity(it))
touch(set([it]))
touch(dict(m=it))
touch(dict(zip("m", [it])))
touch(iter([it]))
touch(enumerate([it]))
touch(zip([it], [1]))
touch(filter(None, [it]))
touch([it][0])
touch({"m": it}["m"])
touch(it if flag else None)
touch(it or None)
touch(copy.copy(it))
touch(typing.cast(nn.Module, it))
hand_on(it)
mystery_lib.touch(it)
mystery_lib.sub.touch(it)
nested.deep.call(it)
getattr(mystery_lib, "touch")(it)
importlib.import_module("mystery_lib").touch(it)
__import__("mystery_lib").touch(it)
hydra.utils.call(flag, it)
touch.apply(it)
touch()(it)
touch().run(it)
with touch(it): pass
with mystery_lib.Context(it) as entered: pass
it = touch(it)
[touch(each) for each in [it]]
{1: touch(each) for each in [it]}
list(touch(each) for each in [it])
list(map(touch, [it]))
for each in [it]: touch(each)
for each in touch(it): pass
while touch(it): break
if touch(it): pass
assert touch(it)
print(f"{touch(it)}")
x = y = touch(it)
table = {}; table[touch(it)] = 0
(lambda each: touch(each))(it)
(touch if flag else touch)(it)
t = mystery_lib.Trainer(it); t.run()
t = mystery_lib.Trainer; t(it)
Sub().run(it)
asyncio.run(touch(it))
functools.partial(touch, it)()
touch(lambda: it)
touch(functools.partial(identity, it))
touch(Holder(it))
touch(State(it))
touch(Pair(it, 0))
touch([Holder(it)])
Holder(it).it.register(touch); touch(Holder(it).it)
Sub(it)
Sub(it).run()
Trainer(it)
t = mystery_lib.Trainer(); t.it = it; t.run()
mystery_lib.it = it
mystery_lib.registry["it"] = it
mystery_lib.STRATEGIES["fsdp"](it)
decorated(it)
mp.spawn(touch, args=(it,))
threading.Thread(target=touch, args=(it,)).start()
functools.reduce(lambda _, each: touch(each), [it], None)
exec("touch(it)")
touch(vars(it))
touch @ it
it.register(touch) if False else touch << it""".splitlines()


@pytest.mark.quick(70)
@pytest.mark.parametrize(("code", "name"), [("FSDP303", "model"), ("FSDP601", "optimizer")])
@pytest.mark.parametrize("form", HANDED)
def test_however_it_is_handed_over(form: str, code: str, name: str) -> None:
    lines = [line.replace(name, "it") for line in FAULTY[code]]
    at = next(at for at, line in enumerate(lines) if line.startswith("it = ")) + 1
    seen = analyse(script("\n".join([*lines[:at], form, *lines[at:]]), HELPERS))
    assert code not in seen.codes
    assert seen.verdicts(code) == {"unknown"}, "not upheld either"


PARTS = ["it.layers", "it.layers[0]", "it.head", "it.children()", "list(it.modules())", "it.forward", "it.embed"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_model_is_enough(part: str) -> None:
    """Code that has a layer may shard that layer; of the rest nothing is claimed here."""
    lines = [line.replace("model", "it") for line in FAULTY["FSDP301"]]
    at = next(at for at, line in enumerate(lines) if line.startswith("it = ")) + 1
    seen = analyse(script("\n".join([*lines[:at], f"touch({part})", *lines[at:]]), HELPERS))
    assert "FSDP301" not in seen.codes


@pytest.mark.parametrize("form", ["touch(it.param_groups)", "for group in it.param_groups: touch(group)"])
def test_the_groups_of_the_optimizer_are_enough(form: str) -> None:
    lines = [line.replace("optimizer", "it") for line in FAULTY["FSDP601"]]
    at = next(at for at, line in enumerate(lines) if line.startswith("it = ")) + 1
    seen = analyse(script("\n".join([*lines[:at], form, *lines[at:]]), HELPERS))
    assert "FSDP601" not in seen.codes


GUARDED = """\
def share(rank):
    if rank == 0:
        if dist.is_initialized():
            dist.barrier()


share(int(os.environ["RANK"]))
"""


def test_a_collective_under_is_initialized_needs_a_group_that_this_program_makes() -> None:
    assert "FSDP801" not in analyse(script("model = Net()\n" + GUARDED + "fully_shard(model)\n")).codes
    made = 'model = Net()\ndist.init_process_group("nccl")\n' + GUARDED + "fully_shard(model)\n"
    assert "FSDP801" in analyse(script(made)).codes


def test_a_global_that_some_ranks_set_is_still_unset_for_the_others() -> None:
    ensure = "group = None\n\n\ndef ensure():\n    global group\n    if group is None:\n        dist.barrier()\n"
    ensure += '        group = 1\n\n\ndist.init_process_group("nccl")\nmodel = Net()\nfully_shard(model)\n'
    one = "if dist.get_rank() == 0:\n    ensure()\n"
    assert "FSDP801" in analyse(script(ensure + one)).codes
    assert "FSDP801" not in analyse(script(ensure + one + "if dist.get_rank() != 0:\n    ensure()\n")).codes


def test_who_exchanges_the_groups_of_an_optimizer_puts_it_right() -> None:
    lines = FAULTY["FSDP601"]
    at = lines.index("fully_shard(model)") + 1
    for exchange in ("optimizer.param_groups.clear()", "optimizer.param_groups = [make()]"):
        text = "\n".join([*lines[:at], exchange, *lines[at:]])
        assert "FSDP601" not in analyse(script(text, "def make():\n    return {}\n")).codes, exchange
    kept = "\n".join([*lines[:at], "for group in optimizer.param_groups:\n    group.update(lr=1e-4)", *lines[at:]])
    assert "FSDP601" in analyse(script(kept)).codes


def test_what_data_code_fills_is_not_empty() -> None:
    """A function that is not worth to be run may still fill the list that decides whether the model is called."""
    sampler = "class Sampler:\n    def __init__(self):\n        self.ready = []\n\n    def consume(self, items):\n"
    sampler += "        for item in items:\n            if item > 0:\n                self.ready.append(item)\n\n\n"
    main = "sampler = Sampler()\nmodel = Net()\nfully_shard(model)\nsampler.consume([1, 2])\n"
    main += "if len(sampler.ready) > 0:\n    model.forward(torch.ones(2, 8))\n"
    assert "FSDP401" in analyse(script(main, sampler)).codes


def test_a_patched_forward_is_no_way_around_the_hooks() -> None:
    patch = "def patched(model):\n    inner = model.forward\n\n    def run(*args):\n        return inner(*args)\n\n"
    patch += "    model.forward = run\n    return model\n\n\n"
    main = "model = patched(Net())\nfully_shard(model)\n"
    assert "FSDP401" in analyse(script(main + "model.forward(torch.ones(2, 8))\n", patch)).codes
    assert "FSDP401" not in analyse(script(main + "model(torch.ones(2, 8))\n", patch)).codes


def test_an_iterator_of_the_project_runs_with_its_loop() -> None:
    steps = "class Steps:\n    def __init__(self, model):\n        self.model = model\n\n    def __iter__(self):\n"
    steps += "        return self\n\n    def __next__(self):\n        self.model.forward(torch.ones(2, 8))\n"
    main = "model = Net()\nfully_shard(model)\nfor step in Steps(model):\n    model(torch.ones(2, 8))\n"
    assert "FSDP401" in analyse(script(main, steps)).codes
