"""What the server of :mod:`.ranks` imports last: what a rank needs of this package."""

from __future__ import annotations

import gc

from ...catalogue import registry
from .. import checked  # noqa: F401
from . import script  # noqa: F401

registry.rules()
# A rank that collects its garbage looks at no object from before the fork, and so copies no page of theirs.
gc.collect()
gc.freeze()
