"""Folders that somebody made to break the tool, each with a program in it whose fault has to be found all the same."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = """\
import torch
from torch.distributed.fsdp import fully_shard

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())  # \x1b]0;gone\x07 ##[error]gone
fully_shard(model)
model(torch.ones(2)).sum().backward()
optimizer.step()
torch.save(model.state_dict(), "\x1b[31m\\n::error::gone")
"""
CODE, FILE = "FSDP601", "train.py"
NAMES = [
    "x\n::error file=a::pwn.py", "::error file=a,line=1::pwn.py", " ::warning::x.py", "##[error]x.py", "##vso[x]y.py",
    "\x1b[31mred.py", "\x1b]0;title\x07.py", "a\rb.py", "\u202egpj.py", "--fix.py", "-o.py", "a b\t.py",
    "%0A::error.py", os.fsdecode(b"\xff\xfe.py"), "\x9b31m.py", "a" * 240 + ".py", "\u2028.py", "[a-z].py",
    "'\"&<>.py", "a\\b.py",
]  # fmt: skip
SPEAKS = b"from torch.distributed.fsdp import fully_shard\n"


CODECS = [b"idna", b"utf-16", b"rot13", b"undefined", b"\xff"]


def _rows(chance: random.Random, text: bytes) -> bytes:
    return text * chance.choice([1, 50, 3_000])


CONTENTS: list[Callable[[random.Random], bytes]] = [
    lambda chance: b"\0" + SPEAKS,
    lambda chance: SPEAKS + b"x = " + b"(" * 5_000,
    lambda chance: SPEAKS + b"x = " + b"-" * 100_000 + b"1",
    lambda chance: SPEAKS + b"x = '" + b" " * 300_000 + b"'\n",
    lambda chance: chance.randbytes(3_000) + SPEAKS,
    lambda chance: b"\xef\xbb\xbf# coding: latin-1\n" + SPEAKS,
    lambda chance: (
        b"# coding: " + chance.choice([b"idna", b"utf-16", b"rot13", b"undefined", b"\xff"]) + b"\n" + SPEAKS
    ),
    lambda chance: SPEAKS + _rows(chance, b"from x import (\n"),
    lambda chance: SPEAKS + _rows(chance, b"from x import (a, # (\n"),
    lambda chance: SPEAKS + b"x = 1 #" + b" " * 50_000 + _rows(chance, b"# noqa: A1, "),
    lambda chance: SPEAKS + b"x = 1 # fsdp2-lint: ignore[" + b"A1," * 30_000,
    lambda chance: SPEAKS + b"def f[T](a" + b" " * 50_000 + b"): type\n",
    lambda chance: SPEAKS + _rows(chance, b"type X = t'"),
    lambda chance: SPEAKS + _rows(chance, b"except" + b" " * 30),
    lambda chance: b"#" * 4_100_000,
    lambda chance: SPEAKS + b"#" * 4_100_000,
    lambda chance: SPEAKS + b"x = 0x" + b"f" * 9_000 + b"\nfully_shard(x, x)\n",
    lambda chance: "# coding: utf-8\nfully_shard = '\ud800'".encode("utf-16", "surrogatepass"),
    lambda chance: SPEAKS.replace(b"\n", chance.choice([b"\r", b"\x0c", b"\r\n\r", b"\x1c"])),
    lambda chance: b"if 1:\n" + b"".join(b" " * n + b"if 1:\n" for n in range(1, 90)) + b" " * 91 + SPEAKS,
    lambda chance: b"import train\n" + b"".join(b"import m%d\n" % n for n in range(300)) + SPEAKS,
]


@dataclass
class Tree:
    """``folder`` is what is given to the tool, ``outside`` lies beside it. ``settings`` may be refused as a whole."""

    folder: Path
    outside: Path
    chance: random.Random
    settings: set[str] = field(default_factory=set)
    named: list[str] = field(default_factory=list)

    def path(self, *suffixes: str) -> Path:
        """A new place, with an odd name at times."""
        suffix = self.chance.choice(suffixes or (".py",))
        if suffix == ".py" and self.chance.random() < 0.5:
            name = self.chance.choice(NAMES)
        else:
            name = f"n{self.chance.randrange(10**6)}{suffix}"
        folder = self.folder / self.chance.choice(["", "", "pkg", "a/b/c", "\x1b[1m", "::error::x"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        if os.path.lexists(path):
            return folder / f"n{self.chance.randrange(10**9)}{suffix}"
        return path


def make(top: Path, seed: int) -> Tree:
    """The same tree for the same seed."""
    tree = Tree(top / "project", top / "outside", random.Random(seed))
    (tree.folder / ".git").mkdir(parents=True)
    tree.outside.mkdir()
    (tree.outside / "secret.py").write_text(PROGRAM)
    (tree.folder / FILE).write_text(PROGRAM)
    for _ in range(tree.chance.randrange(1, 5)):
        tree.chance.choice(PARTS)(tree)
    return tree


def _odd_file(tree: Tree) -> None:
    path = tree.path(".py", ".py", ".ipynb")
    path.write_bytes(tree.chance.choice(CONTENTS)(tree.chance))
    tree.named.append(str(path))


def _fault_in_odd_file(tree: Tree) -> None:
    path = tree.path(".py")
    path.write_text(PROGRAM)
    tree.named.append(str(path))


def _no_file(tree: Tree) -> None:
    """A pipe, a socket, a device, a loop or nothing, where a file could be."""
    chance = tree.chance
    name = chance.choice(
        ["", "requirements.txt", "setup.cfg", "setup.py", ".gitignore", ".python-version", "__init__.py"]
    )
    path = tree.folder / name if name and not os.path.lexists(tree.folder / name) else tree.path(".py", ".ipynb")
    if path.is_symlink():
        return
    kind = chance.randrange(7)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1 and len(os.fsencode(path)) < 100:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.fsencode(path))
    elif kind == 6:
        path.mkdir()
    else:
        path.symlink_to(["/dev/zero", path, "/nowhere/at/all", tree.outside, "/dev/tty"][kind - 2 if kind > 1 else 0])
    tree.named.append(str(path))


def _patterns(tree: Tree) -> None:
    """None of them fits the program: each needs a Q."""
    chance, path = tree.chance, tree.folder / ".gitignore"
    if not os.path.lexists(path):
        ends = ["", "/", "/**", "  ", "\r"]
        path.write_text(
            "".join(f"{_pattern(chance)}Q{chance.choice(ends)}\n" for _ in range(chance.choice([1, 5, 300])))
        )


def _pattern(chance: random.Random) -> str:
    part = chance.choice(
        ["*a", "**/", "*", "?", "[!b]", "a*/", "[[:alpha:]]", "\\*", "*[a-z]", "**", "[", "[]-a]", "*?"]
    )
    return part * chance.choice([1, 10, 60, 2_000])


def _settings(tree: Tree) -> None:
    chance = tree.chance
    name = chance.choice(["pyproject.toml", "fsdp2-lint.toml"])
    path = tree.folder / name
    if os.path.lexists(path):
        return
    head = "[tool.fsdp2-lint]\n" if name == "pyproject.toml" else ""
    texts = [
        f"{head}exclude = [{json.dumps(chance.choice(['*a', '**/', '*?']) * 200 + 'Q')}]\n",
        f"{head}per-file-ignores = {{ {json.dumps('*a' * 100 + 'Q')} = ['ALL'] }}\n",
        f"{head}baseline = 'known.json'\n",
        f"{head}baseline = '/dev/zero'\n",
        f"{head}'\\u001b[31m::error::x' = 1\n",
        f"{head}x = {'[' * 30_000}\n",
        f"[tool.other]\nx = {'9' * 6_000}\n{head}",
        f"{'#' * 1_100_000}\n{head}",
        f"{head}{'.'.join('a' * 3_000)} = 1\n",
        f"{head}source-roots = ['../outside', '/dev']\n",
        f"{head}entry-points = ['../outside/secret.py', '{'a' * 300}.py:x']\n",
        f"{head}select = ['\\u001b[31m']\n",
        "\0\x1b[31m",
    ]
    kind = chance.randrange(len(texts) + 3)
    tree.settings |= {name, "known.json", "/dev/zero"}
    if kind < len(texts):
        path.write_text(texts[kind])
        (tree.folder / "known.json").write_text(_broken_json(chance, '{"version": 1, "findings": []}'))
    elif kind == len(texts):
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == len(texts) + 1 else path)


def _broken_json(chance: random.Random, text: str) -> str:
    return chance.choice(
        [
            text,
            text[: chance.randrange(len(text))],
            "[" * 50_000,
            '{"version": "\\u001b[31m::error::"}',
            "9" * 5_000,
            "NaN",
        ]
        + [text.replace(each, "null") for each in ("[]", "1", "{", "}")]
    )


def _notebook(tree: Tree) -> None:
    chance = tree.chance
    source = chance.choice(
        [
            PROGRAM,
            "%%bash\n" * 50,
            " " * 100_000,
            "x" + " " * 100_000,
            "!\x1b[31m",
            5,
            None,
            [1, None, {}],
            ["fully_shard"] * 9,
        ]
    )
    cell = chance.choice(
        [{"cell_type": "code", "source": source}, 5, None, {"cell_type": "code"}, {"cell_type": ["code"]}]
    )
    cells = [cell] * chance.choice([1, 3, 10_001])
    held = {"cells": cells, "metadata": chance.choice([{}, None, [], {"language_info": 3}]), "fully_shard": 1}
    path = tree.path(".ipynb")
    path.write_text(_broken_json(chance, json.dumps(held)) if chance.random() < 0.4 else json.dumps(held))
    tree.named.append(str(path))


def _deep(tree: Tree) -> None:
    folder = tree.folder
    for _ in range(90):
        folder = folder / tree.chance.choice(["a", "b\n", "\x1b"])
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    (folder / "x.py").write_bytes(SPEAKS)


def _many(tree: Tree) -> None:
    for number in range(200):
        (tree.folder / f"m{number}.py").write_text(f"import m{(number + 1) % 200}\nfrom train import *\n")


def _link(tree: Tree) -> None:
    target = tree.chance.choice([tree.outside / "secret.py", tree.folder / FILE, tree.folder, tree.outside])
    path = tree.path(".py", "")
    path.symlink_to(target)


PARTS = [
    _odd_file,
    _odd_file,
    _odd_file,
    _fault_in_odd_file,
    _no_file,
    _no_file,
    _patterns,
    _patterns,
    _settings,
    _notebook,
]
PARTS += [_notebook, _deep, _many, _link]
