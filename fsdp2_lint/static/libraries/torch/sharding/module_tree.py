"""What a module is made of: containers, children, layers of torch.nn and their sizes."""

from __future__ import annotations

from collections.abc import Sequence

from astroid import nodes

from ....budget import BUDGET
from ....domain.path_conditions import TRUE
from ....domain.store import Items
from ....domain.values import EACH, SOME, AbstractObject, ClassV, Const, DictV, Ext, ListV, Obj, Value
from ....frontend.packages import is_class
from ....interpreter.call import Call
from ...interface import Machine
from ..launch.device import placed, touch
from ..precision.dtypes import LayerDtype, of_layer
from .sizes import Size, layer_size, note_layer

LISTS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList"})
DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
CONTAINERS = LISTS | DICTS
# Modules of torch.nn that own parameters.
PARAMETRIC = frozenset(
    """Linear Bilinear LazyLinear Embedding EmbeddingBag LayerNorm RMSNorm GroupNorm BatchNorm1d BatchNorm2d
    BatchNorm3d SyncBatchNorm Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    MultiheadAttention LSTM GRU RNN Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer
    TransformerDecoderLayer PReLU""".split()
)  # fmt: skip
FREE = frozenset(
    """Dropout Dropout1d Dropout2d ReLU GELU SiLU Sigmoid Tanh Softmax LogSoftmax Identity Flatten Unflatten
    MaxPool2d AvgPool2d AdaptiveAvgPool2d CrossEntropyLoss MSELoss BCEWithLogitsLoss NLLLoss L1Loss LeakyReLU
    ELU Mish Upsample PixelShuffle Hardswish Softplus AdaptiveAvgPool1d MaxPool1d AvgPool1d ZeroPad2d
    AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool3d BCELoss CELU
    CTCLoss GaussianNLLLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss
    MultiMarginLoss PoissonNLLLoss SoftMarginLoss
    ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
    CosineEmbeddingLoss CosineSimilarity FeatureAlphaDropout Fold GLU Hardshrink Hardsigmoid Hardtanh HuberLoss
    KLDivLoss LocalResponseNorm LogSigmoid LPPool1d LPPool2d LPPool3d MaxPool3d PairwiseDistance PixelUnshuffle
    ReflectionPad1d ReflectionPad2d ReflectionPad3d ReLU6 ReplicationPad1d ReplicationPad2d ReplicationPad3d RReLU
    SELU SmoothL1Loss Softmin Softshrink Softsign Tanhshrink Threshold TripletMarginLoss Unfold
    UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad3d""".split()
)  # fmt: skip
# Modules of torch whose parts have ``reset_parameters``, and they have not.
COMPOSED = frozenset(
    """MultiheadAttention Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer
    TransformerDecoderLayer""".split()
)
# Attributes of these that are numbers, or several of them.
NUMBERS = frozenset(
    """in_features out_features in1_features in2_features num_embeddings embedding_dim padding_idx in_channels
    out_channels num_channels num_groups num_features groups embed_dim num_heads head_dim eps p""".split()
)
# Bases of other packages that people build models on: modules, with more methods than are listed here.
_MODULE_BASES = ("PreTrainedModel", ".ModelMixin", ".LightningModule")  # so these packages call them, and no others
_OF_BASES = ("transformers.", "diffusers.", "lightning.", "pytorch_lightning.")


def is_model_base(qname: str) -> bool:
    return qname.startswith(_OF_BASES) and qname.endswith(_MODULE_BASES)


_BESIDE_MODELS = ("Config", "Tokenizer", "TokenizerFast", "Processor", "ProcessorFast", "FeatureExtractor", "Scheduler")


def was_loaded_by_library(obj: Obj) -> bool:
    """Is it a model that ``from_pretrained`` or ``from_config`` of a class of Hugging Face returned?

    Its configurations, tokenizers and processors are read by ``from_pretrained`` as well.
    """
    holder, _, name = obj.atom.origin.rpartition(".")
    found = obj.parent is None and obj.atom.kind == "unknown" and holder.startswith(("transformers.", "diffusers."))
    return (
        found
        and name in ("from_pretrained", "from_config")
        and is_class(holder)
        and not holder.endswith(_BESIDE_MODELS)
    )


def external_is_module(qname: str) -> bool | None:
    """Is this class of another package an ``nn.Module``? None: cannot tell."""
    if is_model_base(qname):
        return True
    if qname in ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "typing.NamedTuple"):
        return False
    if qname.startswith("torch.nn.") and qname.rsplit(".", 1)[-1][:1].isupper():
        return not qname.startswith(("torch.nn.Parameter", "torch.nn.parameter"))
    if qname.startswith(
        (
            "torch.optim.",
            "torch.utils.data.",
            "torch.distributed.checkpoint.",
            "torch.autograd.",
            "typing.",
            "collections.",
            "builtins.",
            "abc.",
            "enum.",
            "dataclasses.",
        )
    ):
        return False
    return None


