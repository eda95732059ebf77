"""Where values begin that each rank has for itself: clocks, draws, signals, files of a node, its part of the data."""

from __future__ import annotations

from dataclasses import replace

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain.path_conditions import TRUE
from ....domain.store import Entries, Items
from ....domain.values import NONE, AbstractObject, Bound, Const, Func, Obj, Partial, Text, Value, unknown
from ....frontend.packages import is_of_python
from ....interpreter.call import Call
from ....interpreter.expressions import own_values, owning
from ....interpreter.expressions.own_values import Own
from ...interface import Machine
from ...tables import IN_PLACE, external, method_observer
from .agreement import written
from .seeds import differs, generator_of

CLOCKS = frozenset(
    """time.time time.monotonic time.perf_counter time.process_time time.time_ns time.monotonic_ns
    time.perf_counter_ns datetime.datetime.now datetime.datetime.utcnow""".split()
)
_PROCESS = {"os.getpid": "the number of this process", "uuid.uuid4": "a name that this process makes up"}
_NODE = frozenset({"socket.gethostname", "socket.getfqdn", "platform.node", "os.uname"})
_GENERATORS = frozenset({"random.Random", "numpy.random.default_rng", "numpy.random.RandomState"})
_ASKING = frozenset({"os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists", "os.path.getmtime"})
ASKED_OF_PATHS = frozenset({"exists", "is_file", "is_dir"})
_OF_A_NODE = ("/tmp/", "/var/tmp/", "/dev/shm/")
_NEW_TENSORS = frozenset(f"torch.{name}" for name in "zeros ones empty full tensor".split())
_WHOLE = frozenset({"fill_", "zero_", "copy_"})  # nothing is left of what was there
_SAME = frozenset({"fill_", "zero_", "copy_", "add_", "sub_", "mul_", "div_"})  # of the same numbers they make the same
_NUMBERS = ("torch.", "numpy.")
_NO_VALUES = ("torch.distributed.", "torch.zeros_like", "torch.ones_like", "torch.empty_like", "torch.is_tensor")


@record
class GivenRank:
    """A call that was not followed, of a function that was given something of the rank, returned it."""


def made_by_call(machine: Machine, made: Obj, qname: str, call: Call) -> None:
    """A function of a package that was not followed returned ``made``."""
    if any(differs(machine, value) for value in call.all):
        made.atom.know(GivenRank())
    if qname in CLOCKS:
        owning.began(machine, made.atom, Own("the clock of this rank", when=machine.moment(call.node)))
    elif qname in _PROCESS:
        owning.began(machine, made.atom, Own(_PROCESS[qname], when=machine.moment(call.node)))
    elif qname in _NODE:
        doubt = "whether the ranks run on several nodes is not known"
        owning.began(machine, made.atom, Own("the name of this node", when=machine.moment(call.node), doubt=doubt))
    elif (generator := generator_of(made)) and call.kwargs.get("generator", NONE) == NONE:
        words = f"a random number of {generator}"
        owning.began(machine, made.atom, Own(words, when=machine.moment(call.node), draw=generator))
    elif qname in _GENERATORS:
        _seeded(machine, made.atom, call)
    elif qname in _ASKING:
        asked_file(machine, made, call.arg(0, "path"))
    elif not qname.startswith(_NO_VALUES):
        known = qname.startswith(_NUMBERS) or is_of_python(qname)
        doubt, of_data = "" if known else own_values.unseen(qname), qname.startswith("torch.utils.data.")
        owning.passed_on(machine, made, call.all, doubt=doubt, elements=of_data)
        if not known and not machine.libraries.harmless(qname):
            owning.kept_by_package(machine, qname, call.all)


def asked_file(machine: Machine, made: Obj, path: Value | None) -> None:
    """Is a file there? All ranks see the same on a file system that they share, which a path alone seldom tells."""
    name = path.value if isinstance(path, Const) else path.hint if isinstance(path, Text) else None
    if isinstance(path, Text) and path.per_rank:
        own = Own("whether the file of this rank exists")
    elif isinstance(name, str) and name.startswith(_OF_A_NODE):
        own = Own(f"whether {name} exists on this node")
    else:
        own = Own("whether a file exists", doubt="whether all nodes see the same files is not known")
    owning.began(machine, made.atom, own)


def _seeded(machine: Machine, generator: AbstractObject, call: Call) -> None:
    """What a generator of its own draws is the same on all ranks if they seed it with the same number."""
    generator.forget(Own)
    seeds = [leaf for value in call.all for leaf in machine.inside(value)]
    apart = [differs(machine, seed) for seed in seeds if seed != NONE]
    if not apart or True in apart:
        words = "numbers drawn with a seed of this rank" if apart else "numbers of a generator without a seed"
        owning.began(machine, generator, Own(words, when=machine.moment(call.node)))
    else:
        owning.passed_on(machine, generator.root, seeds)


