"""What a program is called by decides nothing: pairs of programs that differ in one name, and what the name hid."""

from __future__ import annotations

import pytest

from .program import HEAD, NET, analyse, script

TRAIN = "for step in range(3):\n    model(torch.ones(2, 8)).sum().backward()\n    optimizer.step()\n"
SHARDED = "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters())\n"


# -- 601: who gets an optimizer may exchange what it holds


def rebound(call: str) -> str:
    late = SHARDED.replace("model = Net()\n", f"model = Net()\n{OPTIMIZER}")
    return script(late + call + "\n" + TRAIN, "import outside, transformers\n")


@pytest.mark.parametrize("name", ["rebind", "sched_rebind", "lr_scheduler", "tools.make_schedule"])
def test_a_schedule_by_name_may_do_anything(name: str) -> None:
    seen = analyse(rebound(f"outside.{name}(optimizer, list(model.parameters()))"))
    assert "FSDP601" not in seen.codes
    assert seen.verdicts("FSDP601") == {"unknown"}


@pytest.mark.parametrize(
    "call", ["torch.optim.lr_scheduler.StepLR(optimizer, 2)", "transformers.get_scheduler('x', optimizer)"]
)
def test_a_schedule_of_a_known_package_is_one(call: str) -> None:
    assert "FSDP601" in analyse(rebound(call)).codes


# -- 807: what a handler calls goes on only where it was followed


def handled(body: str, before: str = "") -> str:
    steps = "for step in range(3):\n    try:\n        model(torch.ones(2, 8)).sum().backward()\n"
    steps += f"    except RuntimeError as error:\n        {body}\n    optimizer.step()\n"
    return script(SHARDED + OPTIMIZER + steps, f"import logging, outside\n\n\n{before}\n")


@pytest.mark.parametrize("name", ["abort_job", "catalog.kill_job", "log_error", "tracer.warn", "print_and_exit"])
def test_what_a_handler_calls_may_end_the_job(name: str) -> None:
    assert "FSDP807" not in analyse(handled(f"outside.{name}(error)")).codes


def test_also_before_it_continues() -> None:
    assert "FSDP807" not in analyse(handled("outside.abort(error); continue")).codes


OWN = "def tell(error):\n    print(error)\n"


@pytest.mark.parametrize("name", ["print(error)", "logging.warning(error)", "tell(error)", "optimizer.zero_grad()"])
def test_what_is_known_to_come_back(name: str) -> None:
    assert "FSDP807" in analyse(handled(name, OWN)).codes


@pytest.mark.parametrize("body", ["raise error", "raise SystemExit", "import sys; sys.exit(1)"])
def test_a_function_of_the_program_is_followed(body: str) -> None:
    ends = f"def log(error):\n    {body}\n"
    assert "FSDP807" not in analyse(handled("log(error)", ends)).codes


def test_an_exception_is_broad_by_what_it_is() -> None:
    aliased = (
        handled("pass")
        .replace("except RuntimeError", "except OutOf")
        .replace("def main", "OutOf = RuntimeError\n\n\ndef main")
    )
    assert "FSDP807" in analyse(aliased).codes
    own = handled("pass", "class Exception_(ValueError):\n    pass\n").replace(
        "except RuntimeError", "except Exception_"
    )
    assert "FSDP807" not in analyse(own).codes


# -- 201: whether an unseen method fills a model that it is handed


def emptied(fill: str) -> str:
    main = "with torch.device('meta'):\n    model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\n"
    main += f"fully_shard(model)\nmodel.to_empty(device='cpu')\nstore = WeightStore('x')\n{fill}\n"
    return script(main + OPTIMIZER + TRAIN, "from diffusers import WeightStore\nimport logging\n")


@pytest.mark.parametrize("name", ["get_into", "pull_into", "num_copied", "log_model", "is_filled", "register_all"])
def test_an_unseen_method_may_fill(name: str) -> None:
    seen = analyse(emptied(f"store.{name}(model)"))
    assert "FSDP201" not in seen.codes
    assert "upheld" not in seen.verdicts("FSDP201")


@pytest.mark.parametrize(
    "fill", ["logging.getLogger().info(model)", "print(model.get_submodule('head'))", "model.train()"]
)
def test_what_is_known_to_read_fills_nothing(fill: str) -> None:
    assert "FSDP201" in analyse(emptied(fill)).codes


# -- 808: whether ranks get the same data


DATA = """\
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, PART, count):
        self.rows = list(range(100))
        self.PART = PART

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.full((8,), self.rows[index])
"""


