"""What ranks of a job could have reported if somebody wanted to break whoever reads it."""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path
from typing import Any

from fsdp2_lint.report.halves import HALF, State, beginning, token
from tests.report.ranks import fact, finding, write

ODD: list[Any] = [
    None, -1, 0, 10**12, 10**400, 1.5, "", "x", "0-999999999999", [], {}, [[]], True, "\x1b[31m\n::error::x",
    "/dev/zero", "/nowhere\0", "\ud800", {"a": {"b": []}}, "##[error]x", float("nan"),
]  # fmt: skip


def report_folder(folder: Path, seed: int) -> Path:
    """A folder for ``report``. What the first rank found is in it."""
    chance = random.Random(seed)
    folder.mkdir()
    for rank in range(2):
        said = [finding(ranks=(rank,)), finding("FSDP701", row=9, ranks=(rank,)), fact({"a": "1", "b": "2"})]
        said.append(
            ("crash", {"error": "RuntimeError: \x1b[31m\n::error::x", "code": "FSDP301", "why": "w", "fix": "f"})
        )
        said.append(("verdict", {"code": "FSDP601", "word": "upheld", "reasons": [], "judged": [], **_model()}))
        said += [(kind, {"id": number, **more}) for number, (kind, more) in enumerate(_SEQUENCE)]
        path = write(folder, rank, *said)
        (folder / f"rank{rank}.ring").write_bytes(_ring(chance))
    _spoil_second(path, chance)
    return folder


def _ring(chance: random.Random) -> bytes:
    told = [token(0, 1, 2, each) for each in range(1, chance.randrange(2, 9))]
    return beginning(1, 0, [State()]) + b"".join(told) + chance.randbytes(chance.choice([0, 0, 16 * 5, 7, HALF]))


def _model() -> dict[str, Any]:
    at = {"filename": "/job/train.py", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 1}}
    return {"model": "Net", "at": at}


_AT = {"at": _model()["at"], "stack": [], "by": "x"}
_SEQUENCE: list[tuple[str, dict[str, Any]]] = [
    ("group", {"name": "g", "ranks": [0, 1]}),
    ("collective", {"kind": "all_reduce", "size": "4", "names": ["a"]}),
    ("place", {**_AT, "aside": False}),
    ("stall", {**_AT, "waits": True, "since": 1.0, "after": 2.0, "issued": [["g", "0-1", 3, False]]}),
    ("step", {"steps": 3}),
    ("missing", {"what": "x", "codes": ["FSDP601"]}),
    ("defect", {"where": "x", "error": "y"}),
]


def _spoil_second(path: Path, chance: random.Random) -> None:
    """The first rank stays as it is, so what it found has to be said."""
    kind = chance.randrange(10)
    if kind == 0:
        path.unlink()
        os.mkfifo(path)
    elif kind == 1:
        path.unlink()
        path.symlink_to(chance.choice(["/dev/zero", "/nowhere", path]))
    elif kind == 2:
        path.write_bytes(chance.randbytes(2_000) + path.read_bytes())
    elif kind == 3:
        path.write_bytes(b"[" * 60_000 + b"\n" + path.read_bytes())
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for _ in range(chance.randrange(1, 6)):
            _spoil(chance.choice(lines[1:] if kind < 8 else lines), chance)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _spoil(value: Any, chance: random.Random) -> None:
    """One value in it, at any depth, becomes an odd one or goes away."""
    while isinstance(value, (dict, list)) and value:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = chance.choice(keys)
        if isinstance(value[key], (dict, list)) and value[key] and chance.random() < 0.7:
            value = value[key]
        elif chance.random() < 0.2:
            del value[key]
            return
        else:
            value[key] = copy.deepcopy(chance.choice(ODD))
            return


def spoilt_findings(seed: int, before: str) -> str:
    """For ``--since`` and ``--baseline``."""
    chance = random.Random(seed)
    try:
        held = json.loads(before)
    except ValueError:
        held = []
    for _ in range(3):
        _spoil(held, chance)
    return json.dumps(held)
