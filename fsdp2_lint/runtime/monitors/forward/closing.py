"""The end of watching: what can only be judged once the steps are over."""

from __future__ import annotations

import time

from ....vocab.events.launch import ProgramEnded
from ....vocab.events.sharding import PlanSettled
from ....vocab.events.training import TrainingSeen
from ... import adapter, replicas
from ...ledger import Trained
from ...session import ContractViolation, Session
from ..launch.process import RuntimeProcess
from ..precision import policies
from ..sharding import replacement
from ..shared.models import RuntimeModel


def due(session: Session) -> bool:
    """Have as many steps been made as are to be watched?"""
    return 0 < session.options.steps <= session.step


def settle(session: Session, model: Trained) -> None:
    """No further ``fully_shard`` is expected on a model that trains."""
    if not model.settled:
        model.settled = True
        _judge_plan(session, model)


def _judge_plan(session: Session, model: Trained) -> None:
    top = model.module()
    if top is None:
        return
    shardings = session.ledger.inside(top)
    modules = {id(top): top}
    for sharding in shardings:  # roots that lie inside something that is not sharded itself
        for module in sharding.live_modules():
            if module not in session.ledger.below and len(sharding.live_modules()) == 1:
                modules.setdefault(id(module), module)
    for module in modules.values():
        handle = RuntimeModel(session.ledger, module)
        last = session.ledger.inside(module)[-1]
        session.dispatch(PlanSettled(when=last.when, model=handle))
    policies.settle(session, model)
    replacement.settle(session, model)


SEEN_AFTER = 3  # steps, in a job that is watched to its end


def long_enough(session: Session, steps: int) -> bool:
    """Can be judged what training leaves behind? The end of the job is too late: functions have returned."""
    return steps >= (session.options.steps or SEEN_AFTER)


def look_at_training(session: Session, model: Trained) -> None:
    """After a step of a model that has been trained for long enough."""
    top = model.module()
    if top is not None and model.trained and not model.seen:
        model.seen = True
        when = session.ledger.inside(top)[-1].when
        session.dispatch(TrainingSeen(when=when, model=RuntimeModel(session.ledger, top)))
        policies.settle(session, model)  # what was switched, and might have been switched again
        replicas.after_training(session, model)


def close(session: Session, *, why: str) -> None:
    """Judge the models that have not made a step, and take the hooks of training off."""
    if not session.hot.live:
        return
    for model in session.ledger.models:
        if model.settled and why == "steps":  # what was attached or unfrozen since its first step
            _judge_plan(session, model)
        settle(session, model)
    session.finished(why=why)


def end(session: Session) -> None:
    """The job is over."""
    close(session, why="end")
    for judge in session.at_end:
        judge()
    if shardings := session.ledger.shardings:
        session.dispatch(ProgramEnded(when=shardings[0].when, process=RuntimeProcess(session.cuda)))


def write_end(session: Session, code: int) -> None:
    """The last words."""
    session.tell_files()
    rank, _, token = adapter.own()
    session.file.write("end", code=code, time=time.time(), rank=rank, token=token)


def finish(session: Session, code: int) -> None:
    """Look a last time, take everything off, and write the last record. Nothing is raised any more."""
    try:
        session.quietly(end)(session)
    except ContractViolation:
        pass  # it is in the report, and there is no place left at which it could be raised
    finally:
        session.hot.remove()
        session.rare.remove()
        write_end(session, code)
        session.file.close()
        session.sequence.close()
