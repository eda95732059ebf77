"""Models that were made on the meta device, and initialisers that do not exist."""

from __future__ import annotations

import inspect
import os
import weakref
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from ....vocab.answers import Answer, Many, many, yes
from ....vocab.events.initialisation import MetaModelCalled
from ....vocab.finding import Moment, Place, Site
from ....vocab.rule import ModelKey
from ... import adapter
from ...closure import looked
from ...ledger import Ledger, label_of
from ...session import Session
from ...sites import here, made_by_user

# -- models that were made on the meta device and have no memory when they run, which torch refuses
CODE = "FSDP202"


def install(session: Session) -> None:
    if not session.judges(CODE):
        return
    watch = _Watch(session)
    session.hot.keep(register_module_parameter_registration_hook(session.quietly(watch.registered)))
    session.watch_fsdp2("first_forward", before=watch.begin)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.made: weakref.WeakKeyDictionary[nn.Module, Moment] = weakref.WeakKeyDictionary()

    def registered(self, module: nn.Module, name: str, parameter: Any) -> None:
        if parameter is not None and parameter.is_meta and module not in self.made:
            self.made[module] = made_by_user(nn.Module)

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A sharded model runs for the first time. torch refuses that where parameters are left on meta."""
        if adapter.is_root(args[0]) is not None:
            return
        root = adapter.modules_of(args[0])[0]
        left = [part for part in root.modules() if any(each.is_meta for each in part.parameters(recurse=False))]
        made = next((self.made[part] for part in left if part in self.made), None)
        model = RuntimeMetaModel(self.session.ledger, root, made)
        if made is not None or not left:
            self.session.dispatch(MetaModelCalled(when=here(), model=model))


@dataclass(frozen=True, slots=True)
class RuntimeMetaModel:
    """``made``: where the parts of it were made that have no memory; None: there are none."""

    ledger: Ledger
    module: nn.Module
    made: Moment | None

    @property
    def label(self) -> str:
        return label_of(self.module)

    @property
    def model_key(self) -> ModelKey:
        return self.ledger.key_of(self.module, self.label, self.ledger.inside(self.module)[0].when)

    def left_on_meta(self) -> Answer[Place]:
        if self.made is None:
            return looked("every parameter had memory when the model ran")
        return yes(Place(self.made))

    def sharded_at(self) -> Many[Place]:
        first = self.ledger.inside(self.module)[0].when
        return many([Place(first, "sharded here, still without memory")], looked("all calls of fully_shard were seen"))

    def written_in_other_runs(self) -> Many[Place]:
        return many([], looked("this is one run"))


# -- modules whose ``reset_parameters`` is called and whose class has none, as the error of that call says
NAME = "reset_parameters"


@dataclass(frozen=True, slots=True)
class RuntimeInitialised:
    """``called``: where the call failed."""

    module: nn.Module
    called: Moment
    model_key: ModelKey

    @property
    def label(self) -> str:
        return label_of(self.module)

    def without_reset_parameters(self) -> Answer[Place]:
        cls = adapter.original_class(self.module)
        try:
            file, row = inspect.getsourcefile(cls), inspect.getsourcelines(cls)[1]
        except (OSError, TypeError):  # of a class that was made at run time
            file, row = None, 0
        at = self.called if file is None else Moment(Site(os.path.abspath(file), row))
        return yes(Place(at, f"{self.label} and its bases do not define it"))
