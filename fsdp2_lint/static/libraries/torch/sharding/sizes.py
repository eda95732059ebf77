"""How many parameters a layer of torch.nn has, or elements a new tensor, at most, where the source says it."""

from __future__ import annotations

import math
from collections.abc import Callable

from .....vocab.declared import record
from ....domain.values import AbstractObject, Const, GuardedUnion, ListV, Obj, TupleV, Value
from ....interpreter.call import Call
from ....interpreter.expressions.numbers import is_multiple, said_by_all
from ...interface import Machine
from ..precision.dtypes import LayerDtype, of_layer

Number = int | tuple[int, ...]


@record
class Size:
    """How many parameters a layer has itself, or elements a parameter; None where the source does not say it.

    ``by_default``: where options of the command line say it, what their defaults make.
    """

    parameters: int | None
    by_default: int | None = None


def _volume(size: Number) -> int:
    return size if isinstance(size, int) else math.prod(size)


def _convolution(axes: int) -> Callable[[int, int, Number], int]:
    def count(given: int, made: int, kernel: Number) -> int:
        window = kernel**axes if isinstance(kernel, int) else _volume(kernel)
        return int(given * made * window + made)

    return count


def _recurrent(gates: int) -> Callable[..., int]:
    def count(given: int, hidden: int, layers: int = 1) -> int:
        both_directions = 2
        first, later = given + hidden + 2, 3 * hidden + 2  # the input of a later layer may come from both directions
        return both_directions * gates * hidden * (first + (layers - 1) * later)

    return count


def _transformer_layer(attentions: int) -> Callable[..., int]:
    def count(width: int, _heads: int, hidden: int = 2048) -> int:
        attention = 4 * width * (width + 1) + 2 * width
        return attentions * attention + 2 * width * hidden + hidden + 3 * width

    return count


def _transformer(width: int = 512, heads: int = 8, encoders: int = 6, decoders: int = 6, hidden: int = 2048) -> int:
    encoder, decoder = (_transformer_layer(attentions)(width, heads, hidden) for attentions in (1, 2))
    return encoders * encoder + decoders * decoder + 4 * width


_CONVOLUTION = ("in_channels", "out_channels", "kernel_size")
_RECURRENT = ("input_size", "hidden_size", "num_layers")
# The arguments that say how many parameters there are, and the number of them with each option that adds some.
_LAYERS: dict[str, tuple[tuple[str, ...], Callable[..., int]]] = {
    "Linear": (("in_features", "out_features"), lambda rows, columns: rows * columns + columns),
    "Bilinear": (
        ("in1_features", "in2_features", "out_features"),
        lambda first, second, made: first * second * made + made,
    ),
    "Embedding": (("num_embeddings", "embedding_dim"), lambda rows, columns: rows * columns),
    "EmbeddingBag": (("num_embeddings", "embedding_dim"), lambda rows, columns: rows * columns),
    "LayerNorm": (("normalized_shape",), lambda shape: 2 * _volume(shape)),
    "RMSNorm": (("normalized_shape",), _volume),
    "GroupNorm": (("num_groups", "num_channels"), lambda groups, channels: 2 * channels),
    **{f"BatchNorm{axes}d": (("num_features",), lambda features: 2 * features) for axes in (1, 2, 3)},
    **{f"Conv{axes}d": (_CONVOLUTION, _convolution(axes)) for axes in (1, 2, 3)},
    **{f"ConvTranspose{axes}d": (_CONVOLUTION, _convolution(axes)) for axes in (1, 2, 3)},
    "MultiheadAttention": (("embed_dim",), lambda width: 4 * width * (width + 1) + 2 * width),
    "RNN": (_RECURRENT, _recurrent(1)),
    "GRU": (_RECURRENT, _recurrent(3)),
    "LSTM": (_RECURRENT, _recurrent(4)),
    "TransformerEncoderLayer": (("d_model", "nhead", "dim_feedforward"), _transformer_layer(1)),
    "TransformerDecoderLayer": (("d_model", "nhead", "dim_feedforward"), _transformer_layer(2)),
    "Transformer": (("d_model", "nhead", "num_encoder_layers", "num_decoder_layers", "dim_feedforward"), _transformer),
}
_BY_SHAPE = (
    "torch.Tensor",
    "torch.FloatTensor",
    "torch.empty",
    "torch.ones",
    "torch.rand",
    "torch.randn",
    "torch.zeros",
)


