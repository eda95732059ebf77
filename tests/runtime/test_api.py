"""`check()` and `assert_contract()` in the process of whoever owns the training loop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from torch.optim import SGD, Optimizer

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.folders import choose
from fsdp2_lint.report.job import read_job
from fsdp2_lint.runtime import ContractViolation, assert_contract, check
from fsdp2_lint.runtime.agreement import exchange
from fsdp2_lint.runtime.checked import CheckedRun, run_checked
from fsdp2_lint.runtime.launch.ranks import Outcome, run_ranks
from fsdp2_lint.runtime.patches import Patches

pytestmark = pytest.mark.torchrun

PRIVATE = "torch.distributed.fsdp._fully_shard."


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
        self.head = nn.Linear(16, 32)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        out: torch.Tensor = self.head(x)
        return out


def net() -> Net:
    torch.manual_seed(0)
    return Net()


def shard(model: Net, *, root: bool = True) -> Net:
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model) if root else model


def train(model: nn.Module, optimizer: Optimizer, steps: int = 3) -> None:
    for step in range(steps):
        loss(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()


def loss(model: nn.Module, step: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
    tokens = torch.randint(32, (8,), generator=generator)
    return nn.functional.cross_entropy(model(tokens), tokens)


def stale() -> tuple[Net, Optimizer]:
    model = net()
    optimizer = SGD(model.parameters(), lr=0.1)
    return shard(model), optimizer


def on_ranks(work: Callable[..., Any], *args: Any, ranks: int = 2) -> list[Any]:
    """What ``work`` returns on each rank of a gloo group."""
    outcomes: list[Outcome] = run_ranks(_in_group, ranks, work, args, timeout=60)
    assert not any(outcome.code for outcome in outcomes), "\n".join(outcome.error for outcome in outcomes)
    return [outcome.result for outcome in outcomes]


def _in_group(work: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    dist.init_process_group("gloo")
    try:
        return work(*args)
    finally:
        dist.barrier()  # rank 0 holds the store: see test_exchange_without_a_store


@cache
def line(text: str) -> int:
    """The only line of this file that has ``text`` in it, a comment such as ``# here: name``."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [number for number, each in enumerate(lines, start=1) if each.endswith(text)]
    return found


# check()


def train_in_block(report_dir: str | None = None) -> list[str]:
    with check(report_dir=report_dir) as watched:
        model = shard(net())
        train(model, SGD(model.parameters(), lr=0.1))
    return [str(finding.code) for finding in watched.findings]


def test_clean() -> None:
    assert on_ranks(train_in_block) == [[], []]


def switch_finalization(self: Any, enabled: bool) -> None:
    """What torch 2.15 has: its root keeps whether a backward waits for ``finalize_backward``.

    What becomes of the gradients only the real one shows: see ``test_finalization``.
    """
    self._get_fsdp_state()._state_ctx.manual_backward_finalization_active = enabled


def train_unfinished() -> list[tuple[str, int]]:
    if not hasattr(FSDPModule, "set_manual_backward_finalization"):
        cast(Any, FSDPModule).set_manual_backward_finalization = switch_finalization
    with check() as watched:
        model: Any = shard(net())
        optimizer = SGD(model.parameters(), lr=0.1)
        model.set_manual_backward_finalization(True)
        model.set_manual_backward_finalization(False)
        train(model, optimizer, steps=1)
        model.set_manual_backward_finalization(True)  # here: unfinished
        train(model, optimizer)
    return [(each.code, each.primary.site.row) for each in watched.findings]


def test_a_backward_that_nobody_finishes() -> None:
    assert on_ranks(train_unfinished) == [[("FSDP604", line("# here: unfinished"))]] * 2


def train_stale_in_block() -> list[tuple[Any, ...]]:
    with check() as watched:
        model = net()
        optimizer = SGD(model.parameters(), lr=0.1)  # here: stale
        train(shard(model), optimizer)
    found = watched.findings
    return [(each.code, each.primary.site.path, each.primary.site.row, each.observed) for each in found]


