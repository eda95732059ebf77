"""The clauses about a rank's GPU, on a machine without one: torch.cuda answers as it is told.

What only a GPU can show is in tests/gpu; here are the questions that a handle puts to torch, and
what follows from each answer, in both directions.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
from dataclasses import dataclass, replace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist

from fsdp2_lint.catalogue import registry
from fsdp2_lint.runtime import facts
from fsdp2_lint.runtime.ledger import CudaUse
from fsdp2_lint.runtime.monitors.launch import process
from fsdp2_lint.runtime.monitors.launch.process import RuntimeDevice, RuntimeProcess
from fsdp2_lint.runtime.session import Options, Session
from fsdp2_lint.vocab.events.base import Event
from fsdp2_lint.vocab.events.launch import DeviceSelected, Launched, ProgramEnded
from fsdp2_lint.vocab.facts import Fact
from fsdp2_lint.vocab.finding import Finding, Moment, Site
from fsdp2_lint.vocab.rule import Dispatcher, Verdict, agree

RULES = {rule.code: rule for rule in registry.rules()}
FIRST, SELECTED, SHARDED, NOW = (Moment(Site("train.py", row)) for row in (10, 20, 30, 40))
MIB = 2**20


@dataclass
class Machine:
    """What torch.cuda says. ``memory`` is what this process has taken, by device."""

    devices: int = 2
    current: int = 0
    initialized: bool = True
    memory: tuple[int, ...] = (0, 0)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: self.devices > 0)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: self.initialized)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: self.devices)
        monkeypatch.setattr(torch.cuda, "current_device", self.now)
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device=None: self.memory[self.at(device)])

    def now(self) -> int:
        assert self.initialized, "asking for the current device initialises CUDA, which the analysis must not do"
        return self.current

    def at(self, device: int | None) -> int:
        return self.current if device is None else device


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two GPUs of which nothing is used yet, and no launcher."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    made = Machine()
    made.install(monkeypatch)
    return made


def launch(monkeypatch: pytest.MonkeyPatch, rank: int, local: int | None, world: int = 2) -> None:
    """The variables of a launcher; ``local`` is None for one that does not count per node."""
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", str(world))
    if local is not None:
        monkeypatch.setenv("LOCAL_RANK", str(local))


def dispatch(code: str, event: Event) -> Verdict | None:
    """What one clause makes of an event; None where it does not apply."""
    dispatcher = Dispatcher([RULES[code]])
    dispatcher.dispatch(event)
    assert not dispatcher.broken
    return next(iter(dispatcher.verdicts.values()), None)


def word(code: str, event: Event) -> str:
    verdict = dispatch(code, event)
    return verdict.word if verdict is not None else ""


# FSDP101: is this rank's GPU selected at all?


def ended(use: CudaUse) -> ProgramEnded:
    return ProgramEnded(when=NOW, process=RuntimeProcess(use))


def test_a_rank_on_another_ranks_gpu_was_never_given_its_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=1)
    verdict = dispatch("FSDP101", ended(CudaUse(first=FIRST, sharded=SHARDED)))
    assert verdict is not None and verdict.word == "violated"
    assert verdict.findings[0].primary.site == FIRST.at, "where CUDA was used first, not where the program ended"


def test_rank_0_is_on_cuda_0_by_right_and_by_chance(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has nothing to say: the other ranks do."""
    launch(monkeypatch, rank=0, local=0)
    assert word("FSDP101", ended(CudaUse(first=FIRST, sharded=SHARDED))) != "violated"