def layer_size(machine: Machine, name: str, call: Call, *, by_default: bool = False) -> int | None:
    """Of a layer of torch.nn; None where it has parameters, and a number is not written in the source."""
    if name not in _LAYERS or call.open_why:
        return None
    names, count = _LAYERS[name]
    given = [call.arg(position, each) for position, each in enumerate(names)]
    numbers = [number(machine, value, by_default) for value in given if value is not None]
    try:
        return None if None in numbers else count(*numbers)
    except TypeError:  # one is left out that has no default, or is a tuple where torch takes a number
        return None


def note_layer(machine: Machine, made: AbstractObject, name: str, call: Call) -> None:
    """Notes of a new layer how many parameters it has, or who says it."""
    if (known := layer_size(machine, name, call)) is not None:
        made.know(Size(known))
    elif name in _LAYERS and not call.open_why:
        given = [call.arg(position, each) for position, each in enumerate(_LAYERS[name][0])]
        made.sized_by = said_by_all(machine, (value for value in given if value is not None))
        made.know(Size(None, layer_size(machine, name, call, by_default=True)))


def note_tensor(machine: Machine, made: AbstractObject, qname: str, call: Call) -> None:
    """Notes of a tensor that torch makes anew its dtype, and how many elements it has, or who says it."""
    if qname in _BY_SHAPE:
        made.know(LayerDtype(of_layer(call)))
    shape = call.args[:1] if qname == "torch.full" else call.args if qname in _BY_SHAPE else []
    numbers = [number(machine, value) for value in shape]
    known = [_volume(each) for each in numbers if each is not None]
    if known and len(known) == len(numbers):
        made.tensor_size = math.prod(known)
    elif shape:
        made.said_by = said_by_all(machine, shape)
    elif qname == "torch.tensor" and call.args:
        _note_written(machine, made, call.args[0])


def _note_written(machine: Machine, made: AbstractObject, value: Value) -> None:
    """Of a tensor of numbers that the source lists."""
    held = machine.listing(value)
    parts = [value] if isinstance(value, Const) else [part for _, part in held.items]
    if all(isinstance(part, Const) for part in parts) and (isinstance(value, Const) or held.exact):
        made.tensor_size = len(parts)


def _by_default(machine: Machine, option: Obj) -> Number | None:
    """The default of an option of the command line, or what it is multiplied with or added to makes of it."""
    if (default := machine.libraries.default_of(option)) is not None:
        return number(machine, default)
    _, operator, other = option.item if is_multiple(option.item) else ("", "", None)
    if option.parent is None or operator not in ("*", "+"):
        return None
    left, right = number(machine, option.parent, by_default=True), number(machine, other) if other else None
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    return left * right if operator == "*" else left + right


def number(machine: Machine, value: Value, by_default: bool = False) -> Number | None:
    """The largest of the numbers that a value may be, or the numbers of a shape; None where one is not known.

    ``by_default``: an option of the command line has its default.
    """
    if by_default and isinstance(value, Obj):
        return _by_default(machine, value)
    if isinstance(value, GuardedUnion):
        leaves = [number(machine, leaf, by_default) for _, leaf in machine.alternatives(value)]
        known = [leaf for leaf in leaves if leaf is not None]
        return max(known, key=_volume) if known and len(known) == len(leaves) else None
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int) else None
    if not isinstance(value, (TupleV, ListV)):
        return None
    held = machine.listing(value)
    parts = [number(machine, item, by_default) for _, item in held.items]
    whole = held.exact and not held.open_why and all(isinstance(part, int) for part in parts)
    return tuple(part for part in parts if isinstance(part, int)) if whole else None
