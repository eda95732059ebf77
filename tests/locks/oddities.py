"""Strange pieces of Python for mutants: ``x`` is some name, ``E`` an expression, ``S`` a statement."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(each for line in text.split("\n") for each in line.split("|") if each)


MARK = "HUGE_NUMBER"  # stands for HUGE, since ast.unparse() writes numbers in tens
HUGE = "0x" + "f" * 5_000  # more digits than int() reads and str() writes
WORDS = _words(r"""
HUGE_NUMBER|-HUGE_NUMBER|1e400|-0.0|1e400j|10**10**10|'\ud800'|'\0'|b'\xff'|''|'a' * 10**9|...|None|True
NotImplemented|()|[]|{}|{HUGE_NUMBER: 1}|{1: 2, 1: 3}|{'\ud800': 1}|{None: None}|slice(HUGE_NUMBER)
range(HUGE_NUMBER)|x[HUGE_NUMBER]|[0] * HUGE_NUMBER|'%s' % HUGE_NUMBER|f'{HUGE_NUMBER!r:>10}'
'{}'.format(HUGE_NUMBER)|int('9' * 5000)|float('nan')|complex(0, 1)|1 / 0|0 ** -1|-1 << -1|1 << 10**9|(*(), )
[*[], *[]]|{**{}}|[*x, *x]|f(*x, *x, **x, **x)|lambda *a, b=1, **c: a|lambda: (yield)|[(yield) for _ in x]
__import__('os')|type('T', (), {})|super()|super().x|super(x, y)|globals()|locals()|vars()|dir(x)|type(x)(x)
object()|getattr(x, 'y' * 999)|setattr(x, '', 1)|eval('x')|exec('x')|next(iter([]))|sorted(x, key=x)|zip()|map(x)
sum([], [])|open|isinstance(x, (int, (str, (x,))))|issubclass(x, x)|x if x else x|x and x or x|not not x|x < x < x
x is x is not x|~x|(x := x)|(x := [x, x])|[x for x in x for x in x if x if x]|{x: x for x in x}
(x for x in (x for x in x))|x[...]|x[::]|x[1:2, ::3]|x[x][x][x]|x.x.x.x|x()()()|x.__class__.__mro__[0]
x.__dict__['x']|x.__init__(x)|type(x).__call__(x)|x @ x|torch|torch.nn|nn.Module|nn.Module()|nn.ModuleList([None])
nn.Sequential(*x)|nn.Parameter(None)|torch.optim.AdamW([])|torch.optim.AdamW([{}])
torch.optim.AdamW([{'params': x, 'lr': HUGE_NUMBER}])|fully_shard|fully_shard()|fully_shard([])
fully_shard(x, x, x, x)|fully_shard(*x)|fully_shard(**{'module': x})|fully_shard(module=x, mesh=HUGE_NUMBER)
fully_shard(fully_shard)|init_device_mesh('cuda', (HUGE_NUMBER,))
init_device_mesh('cuda', (-1, 0), mesh_dim_names=())|torch.device(HUGE_NUMBER)|torch.zeros(HUGE_NUMBER)
nn.Linear(HUGE_NUMBER, -1)|nn.Embedding(0, HUGE_NUMBER)|torch.float|dist.get_rank() % HUGE_NUMBER
dist.new_group([HUGE_NUMBER])|x.to(x, x, x)|x.parameters()|x.state_dict()|x.load_state_dict(x)|x.forward|x.step()
x.backward()|list(x.modules())[HUGE_NUMBER]|x.children()
""")
EXPRESSIONS = _words(r"""
(lambda: E)()|[E for _ in [0]][0]|E if E else None|{**E}|f'{E}'|(it := E)|not E|E @ E|E[E:E]|-E|E < E < E|E.it
E[0]|E()|E(*E, **E)|[*E]|{E: E}|(yield E)|(yield from E)|(E, (E, (E,)))|next(iter(E))|type(E)|E == E|E or E
print(E)|await E|str(E)|len(E)|E[E]|[E, E][::-1]|(lambda *a, **k: a)(*E)|{'a': E}['a']|dict(a=E)['a']
sorted([E])[0]|getattr(E, 'to')|E.to(E)|E(E)|E is E|[[[[E]]]]|list(map(lambda e: e, E))|functools.partial(E)
functools.reduce(E, E)|(e for e in E)|{e for e in E}|E % E|E ** E|~E|fully_shard(E)|E.parameters()
torch.compile(E)|copy.deepcopy(E)|nn.ModuleList([E])|E.state_dict()|vars(E)|id(E)|super(E, E)
""")
DECORATORS = _words("""
property|staticmethod|classmethod|contextlib.contextmanager|dataclasses.dataclass|functools.cache
functools.wraps(x)|torch.no_grad()|torch.compile|record|cached_property|it|abc.abstractmethod|overload
functools.singledispatch
""")
SPECIAL = _words("""
__init__|__new__|__call__|__getattr__|__getattribute__|__setattr__|__getitem__|__iter__|__next__|__enter__
__exit__|__len__|__bool__|__eq__|__hash__|__del__|__init_subclass__|__class_getitem__|__set_name__|__get__|forward
parameters|state_dict|modules|to|train|step|__post_init__|__contains__|__add__|__missing__|__await__|__aenter__
""")
BASES = _words("""
nn.Module|It|object|nn.Sequential|nn.ModuleList|dict|list|tuple|type|Exception|torch.optim.AdamW|x.y[z]|*x|f()
""")
SHAPES = tuple(
    each.strip()
    for each in """
try:
    S
except* ValueError as it:
    S
---
try:
    S
except (A, B) as it:
    raise it from it
except:
    S
else:
    S
finally:
    S
---
with a() as b, c(b) as (d, *e), f:
    S
---
async def it():
    async with a as b:
        async for c in b:
            S
            await c
asyncio.run(it())
---
for a, (b, *c), d.e, f[0] in zip(x, x):
    S
    continue
else:
    S
---
while True:
    S
    if x: break
---
while (it := x):
    S
---
match x:
    case {'a': [1, *b, 2], **c} if b: S
    case fully_shard(a, b=c) | nn.Module(): S
    case [_, (1 | None | True) as d]: S
    case -1 | 1+2j | 'a': S
    case it: S
---
class It(x, *y, metaclass=z, **w):
    a: int = S
    def __init__(self): self.b = self; S
    def __getattr__(self, name): return self
    def __call__(self, *a): return self(*a)
it = It()
---
def it(a, /, b=1, *c, d, e=2, **f) -> x:
    global g
    S
    return it(*c, **f)
it(1, d=2)
---
@it
@it(x)
@(lambda f: f)
def it(): S
it()
---
if x:
    S
elif y:
    S
else:
    S
---
def it():
    yield S
    x = yield
    yield from it()
for each in it(): S
---
del x, y[0], z.w, (a, b)
S
---
a = b = c, *d = S
---
a, b.c, d[e], [f, *g] = S
---
x: int
x: y.z[w] = S
---
x += S
x @= S
x[0] //= S
---
assert S, S
---
global x, model, optimizer
S
---
import a.b.c as d, e; from . import f; from .. import g as h; from ...... import i
from torch import *
S
---
lambda: S
---
raise S from S
---
return S
---
nonlocal x
S
---
S; S; S; S; S; S; S; S
""".split("\n---\n")
)