@method_observer
def reseeded(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    if name == "seed" and obj.parent is None and obj.atom.origin in _GENERATORS:
        _seeded(machine, obj.atom, call)


@external("signal.signal")
def handled(machine: Machine, call: Call) -> Value:
    """A signal comes to each process at a time of its own: so does all that its handler writes."""
    handler, rest = call.arg(1, "handler"), Call(call.node, call.args[:1])
    for _, leaf in machine.alternatives(handler) if handler is not None else ():
        if isinstance(leaf, (Func, Bound, Partial)):
            _handle(machine, leaf, call.node)
    return machine.libraries.call_other(call.name, rest)


def _handle(machine: Machine, handler: Value, node: nodes.NodeNG) -> None:
    """What the handler puts into lists and dicts is there where the signal has come; each name that it sets is a flag.

    A name may be set again before the signal comes once more, so its value is not known. A handler that does more than
    to note that it was called may set anything on the way: of such only the names that stand in it count.
    """
    came = _flag(machine, "whether a signal came")
    path = TRUE.add(("truth", came)) or TRUE
    mark, born, start = machine.store.mark(), AbstractObject.made, machine.now
    machine.libraries.called_back(handler, Call(node, [unknown("the signal"), unknown("the frame")]))
    written = machine.store.undo(mark, machine.frame.id)
    held = {key: value for key, value in written.items() if isinstance(value, (Items, Entries))}
    elsewhere = TRUE.add(("truth", came), False) or TRUE
    machine.store.join([(path, held), (elsewhere, {})], lambda key: machine.derive(key, born))
    told = _set_in(handler) if machine.now > start else None
    for key in written:
        if key not in held and isinstance(key, tuple) and (told is None or key[1] in told):
            machine.store.put(key, _flag(machine, str(key[1])))


def _set_in(handler: Value) -> set[str]:
    """The names of variables and attributes that a function sets itself."""
    while isinstance(handler, (Bound, Partial)):
        handler = handler.func
    parts = handler.node.nodes_of_class((nodes.AssignName, nodes.AssignAttr)) if isinstance(handler, Func) else ()
    return {part.name if isinstance(part, nodes.AssignName) else part.attrname for part in parts}


def _flag(machine: Machine, name: str) -> Obj:
    made = unknown(name)
    owning.began(machine, made.atom, Own("a flag that a signal sets at another time on each rank", comes=True))
    return made


@method_observer
def filled(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``flag.fill_(stop)``: what a tensor holds from here on is made of what is written into it."""
    if name in IN_PLACE and obj.parent is None and obj.atom.agreed:
        _written_apart(machine, obj, call.all, same=name in _SAME)
    elif name in IN_PLACE and machine.owned:
        _written_in_place(machine, obj, call.all, whole=name in _WHOLE)


def item_filled(machine: Machine, obj: Obj, value: Value, node: nodes.NodeNG) -> None:
    """``flag[0] = stop``."""
    if obj.parent is None and obj.atom.agreed:
        _written_apart(machine, obj, [value], same=True)
    elif machine.owned and isinstance(node, nodes.Subscript):
        _written_in_place(machine, obj, [value], whole=False)


def _written_apart(machine: Machine, obj: Obj, parts: list[Value], *, same: bool) -> None:
    """All ranks had the same in a tensor; from here on only if they write the ``same`` number into it."""
    if same and all(machine.per_rank(part) is False for part in parts):
        return
    own, made = own_values.first(machine, parts), written(machine, obj, parts)
    if own is not None:
        owning.began(machine, made.atom, replace(own, via=own.via | {obj}, elements=False))


def _written_in_place(machine: Machine, obj: Obj, parts: list[Value], *, whole: bool) -> None:
    """A tensor that the program made itself holds something else now, under each of its names."""
    if not _is_new_tensor(obj):
        return
    own, before = own_values.first(machine, parts), obj.atom.state(Own)
    if own is None and not (before is not None and whole):
        return
    made = AbstractObject(obj.atom.kind, origin=obj.atom.origin, site=obj.atom.site)
    made.note_as_of(obj.atom)
    made.forget(Own)
    if own is not None:
        owning.began(machine, made, replace(own, via=own.via | {obj}, elements=False))
    machine.store.exchange(obj, made.root)


def _is_new_tensor(obj: Obj) -> bool:
    return obj.parent is None and obj.atom.kind == "unknown" and obj.atom.origin in _NEW_TENSORS


def part_of_data(machine: Machine, atom: AbstractObject, dealt: Moment) -> None:
    """A loader whose sampler, made at ``dealt``, gives each rank its own part."""
    owning.began(machine, atom, Own("the batches of this rank", when=dealt, elements=True))


def drawn_for_rank(machine: Machine, atom: AbstractObject, drawn: Moment) -> None:
    owning.began(machine, atom, Own("data drawn with a seed of this rank", when=drawn))
