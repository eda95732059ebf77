"""What of a sharded model is written: parameters, settings of it, nested data that a function walked, renamed dicts."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

BEFORE = """
from torch.utils._pytree import tree_map, tree_map_only

def whole(tensor):
    return tensor.full_tensor()

class Walker:
    def __init__(self, kinds):
        self.table = [*kinds, (torch.Tensor, self.tensor), (dict, self.each), ((list, tuple), self.listed)]

    def __call__(self, value):
        for kind, action in self.table:
            if isinstance(value, kind):
                return action(value)
        return value

    def tensor(self, value):
        return value.detach().cpu()

    def each(self, value):
        return {key: self(item) for key, item in value.items()}

    def listed(self, value):
        return [self(item) for item in value]
"""
GATHER = "[part.unshard() for part in model.modules() if isinstance(part, FSDPModule)]\n"
FREE = "[part.reshard() for part in model.modules() if isinstance(part, FSDPModule)]\n"


def saved(made: str) -> list[str]:
    return analyse(main("\n".join((SHARDED, textwrap.dedent(made), 'torch.save(held, "model.pt")')), BEFORE)).codes


WHOLE = {
    "nested, only DTensors": "held = tree_map_only(DTensor, whole, {'model': model.state_dict(), 'step': 1})",
    "nested, by a predicate": "held = tree_map_only(lambda t: isinstance(t, DTensor), whole, [model.state_dict()])",
    "a partial": "held = partial(tree_map_only, (DTensor,), lambda t: t.full_tensor().cpu())([model.state_dict()])",
    "a dict of parameters": "held = tree_map(lambda t: t.full_tensor(), dict(model.named_parameters()))",
    "a list of parameters": "held = tree_map(whole, list(model.parameters()))",
    "a table of kinds": "held = Walker([(DTensor, whole)])({'model': model.state_dict()})",
    "a table written out": """
    def gathered(value):
        for kind, action in ((DTensor, whole), (torch.Tensor, lambda t: t.cpu())):
            if isinstance(value, kind):
                return action(value)
        raise TypeError(value)
    held = {key: gathered(value) for key, value in model.state_dict().items()}
    """,
    "a table with an else": """
    def gathered(value):
        for kind in (DTensor,):
            if isinstance(value, kind):
                return value.full_tensor()
        else:
            return value
    held = {key: gathered(value) for key, value in model.state_dict().items()}
    """,
    "taken out and put back": """
    held = model.state_dict()
    for key in list(held.keys()):
        held[key.removeprefix("net.")] = held.pop(key).full_tensor()
    """,
    "put back in two parts": """
    held = model.state_dict()
    for key in list(held):
        tensor = held[key].full_tensor()
        del held[key]
        held[key + ".first"], held[key + ".second"] = tensor.chunk(2)
    """,
    "gathered by hand": GATHER + "held = [p.detach().clone() for p in model.parameters()]\n" + FREE,
    "gathered by hand, by name": GATHER + "held = {n: p.cpu() for n, p in model.named_parameters()}",
    "a setting": "held = {'config': model.config, 'classes': model.head.classes, 'step': model.step}",
    "buffers": "held = {n: b for m in model.modules() for n, b in m._buffers.items()}",
    "a weight, asked": "w = model.head.weight\nheld = w.full_tensor() if isinstance(w, DTensor) else w",
}
SHARDS = {
    "nested, copied": "held = tree_map_only(DTensor, lambda t: t.cpu(), {'model': model.state_dict()})",
    "nested, other classes": "held = tree_map_only(nn.Module, whole, {'model': model.state_dict()})",
    "parameters, copied": "held = tree_map(lambda t: t.detach().cpu(), dict(model.named_parameters()))",
    "a table without DTensors": "held = Walker([])({'model': model.state_dict()})",
    "a loop left early": """
    def gathered(value):
        for kind in (DTensor, torch.Tensor):
            if isinstance(value, kind):
                break
        return value
    held = {key: gathered(value) for key, value in model.state_dict().items()}
    """,
    "renamed": """
    held = model.state_dict()
    for key in list(held.keys()):
        held[key.removeprefix("net.")] = held.pop(key)
    """,
    "put back beside its gathered self": """
    held = model.state_dict()
    for key in list(held.keys()):
        tensor = held.pop(key)
        held["whole." + key] = tensor.full_tensor()
        held["shard." + key] = tensor
    """,
    "some taken out": """
    held = model.state_dict()
    for key in list(held.keys()):
        if "bias" in key:
            held.pop(key)
    """,
    "freed again": GATHER + FREE + "held = [p.detach().clone() for p in model.parameters()]",
    "only the model's own group": "model.unshard()\nheld = dict(model.named_parameters())",
    "a state dict, which frees them": GATHER + "held = model.state_dict()",
    "the model": "held = {'config': 1, 'model': model}",
    "a layer": "held = model.layers[0]",
}


@pytest.mark.parametrize("made", WHOLE.values(), ids=WHOLE)
def test_whole_tensors_and_settings_are_no_shards(made: str) -> None:
    assert "FSDP701" not in saved(made)


@pytest.mark.parametrize("made", SHARDS.values(), ids=SHARDS)
def test_shards_are_found(made: str) -> None:
    assert "FSDP701" in saved(made)


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("held = model.state_dict()", ["model.state_dict()"]),
        ("held = optimizer.state_dict()", ["optimizer.state_dict()"]),
        ("held = {'model': model.state_dict(), 'optimizer': optimizer.state_dict()}", ["model.st", "optimizer.st"]),
        ("held = get_model_state_dict(model)", ["get_model_state_dict(model)"]),
        ("held = {'step': 1, **{k: v.cpu() for k, v in model.state_dict().items()}}", ["model.state_dict()"]),
        ("held = dict(model.named_parameters())", []),  # tensors that the model has anyhow
        ("torch.save(optimizer.state_dict(), 'optimizer.pt'); held = None", []),  # the finding stands there
    ],
)
def test_a_finding_shows_where_the_shards_were_read(made: str, read: list[str]) -> None:
    lines = (SHARDED, "optimizer = torch.optim.AdamW(model.parameters())", made, "torch.save(held, 'model.pt')")
    program = main("\n".join(lines), BEFORE)
    (found,) = [each for each in analyse(program).result.findings if each.code == "FSDP701"]
    texts = program.splitlines()
    shown = [texts[label.site.row - 1][label.site.column - 1 :] for label in found.related]
    assert len(shown) == len(read)
    assert all(text.startswith(start) for text, start in zip(shown, read))
