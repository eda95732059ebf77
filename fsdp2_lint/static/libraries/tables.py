"""Which name is handled where. Transfer functions register themselves here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ..domain.values import Obj, Value
from ..interpreter.call import Call
from .interface import Machine

External = Callable[[Machine, Call], Value]
Method = Callable[[Machine, Obj, Call], Value]

Observer = Callable[[Machine, str, Call], None]
MethodObserver = Callable[[Machine, Obj, str, Call], None]

SeesMethods = TypeVar("SeesMethods", bound=MethodObserver)

EXTERNALS: dict[str, External] = {}
METHODS: dict[str, Method] = {}
OBSERVERS: list[Observer] = []
METHOD_OBSERVERS: list[MethodObserver] = []


def external(*qnames: str) -> Callable[[External], External]:
    def register(function: External) -> External:
        _once(qnames, EXTERNALS)
        EXTERNALS.update(dict.fromkeys(qnames, function))
        return function

    return register


def method(*names: str) -> Callable[[Method], Method]:
    """A method of any object whose class does not define it itself."""

    def register(function: Method) -> Method:
        _once(names, METHODS)
        METHODS.update(dict.fromkeys(names, function))
        return function

    return register


def _once(names: tuple[str, ...], table: Mapping[str, object]) -> None:
    """A second handler would take the first one's place without a word."""
    if taken := sorted(set(names) & table.keys()):
        raise RuntimeError(f"{', '.join(taken)} is handled elsewhere already")


def observer(function: Observer) -> Observer:
    """Sees each call of a function of another package, before it is handled."""
    OBSERVERS.append(function)
    return function


def method_observer(function: SeesMethods) -> SeesMethods:
    """Sees each call of a method that no table has."""
    METHOD_OBSERVERS.append(function)
    return function


# Methods that only tensors have: whatever they are called on, nothing is sharded, moved or selected.
TENSOR_METHODS = frozenset(
    """flatten unflatten view view_as reshape transpose permute contiguous unsqueeze squeeze expand expand_as
    repeat_interleave chunk argmax argmin softmax log_softmax masked_fill masked_select gather scatter index_select
    numel dim size mean sum amax amin std var exp log sqrt pow clamp abs eq ne lt gt le ge logical_not logical_and
    cumsum topk tril triu unbind roll tolist nonzero long int bool""".split()
)

# Methods of ``torch.Tensor`` of torch 2.13 that write nothing and return something new, beside those of every module.
MAKING = frozenset(
    """abs absolute acos acosh addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax angle
    any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided
    as_strided_scatter as_subclass asin asinh atan atan2 atanh baddbmm bernoulli bincount bitwise_and
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm bool broadcast_to byte
    ccol_indices cdouble ceil cfloat chalf char cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max
    clamp_min clip clone coalesce col_indices conj conj_physical const_data_ptr contiguous copysign corrcoef cos
    cosh count_nonzero cov cross crow_indices cummax cummin cumprod cumsum data_ptr deg2rad dense_dim dequantize
    det detach diag diag_embed diagflat diagonal diagonal_scatter diff digamma dim dim_order dist div divide dot
    dsplit eig element_size eq equal erf erfc erfinv exp exp2 expand expand_as expm1 fix flatten flip fliplr
    flipud float_power floor floor_divide fmax fmin fmod frac frexp gather gcd ge geqrf ger greater
    greater_equal gt hardshrink hash_tensor heaviside histc histogram hsplit hypot i0 igamma igammac index_add
    index_copy index_fill index_put index_reduce index_select indices inner int int_repr inverse is_coalesced
    is_complex is_conj is_contiguous is_distributed is_floating_point is_inference is_neg is_nonzero is_pinned
    is_same_size is_set_to is_shared is_signed isclose isfinite isinf isnan isneginf isposinf isreal istft item
    kron kthvalue lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2
    logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp long lstsq lt lu lu_solve
    masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max maximum mean median min minimum
    mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile
    nansum narrow narrow_copy ndimension ne neg negative nelement new_empty new_empty_strided new_full new_ones
    new_tensor new_zeros nextafter nonzero nonzero_static norm not_equal numel numpy orgqr ormqr outer permute
    pin_memory pinverse polygamma positive pow prelu prod q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qr qscheme quantile rad2deg ravel reciprocal record_stream
    reinforce relu remainder renorm repeat repeat_interleave reshape reshape_as resolve_conj resolve_neg roll
    rot90 round row_indices rsqrt scatter scatter_add scatter_reduce select select_scatter sgn short sigmoid
    sign signbit sin sinc sinh size slice_inverse slice_scatter slogdet smm softmax solve sparse_dim sparse_mask
    split split_with_sizes sqrt square squeeze sspaddmm std stft storage_offset storage_type stride sub subtract
    sum sum_to_size svd swapaxes swapdims symeig t take take_along_dim tan tanh tensor_split tile to_dense
    to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr
    tolist topk trace transpose triangular_solve tril triu true_divide trunc type_as unbind unflatten unfold
    unique unique_consecutive unsafe_split unsafe_split_with_sizes unsqueeze untyped_storage var vdot view
    view_as vsplit where xlogy""".split()
)

# Of these, the ones that share the memory of the tensor, or may.
VIEWS = frozenset(
    """adjoint as_strided as_subclass broadcast_to chunk contiguous detach diagonal dsplit expand expand_as flatten
    hsplit moveaxis movedim narrow permute ravel reshape reshape_as select split split_with_sizes squeeze swapaxes
    swapdims t tensor_split transpose type_as unbind unflatten unfold unsqueeze view view_as vsplit""".split()
)

# Methods of tensors that write them in place.
IN_PLACE = frozenset(
    """zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_ add_ sub_ mul_
    div_ clamp_ lerp_ addmul_ addcmul_ addcdiv_ neg_ sqrt_ pow_ exp_ abs_ masked_fill_ index_copy_ index_fill_
    scatter_ trunc_normal_ set_ swap_ fill_diagonal_ tril_ triu_""".split()
)


FRAMEWORKS = {
    "accelerate": "Accelerate",
    "lightning": "Lightning",
    "pytorch_lightning": "Lightning",
    "lightning_fabric": "Lightning Fabric",
    "composer": "Composer",
    "deepspeed": "DeepSpeed",
    "ray": "Ray",
    "colossalai": "ColossalAI",
    "torchtitan": "torchtitan",
    "torchtune": "torchtune",
    "trl": "TRL",
    "unsloth": "Unsloth",
    "megatron": "Megatron",
    "mmengine": "MMEngine",
    "ignite": "Ignite",
    "fairscale": "FairScale",
    "axolotl": "Axolotl",
}  # fmt: skip
