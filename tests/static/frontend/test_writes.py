"""What a piece of code may set or fill, and what it only reads."""

from __future__ import annotations

import pytest

from fsdp2_lint.static.frontend.module import Module, bind, parse, rebuild
from fsdp2_lint.static.frontend.writes import written_in
from tests.static.program import HEAD, NET, analyse

READS = [
    "if self.meshes: pass",
    "if not self.meshes and self.size > 1: pass",
    "assert 'dp' in self.meshes, f'not in {self.meshes}'",
    "n = self.meshes['dp'].size() * self.replicas",
    "n = self.meshes['dp']['shard'].size()",
    "n = len(self.meshes)",
    "names = ', '.join(self.meshes.keys())",
    "n = 1 if self.meshes.get('dp') is None else 2",
    "while self.meshes: break",
]
WRITES = [
    "self.meshes = {}",
    "del self.meshes",
    "self.meshes['dp'] = 1",
    "del self.meshes['dp']",
    "self.meshes['dp']['shard'] = 1",
    "self.meshes.update(dp=1)",
    "self.meshes['dp'].append(1)",
    "self.meshes.get('dp').append(1)",
    "self.meshes += [1]",
    "kept = self.meshes",
    "kept = self.meshes['dp']",
    "kept = self.meshes or {}",
    "fill(self.meshes)",
    "for mesh in self.meshes.values(): mesh.clear()",
    "for mesh in self.meshes: mesh.clear()",
    "return self.meshes",
    "(self.meshes if self.replicas else {}).clear()",
]


def written(line: str, before: str = "") -> frozenset[str] | None:
    """By a function ``f(self)`` of this one line."""
    tree = rebuild(parse("m.py", f"{before}def f(self):\n    {line}\n".encode()), "m", "m.py", False)
    module = Module("m", "m.py", tree, False)
    bind(module, tree.body)
    return written_in(module, tree.body[-1])


@pytest.mark.parametrize("line", READS)
def test_reading_changes_nothing(line: str) -> None:
    assert written(line) == frozenset()


@pytest.mark.parametrize("line", WRITES)
def test_what_is_set_filled_or_handed_on_may_be_another_one(line: str) -> None:
    found = written(line)
    assert found is not None and "meshes" in found


def test_a_method_that_is_not_seen_may_change_any_field() -> None:
    assert written("self.refresh(self.meshes)") is None
    assert written("n = self.tracker.step(1)") is None


def test_len_of_the_project_may_do_anything() -> None:
    assert written("return len(self.meshes) > 1", "def len(it): it.clear()\n") == {"meshes"}


CHECKED = """
class Dims:
    def __init__(self):
        self.meshes = {{}}

    def build(self):
        self.meshes = {{"dp": torch.distributed.init_device_mesh("cuda", (8,))}}
        self.validate()

    def validate(self):
        expected = {{"dp": 8, "tp": 1}}
        for name, size in expected.items():
            if name in self.meshes and self.meshes[name].size() != size:
                raise ValueError(f"mesh {{name}} has {{self.meshes[name].size()}} ranks, not {{size}}")
        {more}


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dims = Dims()
    dims.build()
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    if not dims.meshes:
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("more", "known"), [("pass", True), ("self.meshes.clear()", False)])
def test_a_check_that_is_left_out_leaves_what_it_reads_alone(more: str, known: bool) -> None:
    """The root is sharded where the dict is empty: never, unless what is not run may have emptied it."""
    found = analyse(f"{HEAD}\n\n{NET}\n\n{CHECKED.format(more=more)}")
    assert ("FSDP303" in found.codes) is known
