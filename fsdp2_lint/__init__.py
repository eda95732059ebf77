"""fsdp2-lint: checks PyTorch FSDP2 training code against its contract, in its source and in a running job.

Importing this package is cheap: neither the command line nor the engine is loaded.
"""

import os as _os

__version__ = "0.1.0"

# The wheel installs the repository's top-level folder `rules/` as `fsdp2_lint.rules`. In a
# checkout that is not installed, the folder is found beside this one. pyproject.toml tells
# a checkout from a damaged installation, where an unrelated `rules` might lie next door.
_here = _os.path.dirname(_os.path.abspath(__file__))
_root = _os.path.dirname(_here)
if not _os.path.isdir(_os.path.join(_here, "rules")) and _os.path.isfile(_os.path.join(_root, "pyproject.toml")):
    __path__.append(_root)