def test_a_selection_is_all_that_is_asked_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=1)
    machine.current = 1
    assert word("FSDP101", ended(CudaUse(first=SELECTED, selected=SELECTED, sharded=SHARDED))) != "violated"
    machine.current = 0  # a map of one's own, from ranks to GPUs
    assert word("FSDP101", ended(CudaUse(first=SELECTED, selected=SELECTED, sharded=SHARDED))) == "upheld"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"devices": 0}, "a job on CPUs"),
        ({"devices": 1}, "the launcher shows each rank one GPU, which is its cuda:0"),
        ({"initialized": False}, "CUDA is there and nobody uses it"),
    ],
)
def test_being_on_cuda_0_is_no_fault_where(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], why: str
) -> None:
    launch(monkeypatch, rank=1, local=1)
    replace(machine, **changed).install(monkeypatch)
    assert word("FSDP101", ended(CudaUse(first=FIRST, sharded=SHARDED))) != "violated", why


def test_cuda_beside_a_model_on_cpus_is_no_fault(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=1)
    assert word("FSDP101", ended(CudaUse(first=FIRST))) != "violated"


def test_without_local_rank_nobody_knows_which_gpu_is_meant(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=None)
    assert word("FSDP101", ended(CudaUse(first=FIRST, sharded=SHARDED))) != "violated"


# FSDP102: is the index the rank on this node?


def selection(index: int | None, use: CudaUse | None = None) -> DeviceSelected:
    return DeviceSelected(when=NOW, device=RuntimeDevice(use or CudaUse(), index, "torch.cuda.set_device"))


def test_the_global_rank_as_index_shows_on_the_second_node(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before CUDA refuses it: the finding is there although the call fails."""
    launch(monkeypatch, rank=9, local=1, world=16)
    verdict = dispatch("FSDP102", selection(9))
    assert verdict is not None and verdict.word == "violated"
    assert verdict.findings[0].primary.site == NOW.at
    assert word("FSDP102", selection(1)) == "upheld"


@pytest.mark.parametrize(("rank", "local"), [(1, 1), (0, 0), (1, None)])
def test_on_the_first_node_both_numbers_are_the_same(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, rank: int, local: int | None
) -> None:
    launch(monkeypatch, rank, local)
    assert word("FSDP102", selection(rank)) == "unknown"


def test_without_a_launcher_there_is_no_rank_to_confuse(machine: Machine) -> None:
    assert word("FSDP102", selection(1)) == "unknown"


# FSDP103: is the GPU selected before anything lies on one?


def test_what_lies_on_the_former_gpu_came_too_early(machine: Machine) -> None:
    machine.memory = (3 * MIB, 0)
    verdict = dispatch("FSDP103", selection(1, CudaUse(first=FIRST)))
    assert verdict is not None and verdict.word == "violated"
    (finding,) = verdict.findings
    assert finding.primary.site == FIRST.at, "the use is to blame, not the selection"
    assert NOW.at in {label.site for label in finding.related}
    assert "cuda:0" in finding.primary.message


@pytest.mark.parametrize(
    ("index", "use", "changed", "why"),
    [
        (1, CudaUse(), {"initialized": False}, "nothing has used CUDA"),
        (1, CudaUse(first=FIRST), {}, "its properties were read, and no memory was taken"),
        (0, CudaUse(first=FIRST), {"memory": (MIB, 0)}, "the memory lies on the very GPU that is selected"),
        (1, CudaUse(first=FIRST), {"current": 1, "memory": (0, MIB)}, "the GPU was selected before, and is once more"),
        (None, CudaUse(first=FIRST), {"memory": (MIB, 0)}, "no index: the current device stays"),
        (1, CudaUse(), {"memory": (MIB, 0)}, "CUDA was used before the hooks were there"),
    ],
)
def test_a_selection_is_early_enough_where(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    index: int | None,
    use: CudaUse,
    changed: dict[str, Any],
    why: str,
) -> None:
    replace(machine, **changed).install(monkeypatch)
    assert word("FSDP103", selection(index, use)) == "upheld", why


# FSDP106: the launcher and the group, and one GPU for each rank.


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A process group that says what it is told."""
    said = {"rank": 1, "world": 2}
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda *_: said["rank"])
    monkeypatch.setattr(dist, "get_world_size", lambda *_: said["world"])
    return said


