"""The harness itself: a test that cannot fail would prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.catalogue.examples import with_whole_programs
from fsdp2_lint.vocab.finding import Severity
from tests import fake
from tests.pages.harness import Mark, check_program, differences, marks, programs
from tests.pages.shorten import shortened

PAGE = """
# FSDP601: optimizer-before-sharding

```python
not_an_example()
```

## Examples

Words.

### Bad: two files

`model.py`:

```python
### Bad: not a heading
x = 1  # error: [FSDP601]
```

Words that name no file.

```python
y = "# error: [FSDP602]"  # why  # related: [FSDP601, FSDP602]
```

### Good: one file

```
$ not python
```

```python
z = 1
```

## See also

```python
not_an_example_either()
```
"""


NET = """@decorated
class Net(nn.Module):
    # as above: is said here by chance
    def forward(self, x):
        return x
"""
TWICE = f"""# FSDP601: a-name

## Examples

### Bad: the whole

```python
import torch


{NET}

def train():
    Net()  # error: [FSDP601]


def batches():
    yield 1
    yield 2
    yield 3
```

### Good: the same again

`model.py`:

```python
{NET}

def batches():
    yield 1
    yield 2
    yield 3


x = 1
```

```python
def train():
    Net()  # error: [FSDP601]


{NET.replace("return x", "return 2 * x")}
```

### Good: and again

```python
{NET.replace("return x", "return 2 * x")}
```
"""


def test_what_is_the_same_in_several_programs_is_written_once() -> None:
    short = shortened(TWICE)
    assert (
        short.split("the same again")[1]
        == f"""

`model.py`:

```python
# as above: Net, batches


x = 1
```

```python
def train():
    Net()  # error: [FSDP601]


{NET.replace("return x", "return 2 * x")}
```

### Good: and again

```python
# as above: Net

```
"""
    )
    assert programs(short) == programs(TWICE) and with_whole_programs(short) == TWICE and shortened(short) == short


def test_what_is_not_above_is_an_error() -> None:
    with pytest.raises(LookupError):
        programs("## Examples\n\n### Bad: one\n\n```python\n# as above: Net\n```\n".join(["\n", ""]))


def test_programs() -> None:
    bad, good = programs(PAGE)
    assert (bad.good, bad.title, list(bad.files)) == (False, "two files", ["model.py", "train.py"])
    assert (good.good, good.title, good.files) == (True, "one file", {"train.py": "z = 1\n"})
    assert marks(bad.files) == {
        Mark("model.py", 2, "error", "FSDP601"),
        Mark("train.py", 1, "related", "FSDP601"),
        Mark("train.py", 1, "related", "FSDP602"),
    }


@pytest.mark.parametrize(
    "page",
    [
        "## Examples\n```python\nx\n```\n",
        "## Examples\n### Better: x\n",
        "## Examples\n### Bad: x\n```python\nx\n```\n```python\ny\n```\n",
        "## Examples\n### Bad: x\n```python\nx\n",
    ],
)
def test_pages_that_do_not_follow_the_format(page: str) -> None:
    with pytest.raises(ValueError):
        programs(page)


def test_both_directions() -> None:
    root = Path("/p")
    finding = fake.finding(fake.site("/p/a.py", 3), (fake.site("/p/b.py", 7), "there"))
    primary, related = Mark("a.py", 3, "error", "FSDP601"), Mark("b.py", 7, "related", "FSDP601")
    assert differences([primary], [finding], root) == []
    assert differences([primary, related], [finding], root) == []
    assert differences([], [finding], root) == ["reported and not marked: a.py:3: error: [FSDP601]"]
    for wrong in (
        Mark("a.py", 4, "error", "FSDP601"),
        Mark("a.py", 3, "warning", "FSDP601"),
        Mark("a.py", 3, "error", "FSDP602"),
        Mark("b.py", 8, "related", "FSDP601"),
        Mark("b.py", 7, "related", "FSDP602"),
    ):
        assert differences([primary, wrong], [finding], root) == [f"marked and not reported: {wrong}"]


def test_failures_and_advice_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = fake.install(monkeypatch)
    engine.result.findings = [fake.finding(fake.site(tmp_path / "train.py", 1), severity=Severity.INFO)]
    engine.result.out_of_budget = ["main"]
    engine.result.broken = [("FSDP602", "KeyError")]
    assert check_program({"train.py": "fully_shard(m)\n"}, tmp_path) == [
        "failure: internal error in FSDP602: KeyError",
        "note: out of budget, so its verdicts are unknown: main",
        "reported and not marked: train.py:1: info: [FSDP601]",
    ]
