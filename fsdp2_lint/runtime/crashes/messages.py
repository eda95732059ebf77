"""Errors of torch that do not say what is wrong, and the rules behind them. Messages of torch 2.13, measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...vocab.defects import UNFROZEN_AFTER_FORWARD


@dataclass(frozen=True, slots=True)
class Explanation:
    """The rule behind an error of torch, why it was raised, and what to do."""

    code: str
    why: str
    fix: str
    pattern: str = ""

    def fits(self, message: str) -> bool:
        return re.search(self.pattern, message) is not None


ALREADY_ROOT = "state has already been lazily initialized"
MIXED = re.compile(r"got mixed torch.Tensor and DTensor")
# Operations of a forward, in which a weight meets an input.
FORWARD_MIXED = re.compile(
    r"aten\.(addmm|mm|bmm|baddbmm|linear|embedding|convolution|native_layer_norm|native_group_norm|_fused_rms_norm)\."
    r"\w+:? got mixed torch.Tensor and DTensor"
)
# Of products, norms, convolutions and attention, on CPUs and on GPUs.
DTYPES = re.compile(
    r"(mat1 and mat2|expected m1 and m2|expected mat1 and mat2) .*same dtype|"
    r"expected scalar type \w+ but found|mixed dtype \(CPU\)|Type promoting not supported|RNN input dtype|"
    r"(All tensors must|Expected query, key, and value to) have the same dtype|"
    r"to have the same type as tensor for argument"
)
# The words of a convolution are the same for two devices.
_TYPES = re.compile(r"Input type \((.*?)\) and (?:bias|weight) type \((.*?)\)")
_DTYPE = re.compile(r"BFloat16|Half|Float|Double", re.IGNORECASE)


def dtypes_clash(message: str) -> bool:
    """Does an error say that tensors of two dtypes have met?"""
    if (both := _TYPES.search(message)) is None:
        return DTYPES.search(message) is not None
    one, other = (_DTYPE.findall(words) for words in both.groups())
    return [each.lower() for each in one] != [each.lower() for each in other]


KEYWORDS_OF_FSDP1 = (
    "auto_wrap_policy|sharding_strategy|mixed_precision|cpu_offload|device_mesh|process_group|ignored_states|"
    "ignored_modules|device_id|sync_module_states|param_init_fn|use_orig_params|limit_all_gathers|forward_prefetch|"
    "backward_prefetch|policy|strategy"
)

LOADING = Explanation(
    "FSDP705",
    "plain tensors are loaded into a model whose parameters are DTensors",
    "use set_model_state_dict with StateDictOptions(full_state_dict=True), or load before sharding",
)
FSDP1 = Explanation(
    "FSDP903",
    "a method of FSDP1 is applied to a model of FSDP2, and finds no FSDP1 module in it",
    "use torch.distributed.checkpoint.state_dict",
)
OUTSIDE = Explanation(
    "FSDP303",
    "sharded and plain parameters meet in one operation: some parameters lie in no group",
    "shard the root too, after its children",
)
DIRECT = Explanation(
    "FSDP401",
    "forward of a sharded module is called by name, without the hooks that gather its parameters",
    "call the module itself, model(x), or register_fsdp_forward_method(model, 'forward')",
)
BYPASS = Explanation(
    "FSDP402",
    "a method of a sharded module runs without the hooks that gather its parameters",
    "call the module itself, or register the method with register_fsdp_forward_method(module, name)",
)
NO_MEMORY = re.compile(r"access the data pointer on an invalid python storage")
SHARDS_SAVED = Explanation(
    "FSDP701",
    "safetensors reads the memory of tensors, and DTensors have none: nothing is written",
    "gather with get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True)) on all "
    "ranks, and save on rank 0",
)
CLASH = Explanation(
    "FSDP308",
    "groups of one model compute in different dtypes, and their tensors meet in a layer",
    "pass one mp_policy to every call on the model, or cast where the groups meet (cast_forward_inputs, output_dtype)",
)
GATHERED = Explanation(
    "FSDP407",
    "a forward has left this group gathered: until it is resharded, plain tensors stand in the place of its shards",
    "call model.reshard() after that forward, or shard the root with reshard_after_forward=True",
)
OPEN = Explanation(
    "FSDP604",
    "the backward before this is not finished: some gradients are not reduced, and some parameters are gathered still",
    "call model.finalize_backward() behind the last backward of a step, and wait() for the handle that it may return",
)
OTHER_DTYPE = Explanation(
    "FSDP303",
    "sharded parameters are cast to the dtype of their policy, and parameters in no group are not",
    "shard the root too, after its children, with the same mp_policy",
)
USED_OUTSIDE = Explanation(
    "FSDP404",
    "a sharded weight meets plain tensors outside the forward of its module",
    "use the weight inside its module's forward, or gather it with full_tensor()",
)
GRADIENT_DTYPE = re.compile(r"assign a gradient with dtype .* to a tensor with grad_dtype")
UNFROZEN = Explanation(
    "FSDP910",
    "the group was frozen at its first forward, and this torch has forgotten in which dtype it keeps its gradients",
    UNFROZEN_AFTER_FORWARD.remedy,
)
POLICY = Explanation(
    "FSDP503",
    "mp_policy is no policy of FSDP2",
    "pass an instance of torch.distributed.fsdp.MixedPrecisionPolicy",
    r"object has no attribute '(output_dtype|param_dtype|reduce_dtype|cast_forward_inputs)'",
)

MESHES = re.compile(r"must have the same mesh, but got")
OTHER_MESH = Explanation(
    "FSDP308",
    "the groups of one model lie on different meshes, and torch clips gradients of one mesh at a time",
    "pass one mesh to every call on the model",
)
ORDINAL = re.compile(r"invalid device ordinal: cuda:(\d+) of a node")  # as a rehearsal says it
GLOBAL_RANK = Explanation(
    "FSDP102",
    "the device index is the global rank: on the second node there is no such GPU",
    "use LOCAL_RANK, or the global rank modulo torch.cuda.device_count()",
)

# The first that fits counts.
EXPLANATIONS = (
    Explanation(
        "FSDP305",
        "fully_shard is applied twice to one module",
        "remove one of the two calls, or guard it with isinstance(module, FSDPModule)",
        r"Each distinct composable distributed API can only be applied to a module once",
    ),
    Explanation(
        "FSDP302",
        "a module is sharded after the module that contains it",
        "shard bottom-up: children first, the root last",
        r"Invariant encountered: value was None|Cannot concatenate overlapping meshes",
    ),
    Explanation(
        "FSDP403",
        "a sharded part of the model ran before the model itself did, and became a root of its own",
        "call the whole model first, and parts of it only through it",
        ALREADY_ROOT,
    ),
    Explanation(
        "FSDP307",
        "tied parameters lie in different groups",
        "shard both modules in one call, fully_shard([a, b]), or leave both to the root",
        r"is shared with a parameter already managed by another FSDP group",
    ),
    Explanation(
        "FSDP314",
        "one group mixes parameter dtypes",
        "give all trainable parameters of a group one dtype",
        r"FSDP expects uniform original parameter dtype",
    ),
    Explanation(
        "FSDP202",
        "the model is on the meta device still",
        "call model.to_empty(device=...) and initialise it before the first forward",
        r"should be materialized from meta device",
    ),
    Explanation(
        "FSDP105",
        "with CPU offload some collectives run on CPU tensors, and the process group knows GPUs only",
        'use init_process_group("cpu:gloo,cuda:nccl")',
        r"No backend type associated with device type cpu",
    ),
    Explanation(
        "FSDP306",
        "a ModuleList or ModuleDict is never called, so it cannot be a group",
        "shard each module in it",
        r"fully_shard does not support containers that do not implement forward",
    ),
    Explanation(
        "FSDP101",
        "two ranks work on one GPU",
        'call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) first',
        r"Duplicate GPU detected",
    ),
    Explanation(
        "FSDP320",
        "a plain tensor has taken the place of a sharded parameter",
        "write into the DTensor (copy_, or set_model_state_dict) instead of replacing it",
        r"'(Parameter|Tensor)' object has no attribute '_local_tensor'",
    ),
    Explanation(
        "FSDP605",
        "no_sync belongs to FSDP1",
        "use model.set_requires_gradient_sync(is_last_microbatch)",
        r"has no attribute 'no_sync'",
    ),
    Explanation(
        "FSDP606",
        "model.clip_grad_norm_ belongs to FSDP1",
        "use torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)",
        r"has no attribute 'clip_grad_norm_'",
    ),
    Explanation(
        "FSDP902",
        "this keyword belongs to FSDP1",
        "use the keyword of FSDP2 that says the same",
        rf"fully_shard\(\) got an unexpected keyword argument '({KEYWORDS_OF_FSDP1})'",
    ),
    POLICY,
    Explanation(
        "FSDP318",
        "a gathered tensor is used after FSDP2 freed its memory",
        "return tensors in plain containers (tuple, dict), and do not write into views of a module's output",
        r"requiring a storage size of \d+ are out of bounds for storage of size 0",
    ),
)
