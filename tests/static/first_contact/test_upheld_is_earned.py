"""*Upheld* rests on what was seen: beside each program that leaves something open stands one that does not."""

from __future__ import annotations

from tests.static.program import analyse

HEAD = """\
import os
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict, set_model_state_dict
)
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

IMPORTS
dist.init_process_group("gloo")
model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
for layer in model:
    fully_shard(layer)
fully_shard(model)
"""
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters(), lr=float(os.environ['LR']))\n"
Said = tuple[set[str], list[str]]


def said(code: str, body: str, imports: str = "") -> Said:
    """The verdicts on a clause, and the reasons of those that are unknown."""
    return of(code, HEAD.replace("IMPORTS", imports) + body)


def of(code: str, program: str) -> Said:
    result = analyse(program).result
    clauses = [each for verdicts in (*result.models, *result.followed) for each in verdicts.rules if each.code == code]
    return {each.word for each in clauses}, [reason for each in clauses for reason in each.reasons]


def is_unknown(found: Said, words: str) -> bool:
    return found[0] == {"unknown"} and any(words in reason for reason in found[1])


# -- FSDP617: who changes a learning rate

SCHEDULED = """
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for step in range(9):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    STEP
"""


def scheduled(step: str, imports: str = "") -> Said:
    return said("FSDP617", OPTIMIZER + SCHEDULED.replace("STEP", step.replace("\n", "\n    ")), imports)


def test_a_scheduler_is_stepped_on_all_ranks() -> None:
    assert scheduled("if dist.get_rank() == 0:\n    scheduler.step()")[0] == {"violated"}
    assert scheduled("if dist.get_rank() != 0:\n    continue\nscheduler.step()")[0] == {"violated"}
    assert scheduled("if dist.get_rank() == 0:\n    print(step)\nscheduler.step()")[0] == {"upheld"}


def test_a_scheduler_is_loaded_on_all_ranks() -> None:
    load = "scheduler.load_state_dict(torch.load('scheduler.pt'))"
    assert scheduled(f"if int(os.environ['RANK']) == 0:\n    {load}")[0] == {"violated"}
    assert scheduled(f"if step == 0:\n    {load}")[0] == {"upheld"}


def test_groups_are_written_on_all_ranks() -> None:
    write = "optimizer.param_groups[0]['lr'] = 1e-4"
    assert scheduled(f"if dist.get_rank() == 0:\n    {write}")[0] == {"violated"}
    either = f"if dist.get_rank() == 0:\n    {write}\nelse:\n    {write}"
    assert is_unknown(scheduled(either), "other ranks may change it elsewhere")
    assert scheduled(f"if step > 5:\n    {write}")[0] == {"upheld"}


# -- FSDP703: optimizers that have a state before the first step

OWN = """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(list(params), {"lr": 1e-3})
        BEGIN

    def prepare(self):
        for p in self.param_groups[0]["params"]:
            self.state[p]["mine"] = True

    def step(self):
        for p in self.param_groups[0]["params"]:
            p.data.add_(self.state[p].setdefault("buffer", torch.zeros_like(p)).mul_(0.9).add_(p.grad), alpha=-1e-3)

"""
INTO = """
state = get_optimizer_state_dict(model, optimizer)
dcp.load({"optimizer": state}, checkpoint_id="last")
"""
STEPPED = "model(torch.ones(2, 8)).sum().backward()\noptimizer.step()\n"


def test_an_optimizer_that_fills_its_state_early() -> None:
    early = OWN.replace("BEGIN", "self.prepare()")
    written = OWN.replace("BEGIN", "self.state['begun'] = 0")
    made = "optimizer = Momentum(model.parameters())\n"
    for imports in (early, written):
        assert is_unknown(said("FSDP703", made + INTO, imports), "before its first step")
    one_of_two = made + "if os.environ['MINE'] == '1':\n    optimizer = torch.optim.AdamW(model.parameters())\n"
    assert is_unknown(said("FSDP703", one_of_two + INTO, early), "before its first step")
    assert said("FSDP703", made + STEPPED + INTO, early)[0] == {"upheld"}
    assert said("FSDP703", made + INTO, OWN.replace("BEGIN", "pass"))[0] == {"upheld"}
    assert said("FSDP703", OPTIMIZER + INTO)[0] == {"upheld"}


