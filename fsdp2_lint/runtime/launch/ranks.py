"""N ranks on this machine, without GPUs: each a process of its own in one gloo group.

The processes come from a server that has imported torch once, so that starting some takes
milliseconds where the platform can fork, and seconds where it cannot.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import pickle
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

Work = Callable[..., Any]
# torch imports the compiler when the first hook of FSDP2 runs, which takes a second in each rank.
_PRELOADED = ["torch._dynamo", "torch.distributed.checkpoint.state_dict", "fsdp2_lint.runtime.launch.server"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one rank came to. ``code`` is the process's exit code, negative for a signal."""

    rank: int
    code: int
    result: Any = None
    error: str = ""


def run_ranks(
    work: Work, world_size: int, *args: Any, timeout: float = 120.0, environment: Mapping[str, str] | None = None
) -> list[Outcome]:
    """Call ``work(*args)`` on every rank, with the variables that torchrun would set.

    ``work`` and its arguments have to be picklable, so it is a function of a module. When a rank
    fails, the others get a few seconds, as under torchrun. ``timeout`` is in seconds, for all.
    """
    context = _context()
    variables = {**_variables(world_size), **(environment or {})}
    pickled = bytes(ForkingPickler.dumps((work, args)))
    homes = [_home_of(each) for each in (work, *args) if callable(each)]
    started: list[tuple[BaseProcess, Connection]] = []
    for rank in range(world_size):
        receiver, sender = context.Pipe(duplex=False)
        own = {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        process = context.Process(target=_one_rank, args=(sender, own, os.getcwd(), list(sys.path), homes, pickled))
        process.start()
        sender.close()
        started.append((process, receiver))
    return _collect(started, timeout)


GRACE = 15.0  # seconds that the others get once a rank has failed


def _collect(started: list[tuple[BaseProcess, Connection]], timeout: float) -> list[Outcome]:
    said: dict[int, tuple[Any, str]] = {}
    left = {process.sentinel: rank for rank, (process, _) in enumerate(started)}
    while left:
        ready = wait([*left, *(pipe for rank, (_, pipe) in enumerate(started) if rank not in said)], timeout)
        if not ready:
            break
        for rank, (process, pipe) in enumerate(started):
            if pipe in ready and rank not in said:
                with suppress(EOFError, OSError):
                    said[rank] = pipe.recv()
                said.setdefault(rank, (None, ""))
            if process.sentinel in ready and left.pop(process.sentinel, None) is not None:
                process.join()
                if process.exitcode:
                    timeout = min(timeout, GRACE)
    for process, _ in started:
        if process.is_alive():
            process.kill()
        process.join()
    return [
        Outcome(rank, process.exitcode or 0, *said.get(rank, (None, ""))) for rank, (process, _) in enumerate(started)
    ]


def _context() -> Any:
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        return context
    return multiprocessing.get_context("spawn")


def _variables(world_size: int) -> dict[str, str]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    return {
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": f"fsdp2-lint-{os.getpid()}-{port}",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _home_of(work: Work) -> tuple[str, str]:
    """The name and the file of the module that a function is from."""
    name = getattr(work, "__module__", "")
    return name, getattr(sys.modules.get(name), "__file__", None) or ""


def _load(name: str, file: str) -> None:
    """Import a module by its file where its name leads nowhere, as that of a test in pytest's importlib mode."""
    try:
        found = importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        found = False
    if found or name in sys.modules or not file:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def _one_rank(
    pipe: Connection,
    variables: dict[str, str],
    folder: str,
    path: list[str],
    homes: list[tuple[str, str]],
    pickled: bytes,
) -> None:
    import torch

    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:] = path
    torch.set_num_threads(1)
    try:
        for name, file in homes:
            _load(name, file)
        work, args = pickle.loads(pickled)  # in here, where it can be said what cannot be imported
        result = work(*args)
    except BaseException as error:
        with suppress(OSError):
            pipe.send((None, "".join(traceback.format_exception(error))))
        code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    else:
        pipe.send((result, ""))
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of gloo that are left can abort an interpreter that takes itself down in order.
    os._exit(code)
