"""Modules whose ``reset_parameters`` is called and whose class has none, as the error of that call says."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass

from torch import nn

from ....vocab.answers import Answer, yes
from ....vocab.finding import Moment, Place, Site
from ....vocab.rule import ModelKey
from ... import adapter
from ...ledger import label_of

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
