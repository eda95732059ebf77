"""Parts of a model that ran before it, and weights that were used outside its forward, once a crash has shown them."""

from __future__ import annotations

from dataclasses import dataclass

from ....vocab.answers import Answer, yes
from ....vocab.finding import Moment, Place
from ...closure import looked
from ...ledger import Sharding


@dataclass(frozen=True, slots=True)
class RuntimePart:
    """A part that has become a root of its own, so that the model which was called at ``refused`` cannot run."""

    label: str
    refused: Moment

    def ran_first(self) -> Answer[Place]:
        return yes(Place(self.refused, "its root is called here, later"))


@dataclass(frozen=True, slots=True)
class RuntimeWeight:
    """A weight that torch refused to use with a plain tensor."""

    label: str
    sharding: Sharding

    def sharded(self) -> Answer[Moment]:
        return yes(self.sharding.when)

    def gathered(self) -> Answer[object]:
        return looked("its parameters lie in shards")
