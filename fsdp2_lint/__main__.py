"""``python -m fsdp2_lint`` and the console script."""

from __future__ import annotations

import sys


def main() -> int:
    from fsdp2_lint.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
