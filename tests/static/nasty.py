"""Programs that nobody should write: inputs of ``tests/whole/test_robustness.py``."""
# ruff: noqa: E501

from __future__ import annotations

import random

HEAD = "import torch\nimport torch.nn as nn\nfrom torch.distributed.fsdp import fully_shard\n"
NET = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 64)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(8)])
        self.head = nn.Linear(4, 4)
"""


def program(body: str) -> str:
    return f"{HEAD}{NET}\ndef main():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "main()\n"


def each(text: str, count: int, between: str = "\n") -> str:
    return between.join(text.replace("{i}", str(i)).replace("{next}", str(i + 1)) for i in range(count))


ENDLESS = "fully_shard(nn.Linear(2, 2))\n"
CASES = {
    "empty": "",
    "syntax error": HEAD + "fully_shard(((\n",
    "python 2": HEAD + "print 'x'\nfully_shard(x)\n",
    "mixed tabs": HEAD + "if 1:\n\tx = 1\n        fully_shard(x)\n",
    "unterminated string": HEAD + "x = '''\nfully_shard(x)\n",
    "huge number": HEAD + f"x = {'9' * 5000}\nfully_shard(x)\n",
    "carriage returns": program("m = Net()\nfully_shard(m)").replace("\n", "\r"),
    "form feeds": "\f" + program("m = Net()\n\ffully_shard(m)"),
    "150 parentheses": HEAD + "x = " + "(" * 150 + "1" + ")" * 150 + "\n" + ENDLESS,
    "95 nested ifs": HEAD + "".join(" " * i + f"if x{i}:\n" for i in range(95)) + " " * 95 + ENDLESS,
    "95 nested functions": HEAD + "".join(" " * i + f"def f{i}():\n" for i in range(95)) + " " * 95 + ENDLESS,
    "95 nested classes": HEAD + "".join(" " * i + f"class C{i}:\n" for i in range(95)) + " " * 95 + ENDLESS,
    "3000 elifs": HEAD + "if x: pass\n" + each("elif x == {i}: pass", 3000) + "\n" + ENDLESS,
    "a sum of 5000": HEAD + f"x = {'+'.join(['1'] * 5000)}\n" + ENDLESS,
    "a list of 5000 modules": HEAD + f"x = [{'nn.Linear(2, 2),' * 5000}]\nfor m in x: fully_shard(m)\n",
    "a list of 5000 numbers": program(
        f"m = Net()\nfor i in [{each('{i}', 5000, ',')}]: fully_shard(m.layers[i])\nfully_shard(m)"
    ),
    "2000 conditions": program(f"m = Net()\nif {each('a{i}', 2000, ' and ')}: fully_shard(m)"),
    "5000 arguments": program(f"m = Net()\nf({'m, ' * 5000})\nfully_shard(m)"),
    "a text of 3000 parts": program('m = Net()\nx = f"' + "{m}" * 3000 + '"\nfully_shard(m)'),
    "200 loops in a comprehension": program(
        f"m = Net()\nx = [fully_shard(m) {each('for i{i} in range(10)', 200, ' ')}]"
    ),
    "900 alternatives": program(f"m = Net()\nx = {each('{i} if a{i} else ', 900, '')}0\nfully_shard(m)"),
    "500 context managers": program(f"m = Net()\nwith {each('a{i}()', 500, ', ')}: fully_shard(m)"),
    "200 exception handlers": program(
        "m = Net()\n" + each("try: x{i} = m\nexcept Exception: x{i} = m.layers", 200) + "\nfully_shard(x9)"
    ),
    "200 cases": program("m = Net()\nmatch y:\n" + each("    case {i}: fully_shard(m)", 200)),
    "1000 decorators": HEAD + "def d(f): return f\n" + "@d\n" * 1000 + "def main():\n    " + ENDLESS + "main()\n",
    "2000 globals in a chain": HEAD + each("x{i} = x{next}", 2000) + "\nx2000 = nn.Linear(2, 2)\nfully_shard(x0)\n",
    "globals in a circle": HEAD + "x = y\ny = x\nz = z\nfully_shard(x)\nfully_shard(z)\n",
    "classes in a circle": HEAD + "class A(A): pass\nclass B(C): pass\nclass C(B): pass\na, b = A(), B()\n"
    "fully_shard(a)\nfully_shard(b)\nb.x.y()\nsuper(B, b).z()\n",
    "25 diamonds": HEAD
    + "class A0(nn.Module): pass\nclass B0(A0): pass\n"
    + each("class A{next}(A{i}, B{i}): pass\nclass B{next}(A{i}, B{i}): pass", 25)
    + "\nfully_shard(A24())\n",
    "methods that call themselves": HEAD
    + "class A(nn.Module):\n    @property\n    def a(self): return self.b\n    @property\n    def b(self): return self.a\n"
    "    def __getattr__(self, n): return getattr(self, n)\n    def __getitem__(self, i): return self[i]\n"
    "    def __call__(self): return self()\n    def __enter__(self):\n        with self: return self\n"
    "m = A()\nfully_shard(m.a)\nm[0]\nm()\nwith m: fully_shard(m)\n",
    "recursion": program(
        "def f(m):\n    f(m)\n    fully_shard(m)\n    g(m)\n"
        "def g(m):\n    f(m.layers[0])\n    g(m.head)\n    g(m)\nf(Net())"
    ),
    "an endless generator": program(
        "import itertools\nm = Net()\ndef g():\n    i = 0\n    while True:\n        yield i\n        i += 1\n"
        "for i in g(): fully_shard(m.layers[i])\nfor i in itertools.count(): fully_shard(m)"
    ),
    "a generator of itself": program("def g():\n    yield from g()\n    yield g\nfor x in g(): fully_shard(x())"),
    "a list that grows while it is read": program(
        "l = [Net()]\nfor x in l:\n    l.append(x.child)\n    fully_shard(x)"
    ),
    "containers that hold themselves": program(
        "l = []\nd = {}\nl.append(l)\nd['d'] = d\nl.append(d)\nd['l'] = l\nf(l)\nfully_shard(l)\n"
        "for x in l: fully_shard(x)\nm = Net()\nm.me = m\nm.layers.append(m)\nfully_shard(m)\n"
        "for q in m.modules(): fully_shard(q)\nt = torch.optim.AdamW(l)"
    ),
    "a linked list": program("m = Net()\n" + "m = m.child\n" * 2000 + "fully_shard(m)"),
    "40 branches, one variable each": program(
        "m = Net()\n" + each("if c{i}: v{i} = m.layers\nelse: v{i} = m", 40) + "\nfor x in v39: fully_shard(x)"
    ),
    "40 branches, one variable": program(
        "v = m = Net()\n" + each("if c{i}: v = v.layers[{i}]", 40) + "\nfully_shard(v)"
    ),
    "40 branches, new objects": program("v = Net()\n" + each("if c{i}: v = Net()", 40) + "\nfully_shard(v)"),
    "40 branches, one list": program(
        "m, l = Net(), []\n" + each("if c{i}: l.append(m.layers[{i}])", 40) + "\nfor x in l: fully_shard(x)"
    ),
    "40 branches, one dict": program("kw = {}\n" + each("if c{i}: kw['k{i}'] = 1", 40) + "\nfully_shard(Net(), **kw)"),
    "40 branches that shard": program("m = Net()\n" + each("if c{i}: fully_shard(m)", 40)),
    "40 branches that return": program("m = Net()\n" + each("if c{i}:\n    fully_shard(m)\n    return", 40)),
    "2000 optimizers in a loop": program(
        "m = Net()\nfully_shard(m)\nfor i in range(2000):\n    o = torch.optim.AdamW(m.parameters())\n    o.step()"
    ),
    "lists of models and optimizers": program(
        "ms = [Net() for _ in range(2000)]\nos = [torch.optim.AdamW(m.parameters()) for m in ms]\n"
        "for m in ms: fully_shard(m)\nfor o in os: o.step()"
    ),
    "texts that double": program(
        "s = 'x'\n" + "s = s + s\n" * 60 + "z = s * 10**9\ny = 10**10**10\nfully_shard(Net())"
    ),
    "dicts that double": program("m = Net()\n" + "m = {'a': m, 'b': m}\n" * 40 + "fully_shard(m)\nf(m)"),
    "calls that are wrong": program(
        "m = Net()\nx = 1 / 0\ny = 'a' % 3\nz = [1][5]\n(a, b), c = 1, 2\na, *b, c = [1]\nt = -'a'\nu = 2 ** -1\n"
        + "".join(
            f"{name}()\n" for name in "len range zip enumerate isinstance getattr setattr super map sorted".split()
        )
        + "fully_shard()\ntorch.optim.AdamW()\nnn.Linear()\nnn.ModuleList()\ntorch.save()\ntorch.load()\n"
        "m.load_state_dict()\nm.to()\nm.register_module()\ntorch.cuda.set_device()\ntorch.device()\nm.forward()\n"
        "f(*m, **m)\ndel m.x, m[0], m\nfully_shard(m)"
    ),
}


BRANCHES = "m = Net()\nif x: pass\n" + each("elif x == {i}: fully_shard(m)", 1000)
CALLS = HEAD + each("def f{i}(m):\n    f{next}(m)\n    f{next}(m)", 35) + "\ndef f35(m): fully_shard(m)\n"
MODELS = "m{i} = Net()\nfully_shard(m{i})\no{i} = torch.optim.AdamW(m{i}.parameters())\nm{i}(x).sum().backward()\no{i}.step()"
STEP = "o = torch.optim.AdamW(m.parameters())\nm(x).backward()\no.step()\n"
LARGE = {
    "10,000 parentheses": HEAD + "x = " + "(" * 10_000 + ")" * 10_000 + "\n",
    "3,000 nested ifs": HEAD + "".join(" " * min(i, 900) + "if x:\n" for i in range(3000)) + " " * 3000 + "pass\n",
    "2,000 chained calls": HEAD + "a = nn.Linear(2, 2)\nfully_shard(a)\na" + ".b()" * 2000 + "\n",
    "5,000 chained attributes": HEAD + "a = nn.Linear(2, 2)\nfully_shard(a)\na" + ".b" * 5000 + "\n",
    "3,000 chained items": HEAD + "a = nn.Linear(2, 2)\nfully_shard(a)\na" + "[0]" * 3000 + "\n",
    "1,500 nested lambdas": HEAD + "f = " + "lambda: " * 1500 + "1\nfully_shard(f)\n",
    "3 MB of text": program("m = Net()\ns = '" + "a" * 3_000_000 + "'\nfully_shard(m)\n"),
    "lists that double": program("m = [Net()]\n" + "m = m + m\n" * 40 + "for x in m: fully_shard(x)"),
    "300 models": program(each(MODELS, 300)),
    "5 MB": HEAD + ENDLESS + "#" * 5_000_000,
}
EXPLODING = {
    "tuples that double": program("m = Net()\n" + "m = (m, m)\n" * 40 + "fully_shard(m)\nf(m)"),
    "calls that double": CALLS + "f0(nn.Linear(2, 2))\n",
    "1,000 branches that shard": program(BRANCHES),
    "2,000 steps": program("m = Net()\nfully_shard(m)\n" + STEP * 2000),
}


FILES = {
    "files in a circle": {
        "train.py": HEAD + "from a import build\nfully_shard(build())\n",
        "a.py": "from b import model\ndef build(): return model()\n",
        "b.py": "import torch.nn as nn\nfrom a import build\ndef model(): return build() or nn.Linear(2, 2)\n",
    },
    "a file that imports itself": {
        "train.py": HEAD + "import train\nfrom train import *\nfrom train import make\n"
        "def make(): return train.make()\nfully_shard(make())\n"
    },
    "stars in a circle": {
        "train.py": HEAD + "from a import *\nfully_shard(thing)\n", "a.py": "from b import *\n", "b.py": "from a import *\n",
    },
    "a package that imports its parts and back": {
        "train.py": HEAD + "import pkg\nfully_shard(pkg.model)\n",
        "pkg/__init__.py": "from .part import model\nfrom . import part\n",
        "pkg/part.py": "import torch.nn as nn\nfrom . import *\nfrom pkg import part\nmodel = part.model or nn.Linear(2, 2)\n",
    },
    "a broken neighbour": {"train.py": HEAD + "from a import model\nfully_shard(model)\n", "a.py": "def (:\n"},
    "a neighbour named torch": {"train.py": HEAD + ENDLESS, "torch.py": "def fully_shard(m): return m\n"},
    "beyond the top": {"train.py": HEAD + "from ....... import x\nfrom ..a.b import y\nfully_shard(x)\nfully_shard(y)\n"},
}  # fmt: skip


BYTES = {
    "a byte order mark": "﻿".encode() + HEAD.encode() + ENDLESS.encode(),
    "a Latin-1 cookie": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n" + (HEAD + ENDLESS).encode(),
    "Latin-1 without a cookie": b"x = '\xe9'\n" + (HEAD + ENDLESS).encode(),
    "an unknown cookie": b"# coding: klingon\n" + (HEAD + ENDLESS).encode(),
    "UTF-16": (HEAD + ENDLESS).encode("utf-16"),
    "UTF-16 without a mark": (HEAD + ENDLESS).encode("utf-16-le"),
    "null bytes": (HEAD + ENDLESS).encode() + b"\0\0",
    "not text": bytes(random.Random(1).randrange(256) for _ in range(2000)) + b"fully_shard",
    "a lone surrogate": HEAD.encode() + b"x = '\xed\xa0\x80'\n" + ENDLESS.encode(),
}


_WORDS = """fully_shard(m)|for x in m.layers: fully_shard(x)|o = torch.optim.AdamW(m.parameters())|m = Net()|o.step()|m(x)
m.forward(x)|m.layers.append(Block())|torch.save(m.state_dict(), "f")|if c: m = m.layers[0]|m = m.to("cuda")|return m|break
m, o = o, m|x = [m, o]|m = x[0]|for m in x: pass|while c: m = m.child|with m: pass|del m|o = o(m)|x = m.modules()
torch.cuda.set_device(0)|m.load_state_dict(torch.load("f"))|if dist.get_rank() == 0: m(x)|def f(m): fully_shard(m)|f(m)
for n, m in m.named_modules(): fully_shard(m)|m.x = m|x = lambda: f(m)|x()|try: f(m)\\nexcept: m = None|yield m|raise m
global m|import m|from m import o|class m(m): pass|assert m|m += o|m: o = x|f(**x)|f(*x)|x = {"m": m, **x}|m = x["m"]"""
STATEMENTS = [each.replace("\\n", "\n") for line in _WORDS.splitlines() for each in line.split("|")]