@pytest.mark.slow
def test_stale_optimizer() -> None:
    for rank, found in enumerate(on_ranks(train_stale_in_block)):
        ((code, path, row, observed),) = found
        assert (code, path, row) == ("FSDP601", __file__, line("# here: stale"))
        assert (observed.ranks, observed.step) == ((rank,), 1)


def train_adopted(faulty: bool) -> list[str]:
    model, optimizer = stale() if faulty else (shard(net()), None)
    optimizer = optimizer or SGD(model.parameters(), lr=0.1)
    with check(model, optimizer) as watched:
        train(model, optimizer)
    return [each.code for each in watched.findings]


@pytest.mark.slow
def test_made_before_the_block() -> None:
    assert on_ranks(train_adopted, False) == [[], []]
    assert on_ranks(train_adopted, True) == [["FSDP601"], ["FSDP601"]]


def train_root_left_out() -> list[str]:
    with check() as watched:
        model = shard(net(), root=False)
        train(model, SGD(model.parameters(), lr=0.1))
    return sorted(each.code for each in watched.findings)


@pytest.mark.slow
def test_root_not_sharded() -> None:
    assert on_ranks(train_root_left_out) == [["FSDP303"], ["FSDP303"]]


def same_batches() -> list[tuple[Any, ...]]:
    with check() as watched:
        model = shard(net())
        optimizer = SGD(model.parameters(), lr=0.1)
        for step in range(3):
            tokens = torch.arange(8) + step
            nn.functional.cross_entropy(model(tokens), tokens).backward()
            optimizer.step()
            optimizer.zero_grad()
    return [(each.code, each.observed and each.observed.ranks) for each in watched.findings]


def test_ranks_compare_notes_when_the_block_is_left() -> None:
    assert on_ranks(same_batches) == [[("FSDP808", (0, 1))]] * 2


def raise_in_block(finish: bool) -> tuple[str, int, int]:
    """The violated code, the optimizer steps that were made until then, and the findings that are known then."""
    model, optimizer = stale()
    made: list[int] = []
    optimizer.register_step_post_hook(lambda *given: made.append(1))
    watched = None
    try:
        with check(model, optimizer, on_finding="raise") as watched:
            train(model, optimizer)
    except ContractViolation as violation:
        assert watched is not None
        return violation.finding.code, len(made), len(watched.findings)
    raise AssertionError("nothing was raised")


def test_raise() -> None:
    assert on_ranks(raise_in_block, False) == [("FSDP601", 0, 1)] * 2


def raise_later() -> str:
    model, optimizer = stale()
    with check(model, optimizer) as watched:
        train(model, optimizer)
    try:
        watched.raise_on_error()
    except ContractViolation as violation:
        return str(violation)
    return ""


@pytest.mark.slow
def test_raise_on_error() -> None:
    for text in on_ranks(raise_later):
        assert text.startswith(f"FSDP601 optimizer-before-sharding at {__file__}:") and text.endswith(")")


def watch_nothing_sharded() -> str:
    model = net()
    try:
        with check(model):
            raise AssertionError("the block must not be entered")
    except ValueError as error:
        return str(error)


def test_not_sharded() -> None:
    assert on_ranks(watch_nothing_sharded, ranks=1) == [
        "Net is not sharded with fully_shard, and neither is any part of it"
    ]


def unknown_code() -> str:
    try:
        with check(select=["FSDP999"]):
            pass
    except Exception as error:
        return str(error)
    return ""


def test_selection() -> None:
    (told,) = on_ranks(unknown_code, ranks=1)
    assert told.startswith("unknown code or name 'FSDP999'")


def test_reports(tmp_path: Path) -> None:
    on_ranks(train_in_block, str(tmp_path))
    report = read_job(choose(tmp_path).folder, registry.rules())
    assert (report.ranks, report.steps, report.ended, report.sharded) == ((0, 1), 3, {0: 0, 1: 0}, True)
    assert report.notes == [] and report.findings == []


