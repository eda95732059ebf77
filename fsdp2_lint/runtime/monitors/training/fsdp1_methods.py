"""Sharded modules that are asked for ``no_sync``, which FSDP1 and DDP have."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.fsdp import FSDPModule

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.training import NoSyncAsked
from ....vocab.finding import Place
from ....vocab.rule import ModelKey
from ...closure import looked
from ...ledger import Ledger
from ...notes import Asked
from ...session import Session
from ...sites import here, reads_attribute, users_own
from ..shared.models import RuntimeModel


@dataclass(frozen=True, slots=True)
class RuntimeAsked:
    ledger: Ledger
    asked: Asked
    module: nn.Module

    @property
    def label(self) -> str:
        return self._model.label

    @property
    def model_key(self) -> ModelKey:
        return self._model.model_key

    @property
    def _model(self) -> RuntimeModel:
        return RuntimeModel(self.ledger, self.module)

    def lacks_it(self) -> Answer[Place]:
        sharded = self._model.sharded()
        if not sharded:
            return looked("it is sharded by nobody")
        return yes(Place(sharded.what, f"{self.label} is sharded by FSDP2 here"))

    def goes_on(self) -> Answer[Place]:
        if self.asked.insists:
            return looked("the program does not ask whether there is one")
        if any(each.gradients.switched for each in self.ledger.inside(self.module)):
            return unknown(f"set_requires_gradient_sync is called on {self.label}")
        return yes(Place(self.asked.when, "the program asks whether there is one"))


NAME = "no_sync"


def install(session: Session) -> None:
    if not hasattr(FSDPModule, NAME):  # else a later torch has it
        session.hot.replace(FSDPModule, NAME, _Lookup(session))


class _Lookup:
    """Stands where the method would be, and finds what is found without it: most often nothing."""

    def __init__(self, session: Session) -> None:
        self.note = session.quietly(lambda module: _asked(session, module))

    def __get__(self, module: nn.Module | None, owner: type) -> Any:
        try:
            return getattr(super(FSDPModule, owner if module is None else module), NAME)
        except AttributeError:
            if module is not None:
                self.note(module)  # type: ignore[no-untyped-call]
            raise


def _asked(session: Session, module: nn.Module) -> None:
    frame = users_own(sys._getframe())
    if frame is None or session.ledger.of_module(module) is None:
        return
    asked = Asked(weakref.ref(module), here(), reads_attribute(frame))
    if asked.insists:
        session.dispatch(NoSyncAsked(when=asked.when, model=RuntimeAsked(session.ledger, asked, module)))
    else:
        session.ledger.asked.append(asked)


def settle(session: Session) -> None:
    """A step is made: who only asked has gone on without, unless something else switched the synchronisation."""
    for asked in session.ledger.asked:
        if (module := asked.module()) is not None:
            session.dispatch(NoSyncAsked(when=asked.when, model=RuntimeAsked(session.ledger, asked, module)))
    session.ledger.asked.clear()