def test_the_group_says_what_the_launcher_said(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, group: dict[str, int]
) -> None:
    launched = Launched(when=NOW, process=RuntimeProcess(CudaUse()))
    launch(monkeypatch, rank=1, local=1)
    assert word("FSDP106", launched) == "upheld"
    group.update(rank=0, world=1)
    verdict = dispatch("FSDP106", launched)
    assert verdict is not None and verdict.word == "violated"
    assert "rank 1 of 2" in verdict.findings[0].message and "rank 0 of 1" in verdict.findings[0].message


def device_fact(gpu: str, row: int = 30) -> Fact:
    return Fact("device", "devices", Moment(Site("train.py", row)), (0, 1), {"device": gpu})


def shared(*devices: str) -> list[Finding]:
    found, broken = agree([RULES["FSDP106"]], {rank: device_fact(gpu) for rank, gpu in enumerate(devices)})
    assert not broken
    return found


def test_two_ranks_on_one_gpu() -> None:
    (finding,) = shared("node0 GPU-a", "node0 GPU-b", "node0 GPU-a")
    assert "ranks 0, 2" in finding.message and "GPU-a" in finding.message
    assert finding.primary.site == SHARDED.at
    assert len(shared("node0 GPU-a", "node0 GPU-a", "node1 GPU-b", "node1 GPU-b")) == 2


def test_each_rank_on_a_gpu_of_its_own() -> None:
    assert not shared("node0 GPU-a", "node0 GPU-b")
    assert not shared("node0 cuda:0", "node1 cuda:0"), "where torch knows no uuid, the node tells them apart"
    assert not shared("node0 GPU-a"), "one rank alone shares nothing"


@pytest.mark.parametrize("uuid", ["GPU-a", ""])
def test_the_fact_names_the_gpu_and_not_its_number(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, uuid: str
) -> None:
    """A launcher that shows each rank one GPU makes all of them cuda:0."""
    launch(monkeypatch, rank=1, local=1)
    properties = type("Properties", (), {"uuid": uuid})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    session = Session(None, Options(select=("FSDP106",)))
    machine.current = 1
    for device in (torch.device("cuda", 1), torch.device("cuda")):
        facts.device(session, device, SHARDED)
    for fact in session.facts:
        assert fact.values["device"] == f"{platform.node()} {uuid or 'cuda:1'}"
        assert (fact.ranks, fact.when, fact.traits["index"]) == ((0, 1), SHARDED, "cuda:1")


# The hooks: what they take for a selection, and for a use.


