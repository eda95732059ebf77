"""Models that come out of registries, configurations and other libraries, and the classes that frameworks build."""

from __future__ import annotations

import pytest

from tests.static.program import FOOT, HEAD, NET, analyse, script

SHARD = "    fully_shard(model)\n"
DIRECT = "    model.forward(torch.ones(2, 8))\n"
HF = HEAD + "from transformers import AutoModelForCausalLM, PreTrainedModel\n"


def test_what_an_unknown_maker_returns_is_one_object() -> None:
    seen = analyse(HEAD + "def main(kind):\n    model = kind(1)\n" + SHARD + DIRECT)
    assert "FSDP401" in seen.codes


def test_two_results_of_one_maker_are_two_objects() -> None:
    text = (
        HEAD + "def build(cfg):\n    kind = cfg.kind\n    net = kind(cfg)\n    fully_shard(net)\n    return net\n\n\n"
    )
    seen = analyse(
        text + "def main(cfg):\n    model = build(cfg)\n    teacher = build(cfg)\n    return model, teacher\n"
    )
    assert "FSDP305" not in seen.codes


def test_a_registry_is_followed_key_by_key() -> None:
    kinds = 'class Other(Net):\n    pass\n\n\nKINDS = {"net": Net, "other": Other}\n\n\n'
    body = "def main(cfg):\n    model = KINDS[cfg.kind]()\n    for layer in model.layers:\n        fully_shard(layer)\n"
    seen = analyse(HEAD + NET + kinds + body + SHARD + DIRECT)
    assert "FSDP401" in seen.codes


def test_two_lookups_of_one_key_find_the_same_entry() -> None:
    tables = 'A = {"x": Net, "y": Block}\nB = {"x": fully_shard, "y": print}\n\n\n'
    body = "def main(cfg):\n    model = A[cfg.kind]()\n    B[cfg.kind](model)\n    if cfg.kind == 'y':\n    " + DIRECT
    assert analyse(HEAD + NET + tables + body).codes == [], "with y nothing is sharded"


def test_a_default_of_a_declared_class_is_no_fact() -> None:
    config = "class Config:\n    shards: int = 1\n\n\n"
    body = "class Trainer:\n    def __init__(self, config: Config):\n        self.model = Net()\n"
    body += "        if config.shards > 1:\n            fully_shard(self.model)\n\n"
    body += "    def train(self):\n        self.model.forward(torch.ones(2, 8))\n"
    assert "FSDP401" in analyse(HEAD + NET + config + body).codes


def test_a_sharding_method_of_an_object_of_unknown_class() -> None:
    method = "    def shard_me(self):\n        for layer in self.layers:\n            fully_shard(layer)\n"
    body = "def main(cfg):\n    model = cfg.build()\n    fully_shard(model)\n    model.shard_me()\n"
    seen = analyse(HEAD + NET + method + "\n\n" + body)
    assert "FSDP302" in seen.codes, "the parts come after their parent"


def test_subclasses_are_what_a_framework_builds() -> None:
    base = "class Base:\n    def setup_model(self):\n        self.model = Net()\n        fully_shard(self.model)\n\n\n"
    derived = "class Worker(Base):\n    def train_step(self, x):\n        return self.model.forward(x)\n"
    assert "FSDP401" in analyse(HEAD + NET + base + derived).codes


def test_init_runs_behind_new() -> None:
    text = HEAD + NET + "class Worker:\n    def __new__(cls, *args):\n        self = super().__new__(cls)\n"
    text += "        self.ready = True\n        return self\n\n    def __init__(self):\n"
    text += "        if not hasattr(self, 'ready'):\n            raise RuntimeError\n        self.model = Net()\n"
    text += "        fully_shard(self.model)\n\n    def train(self, x):\n        return self.model.forward(x)\n"
    assert "FSDP401" in analyse(text).codes


def test_a_pretrained_model_is_a_module() -> None:
    net = NET.replace("class Net(nn.Module)", "class Net(PreTrainedModel)").replace(
        "__init__(self):\n        super().__init__()\n        self.embed",
        "__init__(self, config):\n        super().__init__(config)\n        self.config = config\n        self.embed",
    )
    body = "def main(cfg):\n    model = Net(cfg)\n    for layer in model.layers:\n        fully_shard(layer)\n"
    body += "    optimizer = torch.optim.AdamW(model.parameters())\n    model(torch.ones(2)).sum().backward()\n"
    body += "    optimizer.step()\n\n\nmain(object())\n"
    assert "FSDP303" in analyse(HF + net + body).codes


