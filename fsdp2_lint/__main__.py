"""``python -m fsdp2_lint`` and the console script."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    from fsdp2_lint.cli import invoke

    code = invoke(sys.argv[1:])
    gc.freeze()  # the process ends: nothing of what it made needs to be looked through once more
    return code


if __name__ == "__main__":
    sys.exit(main())
