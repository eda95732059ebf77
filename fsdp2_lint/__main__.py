"""``python -m fsdp2_lint`` and the console script."""

# Nothing is imported before the working folder has left Python's path: what is checked there may be called click.py.
# (A future import is an import, too. Files called fsdp2_lint.py are beyond reach here: Python -P looks for none.)
import sys

if __name__ == "__main__" and __spec__ and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    sys.path[0] = sys.executable.rpartition("/")[0] or sys.path[-1]  # as the console script has it


def main() -> int:
    import gc

    try:
        from fsdp2_lint.cli import invoke

        code = invoke(sys.argv[1:])
    except KeyboardInterrupt:
        # Python ends by SIGINT now, and what it prints before is not for users. After a mere code, the loop of a shell
        # around this command would go on.
        sys.excepthook = lambda *told: None
        raise
    if "torch" not in sys.modules:  # else a job ran here, and its objects are to end as they do without us
        gc.freeze()  # the process ends: nothing of what it made needs to be looked through once more
    return code


if __name__ == "__main__":
    sys.exit(main())