def is_layer(qname: str) -> bool:
    """Is it one of the public layers and containers of ``torch.nn``?"""
    package, _, name = qname.rpartition(".")
    return qname in CONTAINERS or package == "torch.nn" and name in PARAMETRIC | FREE | COMPOSED


def counts(classes: Sequence[object], name: object) -> bool:
    """Is it an attribute of layers of these classes that is a number, or several?"""
    layers = [isinstance(cls, Ext) and is_layer(cls.qname) for cls in classes]
    return name in NUMBERS and bool(layers) and all(layers)


def lacks_reset(qname: str) -> bool:
    """Is this a class of ``torch.nn`` without ``reset_parameters``?"""
    name = qname.rsplit(".", 1)[-1]
    return qname in CONTAINERS or qname.startswith("torch.nn.") and name in FREE | COMPOSED


def has_reset(qname: str) -> bool:
    """Is this a layer of ``torch.nn`` with ``reset_parameters``?"""
    package, _, name = qname.rpartition(".")
    return package == "torch.nn" and name in PARAMETRIC - COMPOSED


def layer_base(machine: Machine, cls: ClassV) -> str:
    """The layer of ``torch.nn`` that a class of the project is derived from; empty if it is only a module."""
    bases = [base.qname for base in machine.mro(cls) if isinstance(base, Ext) and base.qname.startswith("torch.nn.")]
    return next((name for name in bases if name not in CONTAINERS and not name.endswith(".Module")), "")


def built_as_layer(machine: Machine, obj: Obj, cls: ClassV, call: Call) -> None:
    """The arguments of a layer's own ``__init__`` say how large an object of a class derived from it is."""
    name = layer_base(machine, cls).rsplit(".", 1)[-1]
    if name in PARAMETRIC:
        obj.atom.know(Size(layer_size(machine, name, call)))


def make_external_module(machine: Machine, qname: str, call: Call) -> Obj:
    """A layer or a container of torch, with its parts as far as they are given."""
    atom = AbstractObject("external", cls=Ext(qname), origin=qname, site=machine.site(call.node))
    atom.module = True
    note_layer(machine, atom, qname.rsplit(".", 1)[-1], call)
    obj = atom.root
    if qname in LISTS:
        fill_list(machine, obj, call)
    elif qname in DICTS:
        fill_dict(machine, obj, call)
    if "device" in call.kwargs:
        touch(machine, call.node, call.kwargs["device"])
        placed(machine, obj, call.kwargs["device"], call.node)
    if "dtype" in call.kwargs or call.open_why:
        atom.know(LayerDtype(of_layer(call)))
    if qname == "torch.nn.MultiheadAttention":
        width = call.arg(0, "embed_dim")
        inner = Call(call.node, [] if width is None else [width, width], {}, open_why=call.open_why)
        _hold(machine, obj, "out_proj", make_external_module(machine, "torch.nn.Linear", inner))
    if qname in ("torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder"):
        layers = AbstractObject(
            "external", cls=Ext("torch.nn.ModuleList"), origin="torch.nn.ModuleList", site=atom.site
        )
        layers.module = True
        layer = AbstractObject("external", cls=Ext(f"{qname}Layer"), origin=f"{qname}Layer", site=atom.site, many=True)
        layer.module = True
        given = call.arg(0, "encoder_layer")
        if isinstance(given, Obj) and (size := given.atom.state(Size)) is not None:
            layer.know(size)
        fill_list(machine, layers.root, Call(call.node, [machine.new_list([layer.root], exact=False)], {}))
        _hold(machine, obj, "layers", layers.root)
    return obj


def _hold(machine: Machine, obj: Obj, name: str, part: Obj) -> None:
    machine.store.put((obj, name), part)
    machine.libraries.adopt(obj, name, part)


def fill_list(machine: Machine, obj: Obj, call: Call) -> None:
    if len(call.args) == 1 and not _is_module(machine, call.args[0]):
        held = machine.listing(call.args[0])
    else:
        held = Items(tuple((TRUE, value) for value in call.args), not call.open_why, call.open_why)
    contents = ListV(machine.fresh())
    machine.store.put(contents.id, held)
    machine.store.put((obj, "[]"), contents)
    for position, (_, item) in enumerate(held.items):
        exact = held.exact or len(held.items) > 1
        machine.libraries.adopt(obj, f"[{position}]" if exact else EACH, item)


