"""A checkpoint that one rank writes whole, where no setting has a default: all ranks read that file (FSDP705)."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

SETTINGS = """
import argparse
import shutil
from pathlib import Path
from torch.distributed.checkpoint.state_dict import set_model_state_dict
parser = argparse.ArgumentParser()
parser.add_argument("--out")
parser.add_argument("--init")
parser.add_argument("folder", type=Path)


def save(model, path):
    whole = {"model": {name: each.full_tensor().cpu() for name, each in model.state_dict().items()}, "step": 3}
    if dist.get_rank() == 0:
        torch.save(whole, path)
"""
LOAD = "model.load_state_dict(torch.load({path}, map_location='cpu')['model'])\n"
START = "args = parser.parse_args()\n" + SHARDED
PLACES = {
    "joined": ("os.path.join(args.out, 'last.pt')",) * 2,
    "formatted": ("f'{args.out}/last.pt'", "args.out + '/step_3.pt'"),
    "beside it": ("args.folder / 'last.pt'", "args.folder / 'last.tmp'"),
    "itself": ("args.folder", "args.folder.with_suffix('.tmp')"),
}


def _codes(load: str, save: str, start: str = START, before: str = SETTINGS) -> list[str]:
    return analyse(main(f"{start}{load}{save}", before)).codes


@pytest.mark.parametrize(("read", "written"), PLACES.values(), ids=PLACES)
def test_where_one_rank_writes_there_is_one_file(read: str, written: str) -> None:
    save = f"save(model, {written})\n"
    assert _codes(LOAD.format(path=read), save) == ["FSDP705"]
    assert _codes("", LOAD.format(path=read) + save, START.replace(SHARDED, "model = Net()\n")) == []
    given = (
        f"set_model_state_dict(model, torch.load({read})['model'], options=StateDictOptions(full_state_dict=True))\n"
    )
    assert _codes(given, save) == []


@pytest.mark.parametrize("path", [
    "args.init", "f'{args.out}/{args.init}.pt'", "f'{args.out}/{dist.get_rank()}.pt'", "sys.argv[2]",
])  # fmt: skip
def test_another_file_may_be_one_of_several(path: str) -> None:
    assert _codes(LOAD.format(path=path), "save(model, f'{args.out}/last.pt')\n") == []


@pytest.mark.parametrize("save", [
    "torch.save({'model': model.state_dict()}, args.out)",  # each rank its shards, perhaps each where it was told
    "torch.save({'model': other(model)}, args.out)",
    "if dist.get_rank() == 0:\n    torch.save({'model': other(model)}, args.out)",
    "if dist.get_rank() == 0:\n    torch.save({'model': model.state_dict()}, args.out)",
])  # fmt: skip
def test_what_is_written_may_be_shards(save: str) -> None:
    before = SETTINGS + "from theirs import other\n"
    assert "FSDP705" not in _codes(LOAD.format(path="args.out"), f"{save}\n", before=before)
