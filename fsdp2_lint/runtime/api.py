"""For people who own their training loop."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import nn
from torch.optim import Optimizer

from ..catalogue.codes import PREFIX
from ..report.codec import finding_as_json, finding_from_json
from ..report.findings import disagreements, merge
from ..report.folders import attempt, job_id
from ..report.rank_file import RankFile
from ..vocab.events.forward import ForwardBegun, OldWeightsMet
from ..vocab.events.precision import PoliciesTaken, WeightsTrained
from ..vocab.events.sharding import PlanSettled
from ..vocab.events.training import GradientsUsed, OptimizerSettled, TrainingSeen
from ..vocab.facts import Fact
from ..vocab.finding import Finding, Moment
from . import adapter, facts
from .agreement.exchange import compare_all
from .crashes import crash
from .hangs.stall import StallWatch
from .ledger import Built, label_of
from .monitors import install
from .monitors.forward import closing
from .monitors.shared.models import RuntimeModel
from .monitors.shared.units import RuntimeUnit
from .monitors.training.optimizers import RuntimeOptimizer
from .session import ContractViolation, OnFinding, Options, Session
from .shared_folder import agree_on_folder, compared, leave
from .sites import here


class Check:
    """The findings of a watched stretch, complete once the ``with`` block has been left."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._findings: list[Finding] | None = None

    @property
    def findings(self) -> list[Finding]:
        """Of this rank so far; in the end also those that the comparison of ranks brought."""
        return list(self._session.findings.values()) if self._findings is None else self._findings

    def raise_on_error(self) -> None:
        """Raise :class:`ContractViolation` for the first finding that is an error."""
        for finding in self.findings:
            if finding.severity.value == "error":
                raise ContractViolation(finding)


@contextmanager
def check(
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
    *,
    steps: int = 3,
    on_finding: OnFinding = "report",
    select: Sequence[str] = (PREFIX,),
    ignore: Sequence[str] = (),
    report_dir: str | Path | None = None,
    stall_after: float = 10.0,
) -> Iterator[Check]:
    """Watch what happens in the block, on this rank.

    ``model`` and ``optimizer`` are named where they were made before the block. ``steps`` is the
    number of optimizer steps to watch; 0 watches the whole block. With ``on_finding="raise"`` the
    first error raises :class:`ContractViolation` at the place where it is seen. With
    ``report_dir`` each rank writes its report into the job's folder there, for ``fsdp2-lint report``, also
    what it does when the others have waited for it for ``stall_after`` seconds; else it is a temporary folder
    of the ranks of this machine, where there is a process group by then. All ranks have to enter and to leave
    the block: they compare notes through the job's store.
    """
    rank = adapter.own_rank()
    folder = Path(report_dir) / job_id() if report_dir is not None else agree_on_folder()
    file = RankFile(folder, rank, attempt()) if folder is not None else None
    session = Session(file, Options(steps, on_finding, tuple(select), tuple(ignore), stall_after))
    watched = Check(session)
    if model is not None:
        _adopt(session, model, optimizer, here())
    install(session)
    stalls = StallWatch(session)
    stalls.start()
    code = 1
    try:
        yield watched
        code = 0
    except Exception as error:
        if not isinstance(error, ContractViolation):
            crash.explain(session, error)
        raise
    finally:
        stalls.stop(went_on=code == 0)
        closing.finish(session, code)
        watched._findings = _together(session, rank, folder, ended_well=code == 0)
        if folder is not None and report_dir is None and code == 0:
            leave(folder)
    if on_finding == "raise":
        watched.raise_on_error()


def assert_contract(
    model: nn.Module,
    optimizer: Optimizer | None = None,
    *,
    select: Sequence[str] = (PREFIX,),
    ignore: Sequence[str] = (),
) -> None:
    """Look once at a sharded model and its optimizer, and raise :class:`ContractViolation` for the first error.

    Nothing is installed and nothing is changed. Call it on all ranks, after sharding and before
    the first forward or between two steps: the ranks compare their plans through the job's store.
    """
    session = Session(None, Options(1, "report", tuple(select), tuple(ignore)))
    when = here()
    built = _adopt(session, model, optimizer, when)
    handle = RuntimeModel(session.ledger, model)
    for sharding in session.ledger.shardings:
        unit = RuntimeUnit(session.ledger, sharding)
        session.dispatch(PoliciesTaken(when=sharding.when, policies=unit), unit.fqn)
    session.dispatch(OldWeightsMet(when=when, model=handle))
    session.dispatch(ForwardBegun(when=when, model=handle))
    session.ledger.models[0].trained = True  # whoever asserts the contract means to train
    session.dispatch(PlanSettled(when=when, model=handle))
    if built is not None:
        view = RuntimeOptimizer(session.ledger, built, tuple(session.ledger.shardings), handle.label)
        session.dispatch(OptimizerSettled(when=when, optimizer=view, model=handle))
        session.dispatch(WeightsTrained(when=when, optimizer=view, model=handle))
        session.dispatch(GradientsUsed(when=when, model=handle))
        session.dispatch(TrainingSeen(when=when, model=handle))
    facts.starting_weights(session, model, session.ledger.shardings)
    facts.plan(session, model, now=False)
    for finding in _together(session, adapter.own_rank()):
        if finding.severity.value == "error":
            raise ContractViolation(finding)


def _adopt(session: Session, model: nn.Module, optimizer: Optimizer | None, when: Moment) -> Built | None:
    """Take note of what was sharded and built before anybody looked."""
    ledger = session.ledger
    session.lacks(*adapter.lacking(model))
    ledger.adopt(model, when)
    if not ledger.shardings:
        raise ValueError(f"{label_of(model)} is not sharded with fully_shard, and neither is any part of it")
    session.file.write("sharded")
    ledger.add_model(model, label_of(model))
    if optimizer is None:
        return None
    built = Built(weakref.ref(optimizer), when, type(optimizer).__name__)
    ledger.optimizers.append(built)
    ledger.adopt_strangers(model, built)
    return built


def _together(session: Session, rank: int, folder: Path | None = None, *, ended_well: bool = True) -> list[Finding]:
    """The findings of this rank, and those of the comparison with the others, as far as they still answer."""
    # What all ranks together differ in comes first: before the first forward a rank knew of one other rank.
    found = _exchanged(session, rank) if ended_well else []
    if folder is not None:
        shown = compared(session, folder)
        found += [(other, finding) for other, finding in shown if session.selection.shows(finding)]
    return merge([*found, *((rank, finding) for finding in session.findings.values())])


def _exchanged(session: Session, rank: int) -> list[tuple[int, Finding]]:
    different = {rule.compares for rule in session.rules if rule.each_its_own}
    text = compare_all(session.facts, rank, different, functools.partial(_compared, session))
    told = map(finding_from_json, json.loads(text))
    return [(each.observed.ranks[0] if each.observed else rank, each) for each in told]


def _compared(session: Session, said: Sequence[tuple[int, Fact]]) -> str:
    """The findings that the facts of the ranks come to, as every rank will read them."""
    found, _ = disagreements(said, session.rules)
    return json.dumps([finding_as_json(finding) for _, finding in found if session.selection.shows(finding)])