# -- FSDP703: names that need not fit, of a model whose past was not seen

LOOSE = "set_model_state_dict(tower, torch.load('w.pt'), options=StateDictOptions(strict=STRICT))\n"


def test_a_loose_load_into_a_model_of_another_package() -> None:
    built, imports = "tower = build()\n", "from towers import build\n"
    assert is_unknown(said("FSDP703", built + LOOSE.replace("STRICT", "False"), imports), "comes from")
    assert said("FSDP703", built + LOOSE.replace("STRICT", "True"), imports)[0] == {"upheld"}
    seen = "tower = nn.Linear(8, 8)\n"
    assert said("FSDP703", seen + LOOSE.replace("STRICT", "False"))[0] == {"upheld"}
    assert said("FSDP703", "tower = model\n" + LOOSE.replace("STRICT", "False"))[0] == {"violated"}


# -- FSDP801: conditions on what was not seen

READ = """
for batch in batches(dist.get_world_size()):
    loss = model(batch["x"]).square().mean()
    BEFORE
    loss.backward()
    optimizer.step()
"""
UNSEEN = "from data import batches, loader, stop_asked, checked\n"


def read(before: str, loop: str = READ, imports: str = UNSEEN) -> Said:
    return said("FSDP801", OPTIMIZER + loop.replace("BEFORE", before.replace("\n", "\n    ")), imports)


def test_data_of_an_unseen_loader_decides() -> None:
    for before in (
        "if batch['actions'] is not None:\n    loss = loss + model(batch['actions']).sum()",
        "if torch.isnan(loss):\n    continue",
        "if loss.item() > 3:\n    continue",
        "if checked(loss):\n    continue",
        "if float(loss + 1) > 3:\n    continue",
    ):
        assert is_unknown(read(before), "the same on all ranks"), before
    named = READ.replace("batches(dist.get_world_size())", "loader").replace('batch["x"]', "batch")
    assert is_unknown(read("if not torch.isfinite(loss):\n    continue", named), "what data.loader yields")
    assert is_unknown(read("if stop_asked():\n    break"), "the answer of data.stop_asked")


def test_what_all_ranks_ask_alike_decides() -> None:
    for before in (
        "pass",
        "if os.environ['CHECKED'] == '1' and batch['x'].shape[0] < 2:\n    continue",
        "bad = torch.isnan(loss).float()\ndist.all_reduce(bad)\nif bad.item() > 0:\n    continue",
        "shown = loss.detach().clone()\ndist.all_reduce(shown)\nif torch.isnan(shown):\n    continue",
        "if batch['x'] is None:\n    model(torch.ones(2, 8))\nelse:\n    model(torch.zeros(2, 8))",
    ):
        assert read(before)[0] == {"upheld"}, before
    counted = "for step, batch in enumerate(loader):\n    loss = model(batch).mean()\n    BEFORE\n    loss.backward()\n"
    assert read("if step % 10 == 0:\n    model(torch.ones(2, 8))", counted)[0] == {"upheld"}


def test_settings_of_unseen_code_are_settings() -> None:
    settings = "from settings import read\nargs = read('train.yaml')\nfrom data import batches\n"
    assert read("if args.extra:\n    model(torch.ones(2, 8))", imports=settings)[0] == {"upheld"}


PART = """
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)
        fully_shard(self.net)

    def sample(self, x):
        return self.net(x)
"""


def test_callers_that_were_not_seen_may_be_some_ranks() -> None:
    assert is_unknown(of("FSDP801", PART), "its callers may do so on some ranks only")
    function = PART.replace("self.net = nn.Linear(8, 8)\n        fully_shard(self.net)", "self.net = nn.Linear(8, 8)")
    function += "\ndef sampled(x):\n    sampler = Sampler()\n    fully_shard(sampler)\n    return sampler(x)\n"
    assert is_unknown(of("FSDP801", function), "its callers may do so on some ranks only")
    assert of("FSDP801", f"import torch\n{PART}\nSampler().sample(torch.ones(2, 8))\n")[0] == {"upheld"}


