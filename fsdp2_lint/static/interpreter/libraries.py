"""What the interpreter asks of the models of libraries, and what it tells them.

The interpreter knows Python, and nothing of any package. Whatever belongs to another one goes through here: calls of
its functions, attributes and items of its objects, and what the program does to values that mean something to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Protocol

from astroid import nodes

from ...vocab.finding import Moment
from ..domain.formulas import Formula
from ..domain.path_conditions import TRUE, PathCondition
from ..domain.store import Items
from ..domain.values import ClassV, Ext, Func, ListV, Obj, ParamV, StateDict, Value
from ..frontend.module import Module
from .call import Call


class GradMode(Enum):
    """What a context says of the graph that a backward goes through."""

    INFERENCE = "inference_mode"
    OFF = "no_grad"
    ON = "enable_grad"


class Libraries(Protocol):
    any_sharded: bool  # is anything sharded by now?
    optimizers: set[Obj]
    inside: list[Obj]  # modules whose forward runs, the innermost last
    grad_modes: list[tuple[GradMode, Moment]]  # of the contexts that are open, and where each was entered
    asked_of_dtensors: list[Value]  # tensors of which something was called that plain ones lack
    answers: dict[Obj, int | None]  # what unseen methods returned: a number where that happened once

    def attached(self, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
        """An attribute is set: modules adopt their parts, and late parts are recorded."""

    def parameter_marked(self, leaf: Value, name: str, node: nodes.NodeNG) -> None:
        """An attribute is set on a parameter."""

    def parameter_asked(self, leaf: Value, name: str, node: nodes.NodeNG) -> None:
        """An attribute of a parameter is read."""

    def own_tensor(self, owner: Obj, name: str) -> bool:
        """Is this a parameter that a layer has anyway? Which tensor it is makes no difference to anybody."""

    def in_sharded(self, obj: Obj) -> bool:
        """Is something of the same outermost object sharded by now?"""

    def is_loader(self, obj: Obj) -> bool:
        """Does it make batches of a data set, or is it one of these, or a part of one?"""

    def decorated(self, by: Ext, func: Func) -> Value | None:
        """What a decorator of another package makes of a function; None where nothing is known of it."""

    def taken_out(self, part: Value, indices: list[Value], node: nodes.NodeNG) -> None:
        """A part of something is taken out by these indices."""

    def constructed(self, obj: Obj, cls: ClassV, call: Call) -> None:
        """An object of a class of the project was initialised."""

    def annotated_external(self, obj: Obj, module: Module, annotation: nodes.NodeNG) -> None:
        """A parameter that is annotated as an optimizer was built by a caller that is not seen."""

    def updates_itself(self, obj: Obj) -> bool:
        """Is it an optimizer of the project, and not a wrapper of one? Its step sets values, and exchanges nothing."""

    def given(self, func: Func, bound: dict[str, Value]) -> None:
        """A function takes a model and a finished optimizer: that holds what the model has by then."""

    def of_every_module(self, name: str) -> bool:
        """Is it an attribute or a method that every ``nn.Module`` has by itself?"""

    def never_none(self, obj: Obj) -> bool:
        """Is it something that cannot be None?"""

    def type_is_named(self, obj: Obj, name: object) -> Formula | None:
        """What ``type(obj).__name__ == name`` asks; None where that is nothing special."""

    def multiplied(self, leaf: ParamV, by: Value, node: nodes.NodeNG) -> None:
        """``parameter *= number``, or ``/=``."""

    def overwritten(self, leaf: ParamV, node: nodes.NodeNG, name: str = "") -> None:
        """Another tensor takes the place of a parameter (of its ``data``), or of a part of it."""

    def known_in_handler(self, handler: nodes.ExceptHandler, asked: list[Value]) -> Formula:
        """What holds in a handler of exceptions that something asked of these values has raised."""

    def augmented(self, node: nodes.AugAssign) -> None:
        """``target op= value`` was followed."""

    def frozen(self, leaf: ParamV, switch: Value, node: nodes.NodeNG) -> None:
        """``parameter.requires_grad = switch``."""

    def harmless(self, qname: str) -> bool:
        """Is it known to leave models, optimizers and the device alone?"""

    def havoc(self, who: str, call: Call, receiver: Value | None = None, names: frozenset[str] | None = None) -> None:
        """Something ran that was not understood: it may have changed what it was given."""

    def overlooked(self, who: str, node: nodes.NodeNG) -> None:
        """Code that was not followed, where it stands for some ranks only: it may do what the others do there."""

    def keep(self, who: str, value: Value, node: nodes.NodeNG) -> None:
        """Code that is not seen keeps a value: it may change it now, and whenever such code runs again."""

    def not_followed(self, who: str, call: Call) -> None:
        """A call was not understood: it is told where the program is not seen whole."""

    def escape(
        self, call: Call, who: str, receiver: Value | None = None, names: frozenset[str] | None = None
    ) -> tuple[Obj, ...]:
        """It may have changed what it was given, which is returned."""

    def changeable(self, values: Iterable[Value], names: frozenset[str] | None = None) -> Iterator[Obj]:
        """What code that was handed these values could change."""

    def matters_whole(self, obj: Obj) -> bool:
        """Is it an optimizer, or a module as a whole rather than a number or a tensor of it?"""

    def harmless_object(self, obj: Obj) -> bool:
        """Is nothing behind it but code of the project and of packages that leave models alone?"""

    def object_attr(self, obj: Obj, name: str, node: nodes.NodeNG) -> Value:
        """An attribute that the program did not set."""

    def value_attr(self, leaf: Value, name: str) -> Value:
        """An attribute of a value that is no object, such as a state dict or a tensor."""

    def unwrapped(self, value: Value) -> Value:
        """What is behind a wrapper that hands on what it iterates over."""

    def object_listing(self, obj: Obj) -> Items:
        """What iterating over an object visits."""

    def item_of(self, obj: Obj, key: Value, node: nodes.NodeNG) -> Value:
        """``obj[key]``."""

    def entry_by_name(self, obj: Obj, name: str) -> Value | None:
        """What a container of modules holds under a name."""

    def stored_item(self, obj: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:
        """``obj[key] = value``."""

    def part_of(self, leaf: Value, *, each: bool = False) -> Value:
        """An element of a value that is no container of ours."""

    def of_classes(self, value: Value, classes: list[Value]) -> Any:
        """What ``isinstance(value, classes)`` asks."""

    def made_by_class(self, cls: ClassV, name: str, made: Value, call: Call) -> Value:
        """What a class method of another package made: an object of the class, where the package does that."""

    def environment(self, key: Value, node: nodes.NodeNG | None = None) -> Value:
        """``os.environ[key]``."""

    def external_is_module(self, qname: str) -> bool | None:
        """Is this class an ``nn.Module``? None where that is not known."""

    def known_whole(self, qname: str) -> bool:
        """Are all attributes of this class known?"""

    def entered(self, obj: Obj, name: str, call: Call) -> bool:
        """A method of an object is called by name, past ``__call__`` and its hooks: True if it has own ones."""

    def met(self, node: nodes.NodeNG, op: str, left: Value, right: Value) -> None:
        """Two values meet in an operator; one of an object that is not known is a call of it."""

    def operated(self, node: nodes.NodeNG, op: str, left: Value, right: Value) -> None:
        """An operator is called on two values, of which one may be anything."""

    def is_foreign(self, value: Value) -> bool:
        """May its methods be code that is not seen?"""

    def behind_hooks(self, obj: Obj, run: Callable[[], Value]) -> Value:
        """A forward, or what is registered as one, runs while its own parameters are gathered."""

    def enter_manager(self, value: Value, node: nodes.NodeNG) -> Value:
        """``with value``: what ``as`` binds."""

    def leave_manager(self, value: Value, node: nodes.NodeNG) -> None:
        """The end of a ``with``."""

    def consumes(self, leaf: Value, node: nodes.NodeNG, path: PathCondition = TRUE) -> None:
        """A loop goes through a generator, a loader or a stream."""

    def goes_through(self, found: list[tuple[PathCondition, Value]], node: nodes.NodeNG) -> None:
        """Some elements may be there on some ranks only, with nothing in their place on the others."""

    def loop_begins(self, node: nodes.NodeNG) -> None:
        """A loop is about to run: what its earlier rounds may have left is there from here on."""

    def left(self, node: nodes.NodeNG) -> None:
        """A loop is left before its end."""

    def loop_ended(self, node: nodes.NodeNG) -> None:
        """All rounds of a loop are over."""

    def tested(self, value: Value, node: nodes.NodeNG) -> None:
        """A value is used as a condition."""

    def tensor_arithmetic(self, op: str, left: Value, right: Value) -> Value:
        """What an operator makes of two values of which one is a tensor."""

    def generator_made(self, made: ListV, node: nodes.NodeNG) -> None:
        """A generator expression was made; it is read when it is consumed."""

    def discarded(self, node: nodes.Expr, value: Value) -> None:
        """A bare statement throws a value away."""

    def call_external(self, qname: str, call: Call) -> Value:
        """A call of a function or class of another package."""

    def call_object(self, obj: Obj, call: Call) -> Value:
        """``obj(...)``: a module's call runs its hooks, then ``forward``."""

    def call_unresolved_method(self, obj: Obj, name: str, call: Call) -> Value:
        """``obj.name(...)`` where the program defines no such method."""

    def default_of(self, obj: Obj) -> Value | None:
        """The default of a command-line option."""

    def ended(self) -> None:
        """The program was followed to its end: what waits for something that did not come is run now."""

    def has_one_command_line(self) -> bool:
        """Are all ranks started with the same words, by a launcher that tells each its place in another way?"""

    def is_option(self, obj: Obj) -> bool:
        """Is it an option of a command line?"""

    def options_of(self, value: Value) -> dict[str, Value] | None:
        """What ``**vars(args)`` hands over; None for anything but all options of a parser."""

    def call_base_method(self, obj: Obj, name: str, call: Call) -> Value:
        """``super().name(...)`` where the base class is not project code."""

    def call_value_method(self, leaf: Value, name: str, call: Call) -> Value:
        """``leaf.name(...)`` of a value that is no object."""

    def only_for_older(self, node: nodes.Try) -> bool:
        """Would the handlers run with an older version of a library only?"""

    # -- state dicts: their tensors are not items that the program put in ------------------------------------------

    def state_keys(self, state: StateDict) -> Value:
        """What stands for each key."""

    def state_tensors(self, state: StateDict) -> Value | None:
        """The tensors that were put in the place of its own; None where it holds what it was read with."""

    def state_item(self, state: StateDict, key: Value) -> Value:
        """``state[key]``."""

    def state_put(self, state: StateDict, key: Value, value: Value, path: PathCondition) -> None:
        """``state[key] = value``."""

    def state_deleted(self, state: StateDict, key: Value) -> None:
        """``del state[key]``."""

    def state_left_open(self, state: StateDict) -> None:
        """Code that was not followed may have put anything in the place of its tensors."""