def without_a_launcher(port: int, report_dir: str) -> list[str]:
    """As under ``mp.spawn``: who is who was told to init_process_group, and there is nothing in the environment."""
    exchange.PATIENCE = timedelta(seconds=1)
    rank, ranks = int(os.environ.pop("RANK")), int(os.environ.pop("WORLD_SIZE"))
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=ranks)
    found = train_in_block(report_dir)
    dist.barrier()
    return found


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.slow
def test_reports_without_a_launcher(tmp_path: Path) -> None:
    outcomes = run_ranks(without_a_launcher, 2, free_port(), str(tmp_path), timeout=60)
    assert [(each.code, each.result) for each in outcomes] == [(0, []), (0, [])]
    report = read_job(choose(tmp_path).folder, registry.rules())
    assert (report.ranks, report.world_size) == ((0, 1), 2)
    assert not [note for note in report.notes if note.startswith("not compared")]


# assert_contract()


def contract(prepare: Callable[[], tuple[nn.Module, Optimizer | None]]) -> tuple[str, str]:
    model, optimizer = prepare()
    try:
        assert_contract(model, optimizer)
    except (ContractViolation, ValueError) as error:
        code = error.finding.code if isinstance(error, ContractViolation) else "ValueError"
        return code, str(error)
    return "", ""


def good() -> tuple[nn.Module, Optimizer | None]:
    model = shard(net())
    return model, SGD(model.parameters(), lr=0.1)


def between_steps() -> tuple[nn.Module, Optimizer | None]:
    model, optimizer = good()
    assert optimizer is not None
    train(model, optimizer)
    return model, optimizer


def no_optimizer() -> tuple[nn.Module, Optimizer | None]:
    return shard(net()), None


def root_left_out() -> tuple[nn.Module, Optimizer | None]:
    model = shard(net(), root=False)
    return model, SGD(model.parameters(), lr=0.1)


def not_sharded() -> tuple[nn.Module, Optimizer | None]:
    return net(), None


def other_plan() -> tuple[nn.Module, Optimizer | None]:
    model = net()
    for layer in list(model.layers)[dist.get_rank() :]:
        fully_shard(layer)
    fully_shard(model)
    return model, SGD(model.parameters(), lr=0.1)


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (good, ""),
        (between_steps, ""),
        (no_optimizer, ""),
        (stale, "FSDP601"),
        (root_left_out, "FSDP303"),
        pytest.param(other_plan, "FSDP316"),
        (not_sharded, "ValueError"),
    ],
)
def test_assert_contract(prepare: Callable[[], Any], code: str) -> None:
    said = on_ranks(contract, prepare)
    assert [each for each, _ in said] == [code, code], said


def select_and_ignore() -> list[str]:
    model, optimizer = stale()
    found = []
    for select, ignore in (((), ("FSDP6",)), (("FSDP303",), ())):
        try:
            assert_contract(model, optimizer, select=select, ignore=ignore)
        except ContractViolation as violation:
            found.append(violation.finding.code)
    return found


@pytest.mark.slow
def test_assert_contract_with_a_selection() -> None:
    assert on_ranks(select_and_ignore) == [[], []]


# What is left of it.


def spaces() -> list[Any]:
    """Whatever the tool may patch."""
    private = [sys.modules[PRIVATE + name] for name in ("_fsdp_state", "_fsdp_param_group", "_fully_shard")]
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    loader = sys.modules["torch.distributed.checkpoint.state_dict_loader"]
    classes = [nn.Module, DTensor, torch.Tensor, FSDPModule, Optimizer, SGD, Net, nn.Linear, nn.Embedding]
    hidden = [private[0].FSDPState, private[1].FSDPParamGroup]
    modules = [torch, torch.distributed, dcp, torch.cuda, torch.accelerator, torch.serialization, c10d, loader]
    return [*modules, *private, *classes, *hidden, torch.distributed.fsdp.FullyShardedDataParallel]