# -- FSDP610: what a loss is combined with

COMBINED = """
out = model(torch.ones(2, 8))
loss, tokens = out.square().mean(), torch.ones(2).sum()
REST
"""


def combined(rest: str) -> Said:
    return said("FSDP610", COMBINED.replace("REST", rest), "from losses import weighed\n")


def test_a_reduced_loss_in_a_sum() -> None:
    reduced = "dist.all_reduce(loss)\n"
    for total in (
        "loss + out.abs().mean()",
        "0.1 * out.abs().mean() + loss",
        "torch.stack([loss, out.abs().mean()]).sum()",
        "sum([out.abs().mean(), loss])",
        "torch.add(out.abs().mean(), loss)",
    ):
        assert combined(f"{reduced}total = {total}\ntotal.backward()")[0] == {"violated"}, total
    for total in ("weighed(loss, out)", "torch.special.expit(loss) + out.sum()", "out.sum().add(loss)"):
        assert is_unknown(combined(f"{reduced}total = {total}\ntotal.backward()"), "flow through the reduced"), total
    assert is_unknown(combined(f"{reduced}torch.autograd.backward(loss)"), "flow through the reduced")


def test_what_is_reduced_beside_a_loss() -> None:
    for rest in (
        "shown = loss.detach().clone()\ndist.all_reduce(shown)\n(loss + out.abs().mean()).backward()",
        "dist.all_reduce(tokens)\n(loss / tokens).backward()",
        "dist.all_reduce(tokens)\n(out.sum() * 2 / tokens + loss).backward()",
        "total = loss + out.abs().mean()\ndist.all_reduce(loss)\ntotal.backward()",
        "dist.all_reduce(loss)\n(out.abs().mean() + loss.detach()).backward()",
    ):
        assert combined(rest)[0] == {"upheld"}, rest


# -- FSDP707: who has the whole dict

FULL = "set_model_state_dict(model, state, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=SENT))\n"


def test_a_dict_of_unseen_code_may_be_empty_on_some_ranks() -> None:
    imports = "from weights import on_rank_0, fill\n"
    for state in ("state = on_rank_0('x.pt')\n", "state = {}\nfill(state)\n"):
        assert is_unknown(said("FSDP707", state + FULL.replace("SENT", "False"), imports), "whole is not known"), state
        assert said("FSDP707", state + FULL.replace("SENT", "True"), imports)[0] == {"upheld"}, state
    assert said("FSDP707", "state = torch.load('x.pt')\n" + FULL.replace("SENT", "False"))[0] == {"upheld"}


# -- FSDP809: who else goes through a loader

LOADER = """
data = TensorDataset(torch.randn(100, 8))
loader = DataLoader(data, batch_size=4, sampler=SAMPLER)
for (x,) in loader:
    model(x).sum().backward()
    optimizer.step()
"""


def loaded(after: str = "", sampler: str = "DistributedSampler(data)", imports: str = "") -> Said:
    return said("FSDP809", OPTIMIZER + LOADER.replace("SAMPLER", sampler) + after, imports)


def test_a_loader_that_unseen_code_goes_through() -> None:
    unseen = "from engine import Trainer, dealt, fit"
    assert is_unknown(loaded("fit(model, optimizer, loader, epochs=10)", imports=unseen), "more rounds")
    trainer = "Trainer(model, optimizer, data=loader).run()"
    assert is_unknown(loaded(trainer, imports=unseen), "more rounds")
    assert is_unknown(loaded(sampler="dealt(data)", imports=unseen), "was not followed")
    assert loaded()[0] == {"upheld"}
    assert loaded("fit(model, optimizer, epochs=10)", imports=unseen)[0] == {"upheld"}
    assert loaded("fit(loader)", "DistributedSampler(data, shuffle=False)", unseen)[0] == {"upheld"}
    assert loaded(sampler="RandomSampler(data)")[0] == {"upheld"}
