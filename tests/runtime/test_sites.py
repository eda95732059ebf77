"""What the user's code called, where torch wraps its functions in ``no_grad``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.runtime.sites import called_from_user


class Bound(torch.Tensor):
    """Notes who asks for it."""

    asked: set[str] = set()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked.add(called_from_user(sys._getframe().f_back))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_a_function_with_a_wrapper_of_its_own() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    Bound.asked.clear()
    torch.nn.utils.clip_grad_norm_([parameter], max_norm=torch.ones(()).as_subclass(Bound))
    assert Bound.asked == {"clip_grad_norm_()"}


def test_a_function_that_is_decorated() -> None:
    """From torch 2.15 on the frame around it is called ``no_grad``."""
    asked = []

    def batches() -> Iterator[Any]:
        asked.append(called_from_user(sys._getframe().f_back))
        yield torch.ones(2, 2)

    torch.optim.swa_utils.update_bn(batches(), torch.nn.BatchNorm1d(2))
    assert asked == ["update_bn()"]


# Functions of many sizes: where one has ended, others soon have their frames across its own.
READ_WHILE_IT_TRAINS = """
import gc, random, sys, threading, time
from fsdp2_lint.runtime.sites import standing, trail_of_training

def of_size(size):
    names = [f"value{each}" for each in range(size)]
    lines = [f"    {name} = depth + 1" for name in names]
    body = chr(10).join([f"def call(depth):", *lines, "    return random.choice(functions)(depth - 1) if depth else 0"])
    scope = globals().copy()
    exec(compile(body, __file__, "exec"), scope)
    return scope["call"]

functions = []
functions.extend(of_size(each) for each in range(1, 40, 3))
for each in functions:
    each.__globals__["functions"] = functions
gc.callbacks.append(lambda phase, info: time.sleep(0))  # as weak references to tensors let others go on
gc.freeze()
gc.set_threshold(1)
sys.setswitchinterval(1e-6)
over, seen = threading.Event(), set()

def look():
    try:
        for _ in range(5_000):
            for each in trail_of_training() + standing()[0]:
                seen.add((type(each[0]).__name__, type(each[2]).__name__))
    except BaseException as error:
        seen.add(repr(error))
    over.set()

threading.Thread(target=look).start()
while not over.is_set():
    random.choice(functions)(random.randrange(40))
print(sorted(seen), gc.isenabled())
"""


def test_frames_are_read_while_their_thread_goes_on(tmp_path: Path) -> None:
    """Python 3.11 made objects of frames that were over, and what is read of them is anything."""
    script = tmp_path / "train.py"
    script.write_text(READ_WHILE_IT_TRAINS)
    job = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (job.returncode, job.stdout) == (0, "[('code', 'int')] True\n"), job.stderr