def fed(data: str, made: str, seed: str = "0") -> str:
    main = f"torch.manual_seed({seed})\n{SHARDED}{OPTIMIZER}for x in DataLoader({made}, batch_size=2, shuffle=True):\n"
    main += "    model(x).sum().backward()\n    optimizer.step()\n"
    return script(main, data)


@pytest.mark.parametrize("name", ["mine", "rank_row", "shard", "worker"])
def test_a_part_by_rank_is_seen_by_its_value(name: str) -> None:
    data = DATA.replace("PART", name)
    assert "FSDP808" not in analyse(fed(data, "Rows(int(os.environ['RANK']), 2)")).codes
    assert "FSDP808" in analyse(fed(data, "Rows(3, 2)")).codes


@pytest.mark.parametrize("name", ["mine", "rank_row"])
def test_chance_and_ranks_are_seen_by_what_code_names(name: str) -> None:
    chosen = DATA.replace("PART", name).replace("self.rows[index]", "pick(index)")
    chance = "from random import randrange as pick\n" + chosen
    assert "FSDP808" not in analyse(fed(chance, "Rows(3, 2)")).codes
    by_rank = "from os import environ as settings\n" + chosen.replace("pick(index)", "int(settings['RANK'])")
    assert "FSDP808" not in analyse(fed(by_rank, "Rows(3, 2)")).codes


@pytest.mark.parametrize("name", ["rank", "proc_id", "seed"])
def test_an_option_without_a_default_may_be_another_on_each_rank(name: str) -> None:
    parser = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--{name}', type=int)\n"
    parser += "args = parser.parse_args()\n"
    seen = analyse(fed(parser + DATA.replace("PART", "part"), "Rows(3, 2)", f"args.{name}"))
    assert "FSDP808" not in seen.codes


# -- 909: methods of classes that have nothing to do with torch


RING = "class RingBuffer:\n    def METHOD(self):\n        return self\n"
USE = "from torch.distributed.fsdp import FSDPModule, fully_shard\nfrom ring import RingBuffer\n\n\n"


@pytest.mark.parametrize("method", ["unshard", "reopen", "reshard"])
def test_unshard_of_an_own_class(method: str) -> None:
    use = USE + "def fill(buffer: RingBuffer):\n    handle = buffer.unshard()\n    handle.__enter__()\n"
    assert analyse({"ring.py": RING.replace("METHOD", method), "use.py": use}).codes == []


def test_an_own_class_has_no_methods_of_torch() -> None:
    main = SHARDED + "ring = Ring()\nring.unshard()\nwith ring.unshard():\n    model(torch.ones(2, 8))\n"
    own = "class Ring:\n    def __getattr__(self, name):\n        return open\n"
    assert "FSDP909" not in analyse(script(main, own)).codes


def test_a_class_of_the_program_that_is_compared_by_its_name() -> None:
    main = SHARDED + "assert type(model).__name__ == 'Net'\n"
    assert "FSDP908" in analyse(script(main)).codes
    assert "FSDP908" not in analyse(script(main.replace("'Net'", "'FSDPNet'"))).codes, "so fully_shard calls it"


# -- 203: an unknown callee is no proof that the weights are alike


@pytest.mark.parametrize("call", ["foo.dedicate(model)", "foo.load_weights(model)", "foo.Broadcaster().sync(model)"])
def test_an_unknown_callee_proves_nothing(call: str) -> None:
    main = "dist.init_process_group('nccl')\ntorch.manual_seed(42 + dist.get_rank())\n"
    main += SHARDED.replace("model = Net()\n", f"model = Net()\n{call}\n") + OPTIMIZER + TRAIN
    seen = analyse(script(main, "import foo\n"))
    assert "FSDP203" not in seen.codes
    assert seen.verdicts("FSDP203") == {"unknown"}
    assert "FSDP203" in analyse(script(main.replace(f"{call}\n", ""), "import foo\n")).codes


# -- 304: adapters


PEFT = "from peft import LoraConfig, PeftModel, get_peft_model, inject_adapter_in_model\n"


@pytest.mark.parametrize(
    "attach",
    [
        "model = get_peft_model(model, LoraConfig())",
        "inject_adapter_in_model(LoraConfig(), model)",
        "model = PeftModel.from_pretrained(model, 'adapter', is_trainable=True)",
    ],
)
def test_adapters_behind_sharding(attach: str) -> None:
    late = script(SHARDED + attach + "\n" + OPTIMIZER + TRAIN, PEFT)
    assert "FSDP304" in analyse(late).codes
    early = script(SHARDED.replace("model = Net()\n", f"model = Net()\n{attach}\n") + OPTIMIZER + TRAIN, PEFT)
    assert "FSDP304" not in analyse(early).codes


