"""Tables that subclasses enter themselves into: ``__init_subclass__``, and decorators that a class is."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

OWN_TABLE = """
class Strategy:
    known = {}

    def __init_subclass__(cls, name=None, **rest):
        super().__init_subclass__(**rest)
        if name:
            Strategy.known[name] = cls

    @classmethod
    def create(cls, name):
        return cls.known[name]()
"""
BY_ATTRIBUTE = """
class Strategy:
    known = {}
    name = ""

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        cls.known[cls.__name__.lower()] = cls

    @staticmethod
    def create(name):
        return Strategy.known[name]()
"""
OF_THE_FILE = """
KNOWN = {}

class Strategy:
    def __init_subclass__(cls, **rest):
        super().__init_subclass__()
        KNOWN[rest.get("name") or cls.__name__.lower()] = cls

    @staticmethod
    def create(name):
        return KNOWN[name]()
"""
DECORATED = """
class Strategy:
    known = {}

    def __init_subclass__(cls, name=None):
        pass

    @classmethod
    def listed(cls, name):
        def put(each):
            cls.known[name] = each
            return each
        return put

    @classmethod
    def create(cls, name):
        return cls.known[name]()
"""
HEIRS = """
{first}
class Sharded(Strategy{named_first}):
    def wrap(self, model):
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        return model

    def full(self, model):
        return {full}

{second}
class Single(Strategy{named_second}):
    def wrap(self, model):
        return model.cuda()

    def full(self, model):
        return model.state_dict()
"""
MAIN = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strategy", default="sharded")
    strategy = Strategy.create(parser.parse_args().strategy)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = strategy.wrap(Net())
    state = strategy.full(model)
    if dist.get_rank() == 0:
        torch.save(state, "model.pt")

if __name__ == "__main__":
    main()
"""
GATHERED = "{name: value.full_tensor() for name, value in model.state_dict().items()}"
BASES = [OWN_TABLE, BY_ATTRIBUTE, OF_THE_FILE, DECORATED]


def heirs(base: str, full: str) -> str:
    lines = [f'@Strategy.listed("{name}")' if base is DECORATED else "" for name in ("sharded", "single")]
    keywords = [f', name="{name}"' if base is OWN_TABLE else "" for name in ("sharded", "single")]
    return HEIRS.format(
        first=lines[0], second=lines[1], named_first=keywords[0], named_second=keywords[1], full=full
    )  # fmt: skip


@pytest.mark.parametrize("base", BASES)
def test_in_the_script(base: str) -> None:
    for full, found in ((GATHERED, []), ("model.state_dict()", ["FSDP701"])):
        assert analyse(HEAD + NET + base + heirs(base, full) + MAIN).codes == found


@pytest.mark.parametrize("base", BASES)
def test_in_a_file_of_its_own(base: str) -> None:
    imports = "from strategies import Strategy\n"
    for full, found in ((GATHERED, []), ("model.state_dict()", ["FSDP701"])):
        files = {"train.py": HEAD + imports + NET + MAIN, "strategies.py": HEAD + base + heirs(base, full)}
        assert analyse(files).codes == found


@pytest.mark.parametrize("base", BASES[:3])
def test_a_table_that_nothing_else_fills_has_no_other_entries(base: str) -> None:
    seen = analyse(HEAD + NET + base + heirs(base, GATHERED) + MAIN)
    assert seen.verdicts("FSDP302") == {"upheld"}
    more = "\n    @classmethod\n    def add(cls, name, made):\n        cls.known[name] = made\n"
    added = base + (more if base is not OF_THE_FILE else "\ndef add(name, made):\n    KNOWN[name] = made\n")
    called = MAIN.replace("    strategy =", "    ADD(os.environ['NAME'], eval(os.environ['CLASS']))\n    strategy =")
    called = called.replace("ADD", "Strategy.add" if base is not OF_THE_FILE else "add")
    assert analyse(HEAD + NET + added + heirs(base, GATHERED) + called).verdicts("FSDP302") != {"upheld"}


def test_a_subclass_that_no_table_has_is_not_chosen() -> None:
    without = heirs(OWN_TABLE, "model.state_dict()").replace(', name="sharded"', "")
    assert analyse(HEAD + NET + OWN_TABLE + without + MAIN).codes == []