def test_the_root_of_a_library_s_model_is_missing() -> None:
    body = 'def main():\n    model = AutoModelForCausalLM.from_pretrained("x")\n    for layer in model.model.layers:\n'
    body += "        fully_shard(layer)\n    optimizer = torch.optim.AdamW(model.parameters())\n"
    body += "    model(torch.ones(2)).loss.backward()\n    optimizer.step()\n"
    assert "FSDP303" in analyse(HF + body + FOOT).codes
    assert (
        "FSDP303"
        not in analyse(HF + body.replace("    optimizer =", "    fully_shard(model)\n    optimizer =", 1) + FOOT).codes
    )


def test_who_gets_the_sharded_model_cannot_shard_its_parts() -> None:
    body = 'def main():\n    model = AutoModelForCausalLM.from_pretrained("x")\n'
    after = body + SHARD + "    import mystery\n    mystery.train(model)\n"
    before = body + "    import mystery\n    mystery.prepare(model)\n" + SHARD
    assert "FSDP301" in analyse(HF + after + FOOT).codes
    assert "FSDP301" not in analyse(HF + before + FOOT).codes


def test_a_framework_on_another_path_says_nothing() -> None:
    body = "import accelerate\n\n\ndef main(cfg):\n    model = Net()\n    if cfg.fsdp:\n        fully_shard(model)\n"
    body += "    else:\n        model = accelerate.Accelerator().prepare(model)\n    if cfg.fsdp:\n    "
    assert "FSDP401" in analyse(HEAD + NET + body + DIRECT).codes


def test_what_pop_took_out_is_gone() -> None:
    body = (
        "import json\n\n\ndef main():\n    cfg = json.load(open('x'))\n    cfg.pop('fsdp', None)\n    model = Net()\n"
    )
    body += "    if cfg.get('fsdp') is not None:\n    " + SHARD + DIRECT
    assert analyse(HEAD + NET + body + FOOT).codes == []
    assert "FSDP401" in analyse(HEAD + NET + body.replace("    cfg.pop('fsdp', None)\n", "") + FOOT).codes


def test_an_import_that_the_program_needs_works() -> None:
    flag = "try:\n    from torch.distributed.fsdp import FSDPModule\n    HAS = True\n"
    flag += "except ImportError:\n    HAS = False\n\n\n"
    body = "def main():\n    model = Net()\n    fully_shard(model)\n    if not HAS:\n    "
    assert "FSDP401" not in analyse(HEAD + NET + flag + body + DIRECT + FOOT).codes


def test_what_is_set_to_none_under_some_name_is_not_known_any_more() -> None:
    text = HEAD + NET + "class Trainer:\n    def __init__(self, names):\n        self.model = Net()\n"
    text += "        fully_shard(self.model)\n        DROP\n        self.model.forward(torch.ones(2, 8))\n\n\n"
    text += "Trainer(input())\n"
    assert "FSDP401" in analyse(text.replace("DROP", "pass")).codes
    drop = "for name in names:\n            setattr(self, name, None)"
    assert "FSDP401" not in analyse(text.replace("DROP", drop)).codes
    back = "for name in names:\n            setattr(self, name, torch.compile(getattr(self, name)))"
    assert "FSDP401" in analyse(text.replace("DROP", back)).codes


def test_a_full_dict_that_was_read_before_sharding_is_plain() -> None:
    body = "def main():\n    model = Net()\n    whole = model.state_dict()\n    fully_shard(model)\n"
    body += "    model.load_state_dict(whole)\n"
    assert "FSDP705" in analyse(HEAD + NET + body + FOOT).codes
    late = body.replace(
        "    whole = model.state_dict()\n    fully_shard(model)\n",
        "    fully_shard(model)\n    whole = model.state_dict()\n",
    )
    assert "FSDP705" not in analyse(HEAD + NET + late + FOOT).codes


