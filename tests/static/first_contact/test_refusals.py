"""What is checked and refused holds later on, and is no choice between ranks."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

# -- what a constructor refuses holds in the methods that run later --------------------


def staged(sharded_if: str, gathered_if: str, refuses: str = "") -> str:
    """A trainer whose policy decides whether it shards, and whether it gathers before it writes."""
    policy = f"""
    @dataclass(frozen=True)
    class Policy:
        stage: int = 0

        @property
        def enabled(self):
            return self.stage > 0

        @property
        def shards(self):
            return {sharded_if}

        @property
        def gathers(self):
            return {gathered_if}


    class Trainer:
        def __init__(self, config, model):
            self.policy = Policy(stage=int(config.get("stage", 0)))
            self.tail = bool(config.get("tail", False))
            self.refuse()
            self.model = model
            self.shard()

        def refuse(self):
            if not self.policy.enabled:
                return
            if self.tail:
                raise ValueError("no tail with shards")
            {refuses or "if not self.policy.shards: return"}
            if not torch.cuda.is_available():
                raise ValueError("no device")

        def shard(self):
            if not self.policy.shards:
                return
            for layer in self.model.layers:
                fully_shard(layer)
            fully_shard(self.model)

        def save(self):
            if self.policy.gathers:
                options = StateDictOptions(full_state_dict=True, cpu_offload=True)
                state = get_model_state_dict(self.model, options=options)
            else:
                state = self.model.state_dict()
            if dist.get_rank() != 0:
                return
            torch.save(state, "model.pt")

        def tail_save(self):
            if self.tail and dist.get_rank() == 0:
                torch.save(self.model.state_dict(), "tail.pt")
    """
    return main(
        """
        with open("config.yaml") as file:
            config = yaml.safe_load(file)
        trainer = Trainer(config, Net())
        trainer.save()
        trainer.tail_save()
        """,
        policy,
    )


@pytest.mark.parametrize("shards, gathers", [
    ("self.stage >= 2", "self.stage >= 2"),
    ("self.stage >= 2", "self.stage > 0"),
    ("self.stage >= 2", "self.enabled"),
    ("self.stage == 3", "2 <= self.stage"),
    ("self.stage in (2, 3)", "self.stage >= 2"),
    ("self.stage > 1", "self.stage != 0"),
    ("self.stage > 1", "self.stage"),
])  # fmt: skip
def test_a_threshold_that_says_another(shards: str, gathers: str) -> None:
    assert analyse(staged(shards, gathers)).codes == []


@pytest.mark.parametrize(
    "shards, gathers", [("self.stage >= 2", "self.stage >= 3"), ("self.stage > 0", "self.stage > 1")]
)
def test_a_threshold_that_does_not_say_the_other(shards: str, gathers: str) -> None:
    assert "FSDP701" in analyse(staged(shards, gathers)).codes


def test_what_is_refused_otherwise_can_still_meet() -> None:
    """Nothing is refused where the early return is the one that shards."""
    text = staged("self.stage >= 2", "self.stage >= 2").replace("if not self.policy.enabled:", "if self.policy.shards:")
    assert "FSDP701" in analyse(text).codes


def test_a_method_that_its_class_calls_is_run_by_it() -> None:
    """Nobody builds the trainer: what its methods refuse to call is not called for its own sake."""
    nobody, rest = staged("self.stage >= 2", "self.stage >= 2").split("    trainer = Trainer")[0], "    pass\n"
    head = "    def tail_save(self):\n        if "
    run = f"    def run(self):\n        if self.tail:\n            self.tail_save()\n\n{head}"
    text = nobody.replace(f"{head}self.tail and ", run) + rest
    assert analyse(text).codes == []
    assert "FSDP701" in analyse(text.replace("if self.tail:\n            raise", "if 0:\n            raise")).codes


# -- what a check refuses is no choice --------------------------------------------------


@pytest.mark.parametrize("check, codes", [
    ("if int(x.min()) < 0 or int(x.max()) >= 100: raise ValueError", []),
    ("assert int(x.max()) < 100", []),
    ("if int(x.max()) >= 100: return x", ["FSDP405"]),
])  # fmt: skip
def test_a_batch_that_is_refused(check: str, codes: list[str]) -> None:
    body = f"""
class Checked(Net):
    def forward(self, x):
        {check}
        return super().forward(x)

model = Checked()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader([1, 2]):
    model(batch["tokens"]).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    assert [code for code in analyse(main(body)).codes if code == "FSDP405"] == codes


@pytest.mark.parametrize("leaves, codes", [
    ("os._exit(17)", []), ("sys.exit('failed')", []), ("raise SystemExit(1)", []), ("raise RuntimeError", []),
    ("sys.exit()", ["FSDP801"]), ("os._exit(0)", ["FSDP801"]),
])  # fmt: skip
def test_a_rank_that_fails_ends_the_job(leaves: str, codes: list[str]) -> None:
    assert analyse(main(f"{SHARDED}if dist.get_rank() == 1:\n    {leaves}\ndist.barrier()\n")).codes == codes


# -- what Python refuses ------------------------------------------------------------------


@pytest.mark.parametrize("start, dead", [
    ("first, second = three()", True),
    ("first, second, *rest = three()[:1]", True),
    ("first, *rest, last = (1,)", True),
    ("first, second, third = three()", False),
    ("first, *rest = three()", False),
    ("first, second = (1, *sys.argv)", False),
    ("for first, second in [three()]: pass", True),
])  # fmt: skip
def test_what_cannot_be_unpacked_ends_the_path(start: str, dead: bool) -> None:
    before = "def three():\n    return 1, 2, 3\n"
    body = f"model = Net()\nfully_shard(model)\n{start}\nmodel.forward(torch.zeros(2))\n"
    assert ("FSDP401" in analyse(main(body, before)).codes) is not dead


# -- how many ranks there are, asked in two ways ------------------------------------------


@pytest.mark.parametrize("world", ['int(os.environ.get("WORLD_SIZE", 1))', "dist.get_world_size()"])
@pytest.mark.parametrize("alone, several", [
    ("world == 1", "world > 1"), ("world <= 1", "world != 1"), ("not world > 1", "world >= 2"),
    ("world < 2", "1 < world"), ("world == 1", "1 != world"),
])  # fmt: skip
def test_what_is_refused_where_there_are_several_ranks(world: str, alone: str, several: str) -> None:
    body = f"""
    world, parallel = {world}, sys.argv[1]
    model = Net()
    if {alone}:
        model.cuda()
    elif parallel == "fsdp":
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    else:
        assert parallel == "ddp"
        model = DistributedDataParallel(model.cuda())
    if {several}:
        assert parallel == "ddp"
        head = model.module.layers[0]
    else:
        head = model.layers[0]
    print(nn.functional.linear(torch.zeros(8, 8), head.weight))
    """
    assert analyse(main(body)).codes == []
    assert "FSDP404" in analyse(main(body.replace(f'{several}:\n        assert parallel == "ddp"', "0:"))).codes
