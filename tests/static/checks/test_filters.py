"""Elements that a filter may keep out: what is proved of all is not proved of those that pass."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

MAIN = """
from argparse import ArgumentParser
from functools import cmp_to_key


def innermost_first(names):
    return sorted(names, key=cmp_to_key(lambda a, b: 1 if a in b and a != b else -1))


def shard(model, classes):
    kept = [(name, part) for name, part in model.named_modules() if part.__class__.__name__ in classes]
{body}
    fully_shard(model)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    parser = ArgumentParser()
    parser.add_argument("--classes", nargs="*")
    model = Net()
    shard(model, {classes})
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2)).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    main()
"""
UNKNOWN = "set(parser.parse_args().classes)"
DIRECT = """
    for name, part in kept:
        fully_shard(part)
"""
THROUGH_A_DICT = """
    pairs = {}
    for name, part in kept:
        pair = [part]
        pair.append({})
        pairs[name] = tuple(pair)
    names = innermost_first(list(pairs.keys()))
    for name, (part, _) in [(name, pairs[name]) for name in names]:
        fully_shard(part)
"""


def codes(body: str, classes: str) -> list[str]:
    program = HEAD + NET + MAIN.format(body=body.strip("\n"), classes=classes)
    return analyse(program).codes


@pytest.mark.parametrize("body", [DIRECT, THROUGH_A_DICT], ids=["a loop", "a dict of pairs"])
def test_a_filter_by_names_from_the_command_line_proves_nothing(body: str) -> None:
    assert codes(body, UNKNOWN) == []


def test_a_filter_that_lets_the_root_through_shards_it_twice() -> None:
    assert "FSDP305" in codes(DIRECT, '{"Net", "Block"}')


def test_a_filter_for_the_blocks_is_correct() -> None:
    assert codes(DIRECT, '{"Block"}') == []


WALK = """
def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    {before}
    for name, part in model.{walk}():
        if {passes}:
            fully_shard(part)
    {after}
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2)).sum().backward()
    optimizer.step()


main()
"""
FROM_ELSEWHERE = "import re\nfrom somewhere import config, policy\n"
OPEN = [
    "type(part).__name__ in config.classes",
    "type(part) in config.classes",
    "isinstance(part, config.classes)",
    "isinstance(part, tuple(config.classes))",
    "part.__class__.__name__ == config.wrapped",
    "part.__class__.__name__ in os.environ['CLASSES'].split()",
    "name in config.names",
    "any(word in name for word in config.words)",
    "name.endswith(tuple(config.names))",
    "name.count('.') == config.depth",
    "re.match(config.pattern, name)",
    "config.by_name[name]",
    "config.by_class.get(type(part).__name__)",
    "sum(p.numel() for p in part.parameters()) > config.size",
    "policy(part)",
]


def walked(passes: str, walk: str = "named_modules", before: str = "", after: str = "fully_shard(model)") -> str:
    """A program that walks a model of which all parts are known."""
    return HEAD + FROM_ELSEWHERE + NET + WALK.format(passes=passes, walk=walk, before=before, after=after)


@pytest.mark.parametrize("passes", OPEN)
def test_that_a_known_part_may_pass_an_open_filter_proves_nothing(passes: str) -> None:
    assert analyse(walked(passes)).codes == []


def test_an_open_filter_over_children_that_a_list_may_pass() -> None:
    seen = analyse(walked("name in config.names", walk="named_children"))
    assert seen.codes == [] and "unknown" in seen.verdicts("FSDP306")


@pytest.mark.parametrize("passes", ["name in config.names", "policy(part)"])
def test_what_holds_whichever_modules_pass_is_found(passes: str) -> None:
    top_down = walked(passes, before="fully_shard(model)", after="")
    assert analyse(top_down).codes == ["FSDP302"]
    early = walked(passes, before="early = torch.optim.AdamW(model.parameters())").replace("optimizer =", "early or")
    assert "FSDP601" in analyse(early).codes


def test_whether_an_open_filter_shards_the_root_is_not_known() -> None:
    assert analyse(walked("policy(part)", after="")).verdicts("FSDP303") == {"unknown"}
    assert analyse(walked("isinstance(part, Block)", after="")).codes == ["FSDP303"]


WRAPPED = """
class Actor(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    actor = Actor({inner})
    for part in actor.modules():
        if part.__class__.__name__ in os.environ["CLASSES"].split():
            fully_shard(part)
    optimizer = torch.optim.AdamW(actor.parameters())
    actor(torch.ones(2)).sum().backward()
    optimizer.step()


main()
"""


@pytest.mark.parametrize("inner", ["Net()", "load_model()"], ids=["own", "unknown"])
def test_what_a_filter_may_have_sharded_is_not_upheld(inner: str) -> None:
    seen = analyse(HEAD + "from somewhere import load_model\n" + NET + WRAPPED.format(inner=inner))
    assert seen.codes == [] and seen.verdicts("FSDP303") == {"unknown"}


RECEIVED = """
def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    name = "step-1" if dist.get_rank() == 0 else None
    holder = [name]
    {exchange}
    name = holder[0]
    if name is None:
        raise SystemExit
    dist.barrier()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [("dist.broadcast_object_list(holder, src=0)", []), ("print(holder)", ["FSDP801"])],
)
def test_a_broadcast_of_objects_fills_the_list_in_place(exchange: str, expected: list[str]) -> None:
    assert [code for code, _, _ in analyse(HEAD + NET + RECEIVED.format(exchange=exchange)).found] == expected


TILED = """
class Tiles(Net):
    def forward(self, x, whole=False):
        if not whole:
            return {inner}
        return super().forward(x)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Tiles()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    {call}(torch.ones(2)).sum().backward()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("call", "expected"), [("model", 0), ("model.forward", 1)])
def test_a_forward_that_calls_itself_is_judged_where_it_was_called(call: str, expected: int) -> None:
    program = HEAD + NET + TILED.format(inner="(lambda part: self.forward(part, whole=True))(x)", call=call)
    assert [code for code, _, _ in analyse(program).found] == ["FSDP401"] * expected
