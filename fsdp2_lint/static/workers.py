"""Follows programs: here, or several at once in processes that begin with all that was read so far.

Which program comes next may depend on what the one before came to. So the course is walked ahead, as if those that are
not followed yet came to nothing; whatever was followed for nothing is not asked for.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from ..errors import in_words
from ..vocab.rule import Rule
from .cache.programs import Programs, Sighting
from .course import Course
from .entries import Entry, Where
from .following import Followed, Limits, follow, forget_last
from .frontend.project import Project
from .garbage import Garbage

Task = tuple[Entry, Limits]
AHEAD = 3  # tasks for each process at a time: enough that none waits long for the last one
BREAK_EVEN = 200_000  # bytes of code that can reach a sharding call: less is followed before processes have begun
_tasks: list[Callable[[], Sighting]] = []  # what the processes that begin now find in their memory


class Workers:
    """``notes`` are what went wrong with processes; no finding is lost with them."""

    def __init__(
        self,
        project: Project,
        rules: Sequence[Rule],
        kept: Programs,
        jobs: int,
        *,
        keep_traces: bool,
        progress: Callable[[str], None] | None,
    ) -> None:
        self._project, self._rules, self._kept, self._jobs = project, rules, kept, jobs
        self._keep_traces, self._progress = keep_traces, progress
        self._known: dict[Entry, Followed] = {}  # what nobody asked for yet
        self._came_to: dict[Entry, set[Where]] = {}
        self._not_kept: set[Entry] = set()
        self._garbage = Garbage()
        self._worthwhile: bool | None = None  # None: nobody asked yet
        self.notes: list[str] = []

    def follow(self, entry: Entry, limits: Limits, course: Callable[[], Course]) -> Followed:
        """What is seen of a program. ``course`` gives the course from its beginning, to find what is asked for next.

        The first one is followed here: most of what it reads the others read too, and processes begin with that.
        """
        if not self._knows(entry, limits) and self._jobs > 1 and self._came_to:
            self._follow_ahead(course())
        if entry not in self._known:
            self._see_here(entry, limits)
        return self._known.pop(entry)

    def outdated(self, course: Course, path: str) -> list[Task]:
        """What has to be followed again of the programs that came to a file, the shortest first.

        What a program comes to, and how long it is, an earlier run saw.
        """
        found: list[tuple[int, Task]] = []
        for entry, limits in course.steps():
            if self._knows(entry, limits):
                course.reached |= self._came_to[entry]
            elif (before := self._kept.before(entry, limits)) is not None:
                course.reached |= before.reached
                if any(where[0] == path for where in before.reached):
                    found.append((before.steps, (entry, limits)))
        return [task for _, task in sorted(found, key=lambda each: each[0])]

    def see(self, entry: Entry, limits: Limits) -> Followed:
        """What is seen of a program, of which ``follow`` will be asked too."""
        self._project.look()
        if entry not in self._known:
            self._see_here(entry, limits)
        return self._known[entry]

    def _knows(self, entry: Entry, limits: Limits) -> bool:
        """Was it seen before, now or by an earlier run?"""
        if entry not in self._came_to and entry not in self._not_kept:
            if (found := self._kept.look(entry, limits)) is not None:
                self._learn(entry, found)
            else:
                self._not_kept.add(entry)
        return entry in self._came_to

    def _learn(self, entry: Entry, followed: Followed) -> None:
        self._known[entry], self._came_to[entry] = followed, followed.reached

    def _see_here(self, entry: Entry, limits: Limits) -> None:
        self._tell(entry)
        sighting = self._see(entry, limits)
        self._kept.keep(entry, limits, sighting)
        self._learn(entry, sighting.followed)

    def _tell(self, entry: Entry) -> None:
        if self._progress is not None:
            self._progress(entry.name)

    def _see(self, entry: Entry, limits: Limits) -> Sighting:
        forget_last()
        self._garbage.collect()
        project, defects = self._project, len(self._project.broken)
        with project.reading() as reads:
            followed = follow(project, self._rules, entry, limits, keep_trace=self._keep_traces)
        self._garbage.made(followed.steps)
        every = reads.all()
        return Sighting(followed, every, sorted(every.files & project.unreadable.keys()), project.broken[defects:])

    def _is_worthwhile(self, course: Course) -> bool:
        if self._worthwhile is None:
            files = {each.path for each in course.plan.reaching}
            self._worthwhile = sum(len(self._project.data(path)) for path in files) >= BREAK_EVEN
        return self._worthwhile

    def _follow_ahead(self, course: Course) -> None:
        if not self._is_worthwhile(course):
            return
        tasks = [*islice(self._next(course), self._jobs * AHEAD)]
        for (entry, limits), sighting in zip(tasks, self._at_once(tasks) if len(tasks) > 1 else ()):
            self._project.take_over(sighting.reads, sighting.unreadable, sighting.defects)
            self._kept.keep(entry, limits, sighting)
            self._learn(entry, sighting.followed)

    def _next(self, course: Course) -> Iterator[Task]:
        """What has to be followed next, as far as that can be told now."""
        for entry, limits in course.steps():
            if self._knows(entry, limits):
                course.reached |= self._came_to[entry]
            else:
                yield entry, limits

    def _at_once(self, tasks: Sequence[Task]) -> list[Sighting]:
        """In the order of the tasks, up to the first that a killed process took with it: those are followed here."""
        # Here, since most checks need no further process and these modules take as long to import as a small program.
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        _tasks[:] = [partial(self._see, *task) for task in tasks]
        found: list[Sighting] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: our other thread only waits
            pool = ProcessPoolExecutor(min(self._jobs, len(tasks)), get_context("fork"), _begin)
            try:
                for (entry, _), future in zip(tasks, [pool.submit(_work, at) for at in range(len(tasks))]):
                    self._tell(entry)
                    found.append(future.result())
            except (BrokenProcessPool, OSError) as error:
                self._jobs = 1
                self.notes.append(f"a process that followed programs ended before it was done ({in_words(error)})")
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                _tasks.clear()  # they hold all of the project
        return found


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started us ends us


def _work(at: int) -> Sighting:
    return _tasks[at]()
