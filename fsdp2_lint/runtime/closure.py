"""The one place of the runtime monitor that closes the world.

A job is one run, and its hooks and live objects show all of it on this rank: what they were looked at for and did not
show was not there. Each closure says what was looked at. What a missing hook could have seen is unknown, and the
session says so when it starts.
"""

from __future__ import annotations

from ..vocab.answers import Answer, Closed, No, S, no, yes


def looked(fact: str) -> No:
    """No: ``fact`` says what was seen on this rank instead."""
    return no(Closed(fact=fact))


def shown(evidence: S | None, fact: str) -> Answer[S]:
    """Yes where there is evidence; else no, since ``fact`` was looked at."""
    return looked(fact) if evidence is None else yes(evidence)