def test_a_mapped_state_dict_is_still_one() -> None:
    body = "import torch.utils._pytree as pytree\n\n\ndef main():\n    model = Net()\n    fully_shard(model)\n"
    body += "    held = pytree.tree_map(lambda t: CALL, model.state_dict())\n    if dist.get_rank() == 0:\n"
    body += '        torch.save(held, "x.pt")\n'
    assert "FSDP701" in analyse(HEAD + NET + body.replace("CALL", "t.float()") + FOOT).codes
    assert "FSDP701" not in analyse(HEAD + NET + body.replace("CALL", "t.full_tensor()") + FOOT).codes


def test_all_ranks_come_to_a_collective_by_two_ways() -> None:
    first = "import contextlib\n\n\n@contextlib.contextmanager\ndef rank_zero_first(first):\n    if not first:\n"
    first += "        dist.barrier()\n    yield\n    if first:\n        dist.barrier()\n\n\n"
    body = "def is_first(cfg):\n    if cfg is None:\n        return dist.get_rank() == 0\n    if cfg.single:\n"
    body += "        return True\n    return int(os.environ['LOCAL_RANK']) == 0\n\n\n"
    body += "def main(cfg):\n    model = Net()\n    fully_shard(model)\n"
    body += "    with rank_zero_first(is_first(cfg)):\n        print()\n"
    assert "FSDP801" not in analyse(HEAD + NET + first + body + "\n\nmain(input())\n").codes


def test_a_cause_hides_its_consequence_within_its_own_program_only() -> None:
    fine = HEAD + NET + "def main():\n    model = Net()\n    fully_shard(model)\n"
    late = fine.replace(
        "    model = Net()\n", "    model = Net().cuda()\n    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
    )
    never = fine + "    dist.init_process_group('nccl')\n"
    assert "FSDP101" not in analyse({"late.py": late + FOOT}).codes
    seen = analyse({"late.py": late + FOOT, "never.py": never + FOOT})
    assert [code for code, file, _ in seen.found if file == "never.py"] == ["FSDP101", "FSDP301"]


def test_a_schedule_that_is_known_leaves_its_optimizer_alone() -> None:
    body = "import mystery, transformers\n\n\ndef main():\n    model = Net()\n"
    body += "    optimizer = torch.optim.AdamW(model.parameters())\n"
    body += "    transformers.get_scheduler('cosine', optimizer)\n    fully_shard(model)\n"
    assert "FSDP601" in analyse(HEAD + NET + body + FOOT).codes
    own = body.replace("transformers.get_scheduler('cosine', optimizer)", "mystery.make_scheduler(optimizer)")
    assert "FSDP601" not in analyse(HEAD + NET + own + FOOT).codes, "a name proves nothing"
    blocks = "import mystery\n\n\ndef main():\n    model = Net()\n    mystery.schedule_blocks(model)\n" + SHARD
    assert "FSDP301" not in analyse(HEAD + NET + blocks + FOOT).codes, "it may have sharded the blocks"


def test_which_modules_pass_a_filter_by_an_open_set_is_not_known() -> None:
    body = "import mystery\n\n\ndef main():\n    model = Net()\n    wanted = set(mystery.classes())\n"
    body += "    for part in model.modules():\n        if any(isinstance(part, cls) for cls in wanted):\n"
    body += "            fully_shard(part)\n    fully_shard(model)\n"
    assert analyse(HEAD + NET + body + FOOT).codes == []
    assert (
        "FSDP302"
        in analyse(HEAD + NET + body.replace("any(isinstance(part, cls) for cls in wanted)", "True") + FOOT).codes
    )


@pytest.mark.parametrize("items", ["state", "{name: item for name, item in state.items()}"])
def test_a_dict_that_some_options_gather_is_not_called_sharded(items: str) -> None:
    main = "model = Net()\nfully_shard(model)\noptions = None\nif WHOLE:\n"
    main += "    options = StateDictOptions(full_state_dict=True)\n"
    main += f"state = get_model_state_dict(model, options=options)\nif WHOLE:\n    torch.save({items}, 'model.pt')\n"
    helpers = "from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict\n"
    helpers += "WHOLE = bool(int(os.environ['WHOLE']))\n"
    assert "FSDP701" not in analyse(script(main, helpers)).codes
    plain = main.replace("options = StateDictOptions(full_state_dict=True)", "options = StateDictOptions()")
    assert "FSDP701" in analyse(script(plain, helpers)).codes