def test_a_model_is_seen_through_its_adapters() -> None:
    main = "model = get_peft_model(Net(), LoraConfig())\nfully_shard(model)\n"
    main += "for layer in model.base_model.model.layers:\n    fully_shard(layer)\n"
    assert "FSDP302" in analyse(script(main, PEFT)).codes
    assert "FSDP302" in analyse(script(main.replace("model.base_model.model.layers", "model.layers"), PEFT)).codes


# -- 608: an optimizer of the program is judged by what it does, or not at all


STEP = "class NAME(torch.optim.Optimizer):\n    def __init__(self, params):\n        super().__init__(params, {})\n\n"
STEP += "    @torch.no_grad()\n    def step(self):\n        for group in self.param_groups:\n"
STEP += "            for p in group['params']:\n                p.add_(whiten(p.grad), alpha=-0.1)\n\n\n"
STEP += "def whiten(g):\n    return g @ g.T @ g\n"


@pytest.mark.parametrize("name", ["Muon", "AdamW", "Shampoo"])
def test_an_own_optimizer_is_not_known_by_its_name(name: str) -> None:
    main = SHARDED + f"optimizer = {name}(model.parameters())\n" + TRAIN
    assert analyse(script(main, STEP.replace("NAME", name))).verdicts("FSDP608") == {"unknown"}


# -- 302: what goes through a progress bar is what is in it


@pytest.mark.parametrize("around", ["tqdm(model.layers)", "tqdm(list(model.layers))", "track(model.layers)"])
def test_a_loop_through_a_progress_bar(around: str) -> None:
    main = f"model = Net()\nfully_shard(model)\nfor layer in {around}:\n    fully_shard(layer)\n"
    seen = analyse(script(main + OPTIMIZER + TRAIN, "from tqdm import tqdm\nfrom rich.progress import track\n"))
    assert seen.codes == ["FSDP302"]


def test_a_bar_of_an_unknown_package_may_do_anything() -> None:
    main = "model = Net()\nfully_shard(model)\nfor layer in tqdm(model.layers):\n    fully_shard(layer)\n"
    assert "FSDP302" not in analyse(script(main + OPTIMIZER + TRAIN, "from tqdmlike import tqdm\n")).codes


# -- 307, 201, 204: what only the class of a library's model and its checkpoint say


LIBRARY = "import sys\nfrom transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification\n"
LIBRARY += "from transformers import LlamaForCausalLM\n"


@pytest.mark.parametrize("auto", ["AutoModelForCausalLM", "AutoModelForSequenceClassification", "LlamaForCausalLM"])
def test_which_weights_a_library_ties_is_not_known(auto: str) -> None:
    main = f"model = {auto}.from_pretrained(sys.argv[1])\nfor layer in model.model.layers:\n    fully_shard(layer)\n"
    main += "fully_shard(model.lm_head)\nfully_shard(model)\n" + OPTIMIZER + TRAIN
    assert analyse(script(main, LIBRARY)).verdicts("FSDP307") == {"unknown"}


RESETS = [
    "model.apply(lambda m: m.reset_parameters() if hasattr(m, 'reset_parameters') else None)",
    "for m in model.modules():\n    if hasattr(m, 'reset_parameters'):\n        m.reset_parameters()",
    "model.init_weights()",
]


@pytest.mark.parametrize("reset", RESETS)
def test_whether_all_of_a_library_s_model_is_reset_is_not_known(reset: str) -> None:
    main = "with torch.device('meta'):\n    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained('x'))\n"
    main += "for layer in model.model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
    main += f"model.to_empty(device='cuda')\n{reset}\n" + OPTIMIZER + TRAIN
    seen = analyse(script(main, LIBRARY))
    assert "upheld" not in seen.verdicts("FSDP201") | seen.verdicts("FSDP204")


# -- results of unseen methods


@pytest.mark.parametrize("name", ["build_model", "get_model", "fetch"])
def test_what_is_asked_for_once_is_one_object(name: str) -> None:
    body = f"def main(kit):\n    model = kit.{name}()\n    fully_shard(model)\n    fully_shard(model)\n"
    assert analyse(HEAD + NET + body).codes == ["FSDP305"]


@pytest.mark.parametrize("name", ["build_model", "get_model", "fetch"])
def test_what_is_asked_for_twice_may_be_two(name: str) -> None:
    body = f"def main(kit):\n    fully_shard(kit.{name}())\n    fully_shard(kit.{name}())\n"
    assert analyse(HEAD + NET + body).codes == []