def snapshot() -> dict[tuple[str, str], int]:
    """Every attribute by identity. Names that are new are seen too."""
    kept = {(repr(space), name): value for space in spaces() for name, value in vars(space).items()}
    _alive.append(kept)  # an identity means something only while the object lives
    return {key: id(value) for key, value in kept.items()}


_alive: list[dict[tuple[str, str], Any]] = []


def hooks() -> list[int]:
    """How many hooks there are of those that torch keeps in registries of its own."""
    modules, optimizers = sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]
    names = [name for name in vars(modules) if name.startswith("_global") and isinstance(vars(modules)[name], dict)]
    registries = [vars(modules)[name] for name in sorted(names)]
    registries += [vars(optimizers)[name] for name in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")]
    return [len(each) for each in registries]


def differences(before: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """What is not what it was. Registers of Python's ABCs change by themselves."""
    after = snapshot()
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    return sorted(key for key in changed if not key[1].startswith(("_abc_", "__")))


def leave(how: str) -> tuple[list[tuple[str, str]], bool, bool]:
    """(what differs after the block, were hooks left, was anything patched inside it)"""
    train(*between_steps(), 1)  # type: ignore[arg-type]  # whatever torch imports and registers when it first runs
    before, registered = snapshot(), hooks()
    inside: list[bool] = []
    error: type[BaseException] = {"raise": ContractViolation, "late": ContractViolation}.get(how, KeyError)
    try:
        with check(on_finding="raise" if how in ("raise", "late") else "report", steps=2 if how == "steps" else 0):
            inside.append(bool(differences(before)) and hooks() != registered)
            if how == "raise":
                train(*stale())
            elif how == "late":  # only the end of the block settles the plan of a model that makes no step
                model = shard(net(), root=False)
                loss(model).backward()
            else:
                train(*between_steps(), 2)  # type: ignore[arg-type]
            if how == "error":
                raise KeyError("of the user")
            if how == "interrupt":
                raise KeyboardInterrupt
    except (error, KeyboardInterrupt):
        pass
    return differences(before), hooks() != registered, all(inside)


@pytest.mark.parametrize(
    "how",
    [
        "end",
        "steps",
        "error",
        "interrupt",
        "raise",
        pytest.param("late"),
    ],
)
def test_everything_is_put_back(how: str) -> None:
    assert on_ranks(leave, how, ranks=1) == [([], False, True)]


def behind_the_steps() -> list[str]:
    """What of the watched steps still lies around functions once they are over, while the watch goes on."""
    put: list[tuple[Patches, Any, str, Any]] = []
    replace = Patches.replace

    def recorded(patches: Patches, owner: Any, name: str, *rest: Any, **more: Any) -> None:
        replace(patches, owner, name, *rest, **more)
        put.append((patches, owner, name, vars(owner)[name]))

    Patches.replace = recorded  # type: ignore[method-assign]
    with check(steps=1) as watched:
        train(*between_steps(), 3)  # type: ignore[arg-type]
        hot = watched._session.hot
        assert not hot.live and any(patches is not hot and patches.live for patches, *_ in put)
        left = [(owner, name) for patches, owner, name, ours in put if patches is hot and ours in around(owner, name)]
    return [f"{owner.__name__}.{name}" for owner, name in left]


def around(owner: Any, name: str) -> list[Any]:
    """What a call of it goes through: a wrapper has what it wraps in its closure."""
    found = [vars(owner).get(name)]
    for each in found:
        cells = getattr(getattr(each, "__func__", each), "__closure__", None) or ()
        found += [inside for cell in cells if callable(inside := cell.cell_contents) and inside not in found]
    return found


def test_what_watched_the_steps_goes_with_them() -> None:
    assert on_ranks(behind_the_steps) == [[], []]


def fail_to_enter() -> tuple[list[tuple[str, str]], bool]:
    train(*between_steps(), 1)  # type: ignore[arg-type]
    before, registered = snapshot(), hooks()
    for given in ({"model": net()}, {"select": ["FSDP999"]}):
        try:
            with check(**given):  # type: ignore[arg-type]
                pass
        except Exception:
            continue
        raise AssertionError(f"{given} must be refused")
    return differences(before), hooks() != registered


def test_nothing_is_patched_where_the_block_is_not_entered() -> None:
    assert on_ranks(fail_to_enter, ranks=1) == [([], False)]


def look_once() -> tuple[list[tuple[str, str]], bool, bool]:
    """assert_contract installs nothing, and reads no number of the model in a way that changes it."""
    model, optimizer = between_steps()
    assert optimizer is not None
    before, registered = snapshot(), hooks()
    values = [each.detach().to_local().clone() for each in model.parameters()]  # type: ignore[attr-defined]
    versions = [each._version for each in model.parameters()]
    assert_contract(model, optimizer)
    same = versions == [each._version for each in model.parameters()] and all(
        torch.equal(value, each.detach().to_local())  # type: ignore[attr-defined]
        for value, each in zip(values, model.parameters())
    )
    return differences(before), hooks() != registered, same


def test_assert_contract_installs_nothing() -> None:
    assert on_ranks(look_once, ranks=1) == [([], False, True)]


# What happens where the others are gone.


# The function behind the fixture.


def linger() -> None:
    """Rank 0 stays until the others have read its part: see test_exchange_without_a_store."""
    really = dist.destroy_process_group

    def destroy() -> None:
        time.sleep(0.5 if dist.get_rank() == 0 else 0.0)
        really()

    dist.destroy_process_group = destroy  # type: ignore[assignment]  # the process ends with it


def fixture_work(root: bool, fail_on: int = -1) -> int:
    linger()
    model = shard(net(), root=root)
    train(model, SGD(model.parameters(), lr=0.1))
    if dist.get_rank() == fail_on:
        raise OSError("no data")
    return dist.get_rank()


@pytest.mark.slow
def test_run_checked() -> None:
    run = run_checked(fixture_work, True)
    assert (run.results, dict(run.errors), run.findings) == ([0, 1], {}, [])
    run.assert_clean()


def test_run_checked_with_a_finding() -> None:
    run = run_checked(fixture_work, False)
    assert [(each.code, each.observed and each.observed.ranks) for each in run.findings] == [("FSDP303", (0, 1))]
    with pytest.raises(AssertionError, match=r"test_api.py:\d+: FSDP303 error Net itself is never sharded(.|\n)*help:"):
        run.assert_clean()
    assert run_checked(fixture_work, False, ignore=("FSDP303",)).findings == []


@pytest.fixture(scope="module")
def half_failed() -> CheckedRun:
    return run_checked(fixture_work, True, 1, timeout=60)


@pytest.mark.slow
def test_run_checked_with_a_failure(half_failed: CheckedRun) -> None:
    assert half_failed.results[1] is None and half_failed.errors[1].endswith("OSError: no data\n")
    with pytest.raises(AssertionError, match="rank 1 failed:\nTraceback"):
        half_failed.assert_clean()


@pytest.mark.slow
def test_run_checked_keeps_the_rank_that_did_not_fail(half_failed: CheckedRun) -> None:
    assert half_failed.results[0] == 0 and list(half_failed.errors) == [1]


def fail_everywhere() -> None:
    fixture_work(False)
    raise OSError("no data")


@pytest.mark.slow
def test_run_checked_keeps_the_findings_of_ranks_that_fail() -> None:
    run = run_checked(fail_everywhere)
    assert sorted(run.errors) == [0, 1]
    assert [each.code for each in run.findings] == ["FSDP303"]


def load_plain_weights() -> None:
    model = shard(net())
    model.load_state_dict(net().state_dict())


def test_a_failure_that_is_explained_is_a_finding() -> None:
    run = run_checked(load_plain_weights)
    assert [(each.code, each.observed and each.observed.ranks) for each in run.findings] == [("FSDP705", (0, 1))]
    assert "got mixed torch.Tensor and DTensor" in run.errors[0]