def fill_dict(machine: Machine, obj: Obj, call: Call) -> None:
    made = machine.new_dict()
    for value in call.args:
        machine.update_dict(made, value)
    for name, value in call.kwargs.items():
        machine.set_item(made, Const(name), value, call.node)
    machine.store.put((obj, "[]"), made)
    for key, _, item in machine.entries(made).entries:
        machine.libraries.adopt(obj, f"[{key.value!r}]" if isinstance(key, Const) else EACH, item)


def _is_module(machine: Machine, value: Value) -> bool:
    return (
        isinstance(value, Obj) and bool(value.atom.module) and value.atom.cls not in [Ext(name) for name in CONTAINERS]
    )


def contents(machine: Machine, obj: Obj) -> Value | None:
    """What a ModuleList, Sequential or ModuleDict holds, as a list or dict."""
    if (found := machine.store.get((obj, "[]"))) is not None:
        machine.reads += 1
    return found if isinstance(found, (ListV, DictV)) else None


def object_listing(machine: Machine, obj: Obj) -> Items:
    if (held := contents(machine, obj)) is not None:
        return machine.listing(held)
    if obj.item == EACH and obj.atom.kind == "unknown" and obj.depth == 1 and obj.atom.origin == "range":
        return Items(((TRUE, obj),), False)
    return Items(((TRUE, obj.child(EACH)),), False)


def item_of(machine: Machine, obj: Obj, key: Value) -> Value:
    held = contents(machine, obj)
    if isinstance(held, ListV):
        return machine.list_item(machine.items(held), key)
    if isinstance(held, DictV):
        return machine.dict_item(held, key)
    if isinstance(key, Const):
        return obj.child(f"[{key.value!r}]")
    return obj.child(EACH if isinstance(key, Obj) and key.item == EACH else SOME)


def entry_by_name(machine: Machine, obj: Obj, name: str) -> Value | None:
    """``self.transformer.wte``, where ``transformer`` is a ModuleDict: its entries are attributes as well."""
    held = contents(machine, obj) if obj.atom.kind == "external" else None
    return machine.entries(held).get(Const(name)) if isinstance(held, DictV) else None


def stored_item(machine: Machine, obj: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:
    if (held := contents(machine, obj)) is not None:
        machine.set_item(held, key, value, node)
    machine.libraries.attached(obj, f"[{key.value!r}]" if isinstance(key, Const) else EACH, value, node)


def _has_seen_parts(qname: str) -> bool:
    """A class of ``torch.nn`` without parts, or with modelled ones; not one such as ``TransformerEncoderLayer``."""
    return qname.startswith("torch.nn.") and not qname.endswith(("coderLayer", ".Transformer"))


def children(machine: Machine, obj: Obj) -> list[tuple[str, Value]] | None:
    """The known direct children of a module of the project; None if it was not followed."""
    if obj.parent is not None or not obj.atom.module or obj.atom.wrapper:
        return None
    if obj.atom.kind == "external" and not (isinstance(obj.atom.cls, Ext) and _has_seen_parts(obj.atom.cls.qname)):
        return None
    found: list[tuple[str, Value]] = []
    for child, (holder, name) in machine.parents.items():
        if holder is obj and not is_weight(child):
            found.append((name, child))
    return found


def is_weight(child: Obj) -> bool:
    """Is it a parameter: one of its own, or that of a layer of torch, which others may be tied to?"""
    if child.parent is None:
        return child.atom.parameter is not None
    cls = child.atom.cls
    of_torch = isinstance(cls, Ext) and cls.qname.startswith("torch.nn.") and cls.qname.rpartition(".")[2] in PARAMETRIC
    return child.depth == 1 and of_torch and child.item in ("weight", "bias")


def descendants(machine: Machine, obj: Obj, name: str = "", depth: int = 0) -> list[tuple[str, Obj]] | None:
    """A module and all below it, in the order of ``modules()``; None where a part is unknown."""
    if obj.parent is not None or not obj.atom.module or depth > BUDGET.module_depth:
        return None
    cls = obj.atom.cls
    if obj.atom.kind == "instance" and not (isinstance(cls, ClassV) and machine.closed_class(cls)):
        return None
    if isinstance(cls, Ext) and not _has_seen_parts(cls.qname):
        return None
    found = [(name, obj)]
    for child, (holder, item) in machine.parents.items():
        if holder is not obj or is_weight(child):
            continue
        if child.atom.kind in ("unknown", "parameter", "opaque") and not machine.libraries.plain_field(child):
            return None
        if child.atom.module:
            inner = descendants(machine, child, f"{name}.{item}" if name else item, depth + 1)
            if inner is None:
                return None
            found += inner
    return found if len(found) <= BUDGET.modules else None
