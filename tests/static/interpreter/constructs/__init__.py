"""Pairs of programs for ``test_interpreter``, each a faulty one and its correct twin in one text."""

from .classes import PAIRS as CLASSES
from .containers import PAIRS as CONTAINERS
from .control_flow import PAIRS as CONTROL_FLOW
from .helpers import PAIRS as HELPERS
from .imports import PAIRS as IMPORTS

PAIRS = "".join([HELPERS, CLASSES, CONTROL_FLOW, IMPORTS, CONTAINERS])
