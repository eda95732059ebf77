"""One process of a rehearsal: the script runs as one rank of a job whose other ranks are not there."""

from __future__ import annotations

import os
import traceback
import weakref
from typing import Any

from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..report.folders import LAUNCH, inherit
from ..runtime import adapter
from ..runtime.launch.program import NoSuchModule, Program
from ..runtime.launch.watch import Plan, Watch
from ..runtime.session import Options
from ..runtime.sites import here, is_of_the_user, is_users
from .ending import Ending, Over
from .part import Part
from .plan.codec import as_json
from .plan.memory import Memory
from .plan.reading import plan_of
from .plan.saving import checkpoint_of
from .world import CannotRehearse, Limit, Save
from .world.entering import World, enter


def play(part: Part) -> None:
    """Run the script as one rank. All that is to be known of it is in the report, also how it ended."""
    world = enter(part.place, part.asked.depth, part.sent)
    adapter.rehearse(part.token)
    os.environ[LAUNCH] = part.token  # one job, although its ranks never meet, and some may never join a group
    inherit()
    program = Program(part.script.name, part.script.arguments, part.script.kind)
    rank = _Rank(part, program, world)
    program.prepare()
    rank.begin()
    try:
        program.execute()
    except Over:
        rank.cut_off()
    except SystemExit as leave:
        rank.left(leave)
    except (CannotRehearse, NoSuchModule) as refusal:
        rank.stopped(str(refusal), refusal)
    except BaseException as error:
        rank.crashed(error)
    rank.end()
    world.tidy()


class _Rank:
    """The watch over one rank, which ends when the depth is reached."""

    def __init__(self, part: Part, program: Program, world: World) -> None:
        asked, place = part.asked, part.place
        options = Options(
            asked.steps, "report", asked.select, asked.ignore, stall_after=0, analysis="P", target=asked.target
        )
        about = {"rehearsed": list(part.ranks), "depth": asked.depth, "per_node": place.local_world_size}
        self._watch = Watch(Plan(program, options, part.folder, live=False, about=about))
        self._session = self._watch.session
        self._world = world
        self._ending = Ending(self._session, asked)
        self._told: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        # The first rank holds as much as any other.
        watched = asked.depth != "plan" and place.rank == part.ranks[0]
        self._memory = Memory(self._session.is_looking) if watched else None
        self._over = False
        self._code = 0  # 1: it stopped on its way, and what it did not come to tells nothing

    def begin(self) -> None:
        self._watch.begin()
        self._session.closed = self._closed
        self._world.tell_saves(self._saves)
        self._session.watch_fsdp2("first_forward", after=self._laid_out)
        self._session.hot.keep(register_optimizer_step_post_hook(self._stepped))
        self._session.watch((os, "_exit"), rare=True, before=self._leaves)
        self._ending.install()

    def _laid_out(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A model comes to its first forward: which groups there are is settled."""
        if not adapter.is_root(args[0]):
            return
        self._tell_plans()
        if self._memory is not None:
            for model in self._session.ledger.whole_models():
                self._memory.begin(model)

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._memory is not None:
            self._memory.end_of_step(self._session.step)

    def _tell_plans(self) -> None:
        """Of each model once, while it is there: functions of the script return, and their models go.

        Where ``fully_shard`` itself failed, there is a model without a group.
        """
        for model in self._session.ledger.whole_models():
            plan = plan_of(model, self._session.ledger) if model not in self._told else None
            if plan is not None and plan.groups:
                self._told.add(model)
                self._session.file.write("plan", plan=as_json(plan))

    def _saves(self, save: Save) -> None:
        shards = {
            adapter.identity_of_memory(param.sharded)
            for sharding in self._session.ledger.shardings
            for param in sharding.params()
        }
        self._session.file.write("checkpoint", checkpoint=as_json(checkpoint_of(save, shards)))

    def _closed(self) -> None:
        """What was asked for has been seen."""
        self._tell_plans()
        if not self._over:
            self._over = self._session.cut_off = True
            self._limit(Limit(self._ending.words))
            raise Over

    def cut_off(self) -> None:
        """As much was seen as was asked for, and the script has more."""
        self._session.cut_off = True

    def left(self, leave: SystemExit) -> None:
        """The script ends itself: well, or because it misses something."""
        if leave.code in (None, 0):
            return
        said = leave.code if isinstance(leave.code, str) else f"the script ended itself with exit code {leave.code}"
        self.stopped(said, leave)

    def _leaves(self, args: tuple[int, ...], kwargs: dict[str, int]) -> None:
        """The script ends its process at once."""
        code, at = int([*args, *kwargs.values(), 0][0]), here().at
        if code:
            why = f"the script ended itself with exit code {code}"
            self._session.file.write("stopped", why=why, path=at.path, row=at.row)

    def crashed(self, error: BaseException) -> None:
        """What a rule explains is a finding; whatever it is, the rehearsal goes no further."""
        explained = self._watch.crashed(error)
        if self._ending.reached and not explained:
            return  # all that was asked for was seen: what follows may need what the loop did not come to
        self.stopped(f"{type(error).__name__}: {error}", error)

    def stopped(self, why: str, error: BaseException) -> None:
        self._code = 1
        if (cause := error.__cause__) is not None and str(cause) not in why:
            why = f"{why.partition(chr(10))[0]} (from {type(cause).__name__}: {cause})"
        self._session.file.write("stopped", why=why.partition("\n")[0][:500], **_where(error))

    def end(self) -> None:
        self._over = True
        for limit in self._world.limits:
            self._limit(limit)
        self._session.file.write("axes", ranks=list(self._world.groups.along_axes))
        if self._memory is not None and self._told:
            self._memory.end()
            self._session.file.write("memory", memory=as_json(self._memory.profile()))
        self._watch.end(self._code)

    def _limit(self, limit: Limit) -> None:
        site = {"path": limit.site.path, "row": limit.site.row} if limit.site is not None else {}
        self._session.file.write("limit", text=limit.text, **site)


def _where(error: BaseException) -> dict[str, object]:
    """The innermost line that is the user's, or else that of a library."""
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    for wanted in (is_of_the_user, is_users):
        if own := next((frame for frame in frames if wanted(frame.filename)), None):
            return {"path": own.filename, "row": own.lineno or 1}
    return {}