@pytest.fixture
def session(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session that watches the process only; what would reach CUDA reaches ``machine`` instead."""

    def set_device(device: Any) -> None:
        torch.cuda._lazy_init()  # as torch does in C++
        machine.current = device if isinstance(device, int) else torch.device(device).index

    def lazy_init() -> None:
        machine.initialized = True

    machine.initialized = False
    monkeypatch.setattr(torch.cuda, "set_device", set_device)
    monkeypatch.setattr(torch.cuda, "_lazy_init", lazy_init)
    watching = Session(None, Options(select=("FSDP101", "FSDP102", "FSDP103", "FSDP106")))
    process.install(watching)
    watching.hot.install()
    yield watching
    watching.hot.remove()
    assert torch.cuda.set_device is set_device and torch.cuda._lazy_init is lazy_init
    assert watching._broken == 0


def own_row() -> int:
    """The row of the caller: tests lie in the user's own source, for all that the hooks know."""
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize("device", [1, "cuda:1", torch.device("cuda", 1)])
def test_a_late_selection_is_found_at_the_first_use(
    session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch, device: Any
) -> None:
    launch(monkeypatch, rank=1, local=1)
    torch.cuda._lazy_init()
    used = own_row() - 1
    machine.memory = (MIB, 0)
    torch.cuda.set_device(device)
    (finding,) = session.findings.values()
    assert (finding.code, finding.primary.site.row) == ("FSDP103", used)


def test_an_early_selection_is_a_selection_and_no_fault(
    session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(monkeypatch, rank=1, local=1)
    torch.cuda.set_device(1)
    row = own_row() - 1
    assert session.cuda.selected is not None and session.cuda.selected.at.row == row
    machine.memory = (0, MIB)
    torch.cuda.set_device(1)
    assert not session.findings and machine.current == 1
    assert session.cuda.selected.at.row == row, "the first selection counts"


def test_the_hook_asks_nothing_that_would_initialise_cuda(session: Session, machine: Machine) -> None:
    """:meth:`Machine.now` refuses to answer before; a hook that asks is a defect of the session."""
    torch.cuda.set_device("cuda:1")
    assert session.cuda.first is not None and machine.initialized


def shard_on(session: Session, *devices: str) -> None:
    """What ``fully_shard`` tells the hook: the state, its modules, the device."""
    hook = session.quietly(process._Watch(session).shard)
    for device in devices:
        hook((object(), (torch.nn.Linear(2, 2),), torch.device(device), None, True), {})


def test_sharding_on_a_gpu_states_which_one_once(
    session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(monkeypatch, rank=1, local=1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: type("P", (), {"uuid": f"GPU-{index}"}))
    shard_on(session, "cpu")
    assert not session.facts and session.cuda.sharded is None
    shard_on(session, "cuda:1", "cuda:1")
    (fact,) = session.facts
    assert fact.values["device"].endswith("GPU-1")
    assert session.cuda.sharded is not None


def test_a_whole_job_with_no_selection(session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=1)
    torch.cuda._lazy_init()
    used = own_row() - 1
    session.cuda.sharded = SHARDED
    session.dispatch(ended(session.cuda))
    (finding,) = session.findings.values()
    assert (finding.code, finding.primary.site.row) == ("FSDP101", used)


# Where the analysis is known to be wrong.


def test_a_right_job_upholds_the_clause(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, rank=1, local=1)
    machine.current = 1
    assert word("FSDP101", ended(CudaUse(first=SELECTED, selected=SELECTED, sharded=SHARDED))) == "upheld"


def test_a_thread_that_pins_memory_selects_nothing(
    session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DataLoader with pin_memory=True calls set_device_index with the device that is current anyway."""
    launch(monkeypatch, rank=1, local=1)
    torch.cuda._lazy_init()
    path = os.path.join(os.path.dirname(torch.__file__), "utils", "data", "_utils", "pin_memory.py")
    loop = compile("torch.cuda.set_device(0)", path, "exec")
    thread = threading.Thread(target=exec, args=(loop, {"torch": torch}))
    thread.start()
    thread.join()
    session.cuda.sharded = SHARDED
    session.dispatch(ended(session.cuda))
    assert [each.code for each in session.findings.values()] == ["FSDP101"]


def test_a_context_manager_selects_too(session: Session, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """``with torch.cuda.device(local_rank): train()`` puts everything where it belongs, and the device back."""
    launch(monkeypatch, rank=1, local=1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: type("P", (), {"uuid": f"GPU-{index}"}))
    torch.cuda._lazy_init()
    machine.current = 1
    shard_on(session, "cuda:1")
    machine.current = 0
    session.dispatch(ended(session.cuda))
    assert not session.findings


def test_a_rank_that_selected_in_time_may_visit_another_gpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels in libraries save the device, set another one and put the first one back."""
    launch(monkeypatch, rank=1, local=1)
    machine.current, machine.memory = 1, (0, MIB)
    assert word("FSDP103", selection(0, CudaUse(first=SELECTED, selected=SELECTED))) == "upheld"


def test_a_negative_index_changes_nothing(machine: Machine) -> None:
    """``torch.cuda.set_device(-1)`` does nothing, as its documentation says."""
    machine.memory = (MIB, 0)
    assert word("FSDP103", selection(-1, CudaUse(first=FIRST))) == "upheld"
