"""What florc knows about Python's and the libraries' names: data only, no logic.

To teach florc a name, add it to the set that tells the truth about it; `knowledge.py` reads the sets.
A name belongs in a `PURE_…` set only if no way of calling it can change anything that outlives the call.
When in doubt leave it out: an unknown callee is assumed to change all it is given, which costs time, never
truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- what a bare module name usually means, where the file's own imports are not at hand ---
CONVENTIONAL_IMPORTS: Final[Mapping[str, str]] = {
    "F": "torch.nn.functional",
    "Path": "pathlib.Path",
    "copy": "copy",
    "datetime": "datetime",
    "deepcopy": "copy.deepcopy",
    "florc": "florc",
    "functools": "functools",
    "gc": "gc",
    "itertools": "itertools",
    "json": "json",
    "logging": "logging",
    "math": "math",
    "nn": "torch.nn",
    "np": "numpy",
    "numpy": "numpy",
    "operator": "operator",
    "optim": "torch.optim",
    "os": "os",
    "pprint": "pprint.pprint",
    "random": "random",
    "re": "re",
    "statistics": "statistics",
    "string": "string",
    "sys": "sys",
    "textwrap": "textwrap",
    "time": "time",
    "torch": "torch",
    "tqdm": "tqdm.tqdm",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "warnings": "warnings",
}

# --- built-in functions ---
# They read their arguments only (print's `file=` is looked at apart).
PURE_BUILTINS: Final = _names(
    """
    abs ascii bin bool bytearray bytes callable chr complex dir divmod float format getattr hasattr hash hex
    id int isinstance issubclass len memoryview object oct ord pow print range repr round slice str super
    type vars globals locals classmethod staticmethod property
"""
)
# They also iterate over an argument: pure unless that argument can be used up (an iterator, a loader).
ITERATING_BUILTINS: Final = _names(
    "all any dict enumerate filter frozenset list map max min reversed set sorted sum tuple zip"
)
# What these return still refers to the elements of their arguments.
ALIASING_BUILTINS: Final = _names(
    "dict enumerate filter frozenset getattr iter list map max min next reversed set sorted sum super tuple "
    "vars zip"
)
# What these return is a number, a string or a truth value: nothing that could be changed later.
SCALAR_BUILTINS: Final = _names(
    """
    abs all any ascii bin bool bytes callable chr complex divmod float format hasattr hash hex id int
    isinstance issubclass len oct ord pow range repr round str print
"""
)

# --- library functions, by module ("*": every public name of that module) ---
_TORCH_VALUES = """
    abs absolute acos acosh adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv
    addr adjoint all allclose amax amin aminmax angle any arange arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh argmax argmin argsort argwhere as_strided as_tensor asarray asin asinh atan atan2 atanh
    atleast_1d atleast_2d atleast_3d avg_pool1d baddbmm bartlett_window bincount bitwise_and bitwise_not
    bitwise_or bitwise_xor blackman_window block_diag bmm broadcast_shapes broadcast_tensors broadcast_to
    bucketize can_cast cartesian_prod cat cdist ceil celu chain_matmul chunk clamp clamp_max clamp_min clip
    clone column_stack combinations complex concat concatenate conj conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d copysign corrcoef cos cosh cosine_similarity count_nonzero cov cross
    ctc_loss cummax cummin cumprod cumsum deg2rad det detach diag diag_embed diagflat diagonal diff digamma
    dist div divide dot dsplit dstack einsum embedding empty empty_like eq equal erf erfc erfinv exp exp2
    expm1 eye flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac from_numpy
    frombuffer full full_like gather gcd ge ger gradient greater greater_equal group_norm gt hamming_window
    hann_window hardshrink heaviside histc histogram histogramdd hsplit hstack hypot imag index_add
    index_copy index_fill index_put index_select inner inverse isclose isfinite isin isinf isnan isneginf
    isposinf isreal istft kl_div kron kthvalue layer_norm lcm ldexp le lerp less less_equal lgamma linspace
    load log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not
    logical_or logical_xor logit logspace logsumexp lt masked_fill masked_scatter masked_select matmul
    matrix_exp matrix_power max max_pool1d max_pool2d max_pool3d maximum mean median meshgrid min minimum mm
    mode moveaxis movedim msort mul multiply mv nan_to_num nanmean nanmedian nanquantile nansum narrow ne
    neg negative nonzero norm not_equal numel ones ones_like outer pairwise_distance pdist permute pinverse
    polar polygamma positive pow prelu prod quantile rad2deg range ravel real reciprocal relu remainder
    renorm repeat_interleave reshape rms_norm roll rot90 round rsqrt scalar_tensor scatter scatter_add
    searchsorted select selu sgn sigmoid sign signbit sin sinc sinh slogdet softmax sort sparse_coo_tensor
    sparse_csr_tensor split sqrt square squeeze stack std std_mean stft sub subtract sum svd swapaxes
    swapdims t take take_along_dim tan tanh tensor tensor_split tensordot threshold tile topk trace
    transpose trapezoid trapz tril tril_indices triu triu_indices true_divide trunc unbind unflatten unique
    unique_consecutive unravel_index unsqueeze vander var var_mean vdot view_as_complex view_as_real vsplit
    vstack where xlogy zeros zeros_like
"""
_TORCH_QUESTIONS = """
    are_deterministic_algorithms_enabled get_default_dtype get_device get_num_threads
    get_num_interop_threads get_rng_state initial_seed is_autocast_enabled is_complex is_floating_point
    is_grad_enabled is_inference is_inference_mode_enabled is_nonzero is_tensor device dtype finfo iinfo
    Size result_type typename no_grad enable_grad inference_mode autocast
"""
_FUNCTIONAL = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d bilinear binary_cross_entropy
    binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss elu embedding fold
    gaussian_nll_loss gelu glu grid_sample group_norm hardshrink hardsigmoid hardswish hardtanh
    hinge_embedding_loss huber_loss interpolate kl_div l1_loss layer_norm leaky_relu linear
    local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d margin_ranking_loss max_pool1d max_pool2d
    max_pool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
    normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu
    relu6 rms_norm selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink
    softsign tanh tanhshrink threshold triplet_margin_loss unfold upsample
"""
_NUMPY = """
    abs absolute all allclose amax amin angle any append apply_along_axis arange arccos arccosh arcsin
    arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array array2string
    array_equal array_repr array_split array_str asarray ascontiguousarray atleast_1d atleast_2d atleast_3d
    average base_repr binary_repr bincount block broadcast_to cbrt ceil choose clip column_stack concatenate
    conj convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum deg2rad
    degrees delete diag diagflat diagonal diff digitize divide divmod dot dsplit dstack einsum empty
    empty_like equal exp exp2 expand_dims expm1 eye fabs flatnonzero flip fliplr flipud float_power floor
    floor_divide fmax fmin fmod full full_like geomspace gradient greater greater_equal heaviside histogram
    histogram2d hsplit hstack hypot identity imag inner insert interp intersect1d isclose isfinite isin
    isinf isnan isscalar kron less less_equal lexsort linspace log log10 log1p log2 logaddexp logical_and
    logical_not logical_or logical_xor logspace matmul max maximum mean median meshgrid min minimum mod
    moveaxis multiply nan_to_num nanargmax nanargmin nanmax nanmean nanmedian nanmin nanpercentile nanstd
    nansum nanvar ndim negative nonzero not_equal ones ones_like outer pad percentile polyfit polyval power
    prod ptp quantile rad2deg radians ravel real reciprocal repeat reshape roll rot90 round row_stack
    searchsorted setdiff1d shape sign sin sinh size sort split sqrt square squeeze stack std subtract sum
    swapaxes take take_along_axis tan tanh tensordot tile trace transpose trapezoid tri tril triu
    triu_indices true_divide trunc union1d unique unravel_index vander var vdot vsplit vstack where zeros
    zeros_like float16 float32 float64 int8 int16 int32 int64 uint8 bool_ dtype finfo iinfo isnat bool
"""
_CUDA_QUESTIONS = _names(
    """
    current_device device_count get_device_name is_available is_initialized max_memory_allocated
    memory_allocated max_memory_reserved memory_reserved memory_summary synchronize mem_get_info
    get_device_properties is_bf16_supported
"""
)
PURE_FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "math": _names("*"),
    "cmath": _names("*"),
    "operator": _names(
        "add sub mul truediv floordiv mod pow neg lt le eq ne ge gt contains getitem itemgetter attrgetter "
        "not_ truth"
    ),
    "statistics": _names("*"),
    "string": _names("*"),
    "textwrap": _names("*"),
    "datetime": _names("datetime date timedelta time"),
    "datetime.datetime": _names("now today utcnow fromtimestamp strptime"),
    "datetime.date": _names("today"),
    "time": _names(
        "time perf_counter monotonic process_time time_ns perf_counter_ns monotonic_ns strftime localtime"
    ),
    "copy": _names("copy deepcopy"),
    "json": _names("dumps"),
    "re": _names("match search fullmatch sub split findall compile escape"),
    "sys": _names("getsizeof getrefcount exc_info"),
    "os": _names("getcwd getenv getpid cpu_count listdir fspath"),
    "os.path": _names("*"),
    "pathlib": _names("Path PurePath"),
    "inspect": _names("getsource signature isclass isfunction ismethod"),
    "types": _names("SimpleNamespace"),
    "pprint": _names("pformat pprint"),
    "traceback": _names("format_exc print_exc print_stack"),
    "platform": _names("*"),
    "hashlib": _names("md5 sha1 sha256 blake2b"),
    "itertools": _names("count repeat product combinations permutations"),
    "functools": _names("partial"),
    "collections": _names("Counter OrderedDict defaultdict deque namedtuple"),
    "psutil": _names("virtual_memory cpu_percent Process"),
    "florc": _names("log"),
    "contextlib": _names("nullcontext suppress"),
    "torch": _names(_TORCH_VALUES + _TORCH_QUESTIONS),
    "torch.nn.functional": _names(_FUNCTIONAL),
    "torch.special": _names("*"),
    "torch.linalg": _names(
        "norm vector_norm matrix_norm svdvals svd det slogdet cond matrix_rank eigvals eigvalsh eig eigh "
        "inv pinv qr"
    ),
    "torch.fft": _names("fft ifft rfft irfft fft2 ifft2 fftshift"),
    "torch.amp": _names("autocast"),
    "torch.cuda.amp": _names("autocast"),
    "torch.autograd": _names("no_grad"),
    "torch.nn.utils": _names("parameters_to_vector get_total_norm"),
    "torch.cuda": _CUDA_QUESTIONS,
    "torch.accelerator": _names(
        "is_available current_accelerator device_count current_device_index synchronize"
    ),
    "torch.mps": _names("current_allocated_memory synchronize"),
    "torch.backends.mps": _names("is_available is_built"),
    "torch.distributed": _names("get_rank get_world_size is_initialized is_available"),
    "torch.random": _names("get_rng_state initial_seed"),
    "numpy": _names(_NUMPY),
    "numpy.linalg": _names("*"),
    "numpy.fft": _names("*"),
    "sklearn.metrics": _names("*"),
    "scipy.stats": _names("pearsonr spearmanr ttest_ind entropy describe zscore"),
}
# Of these, what gives numbers, names, modes: nothing that could be changed later.
SCALAR_FUNCTIONS: Final = frozenset("torch." + n for n in _names(_TORCH_QUESTIONS)) | frozenset(
    f"{m}.{n}"
    for m in ("torch.cuda", "torch.accelerator", "torch.distributed", "torch.backends.mps", "datetime")
    for n in PURE_FUNCTIONS[m]
)
# They also iterate: pure unless the argument can be used up.
ITERATING_FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "itertools": _names(
        "accumulate chain islice zip_longest starmap takewhile dropwhile pairwise groupby tee"
    ),
    "functools": _names("reduce"),
    "collections": _names("Counter OrderedDict defaultdict deque"),
    "numpy": _names("fromiter"),
}
# They call their first argument.
CALLS_FIRST_ARGUMENT: Final = _names(
    "map filter functools.reduce itertools.starmap itertools.takewhile itertools.dropwhile "
    "numpy.apply_along_axis"
)
# They draw from a random number generator: never pure.
RANDOM_FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "random": _names("*"),
    "numpy.random": _names("*"),
    "secrets": _names("*"),
    "torch": _names(
        "bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like "
        "randperm dropout alpha_dropout feature_dropout feature_alpha_dropout rrelu manual_seed seed"
    ),
    "torch.nn.functional": _names(
        "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout "
        "gumbel_softmax rrelu fractional_max_pool2d fractional_max_pool3d"
    ),
    "torch.utils.data": _names("random_split"),
}
# Constructors and questions inside the modules above that draw nothing.
DRAWS_NOTHING: Final = _names(
    "random.getstate numpy.random.get_state random.Random numpy.random.default_rng "
    "numpy.random.RandomState numpy.random.Generator random.SystemRandom"
)
# Functions that change their first argument (a trailing underscore says it for all others).
FIRST_ARGUMENT_CHANGED: Final[Mapping[str, frozenset[str]]] = {
    "numpy": _names("copyto fill_diagonal place put putmask put_along_axis"),
    "random": _names("shuffle"),
    "numpy.random": _names("shuffle"),
    "heapq": _names("heappush heappop heapify heapreplace heappushpop"),
    "bisect": _names("insort insort_left insort_right"),
    "torch.nn.utils": _names("vector_to_parameters"),
    "": _names("setattr delattr next"),
}
# What these write is a file or the screen; of the program's objects they change none.
WRITES_ONLY: Final[Mapping[str, frozenset[str]]] = {
    "torch": _names("save manual_seed set_num_threads"),
    "numpy": _names("save savez savez_compressed savetxt"),
    "json": _names("dump"),
    "pickle": _names("dump dumps"),
    "os": _names("makedirs mkdir remove rename replace unlink"),
    "shutil": _names("copy copyfile copytree rmtree move"),
    "gc": _names("collect"),
    "time": _names("sleep"),
    "torch.cuda": _names("empty_cache reset_peak_memory_stats manual_seed manual_seed_all"),
    "random": _names("seed random randint uniform gauss choice randrange"),
    "numpy.random": _names("seed rand randn randint permutation uniform normal random choice"),
    "wandb": _names("*"),
    "mlflow": _names("*"),
    "torchvision.utils": _names("save_image make_grid"),
    "matplotlib.pyplot": _names("*"),
    "warnings": _names("*"),
    "logging": _names("*"),
    "": _names("open input exit quit breakpoint"),
}

# --- methods, by name; the receiver's type is not known ---
_TENSOR_METHODS = """
    abs absolute acos acosh addmm all allclose amax amin angle any arccos arcsin arctan argmax argmin
    argsort asin asinh atan atan2 atanh bfloat16 bincount bmm bool broadcast_to byte cdist ceil char
    cholesky chunk clamp clamp_max clamp_min clip clone conj contiguous cos cosh count_nonzero cpu cross
    cuda cummax cummin cumprod cumsum data_ptr det detach diag diagonal diff dim dist div divide dot double
    element_size eq equal erf erfc exp expand expand_as expm1 flatten flip float floor fmod frac gather ge
    get_device gt half histc hsplit imag index_select inner int inverse is_complex is_contiguous
    is_floating_point is_pinned isclose isfinite isinf isnan item kthvalue le lerp less lgamma log10 log1p
    log2 log_softmax logdet logical_and logical_not logical_or logical_xor logit logsumexp long lt
    masked_fill masked_select matmul max maximum mean median min minimum mm movedim mul multiply mv
    nan_to_num nanmean nanmedian nansum narrow ndimension ne neg nelement new_empty new_full new_ones
    new_tensor new_zeros nonzero norm numel numpy outer permute pin_memory pow prod quantile ravel real
    reciprocal relu remainder repeat repeat_interleave reshape reshape_as roll round rsqrt scatter
    scatter_add short sigmoid sign sin sinh size softmax split sqrt square squeeze std storage_offset stride
    sub subtract sum t take tan tanh tensor_split tile to to_dense tolist topk trace transpose tril triu
    true_divide trunc type type_as unbind unfold unflatten unique unsqueeze untyped_storage var view view_as
    where xor zero_grad_is_none astype argpartition ptp tobytes dtype diagonal searchsorted
"""
_MODULE_AND_OPTIMIZER = """
    parameters named_parameters buffers named_buffers modules named_modules children named_children
    state_dict get_parameter get_buffer get_submodule get_last_lr get_scale get_growth_factor
    get_backoff_factor is_enabled extra_repr entropy log_prob get_num_params num_parameters
"""
_STRINGS = """
    capitalize casefold center count decode encode endswith expandtabs find format format_map isalnum
    isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper
    join ljust lower lstrip partition removeprefix removesuffix rfind rindex rjust rpartition rsplit rstrip
    split splitlines startswith strip swapcase title translate upper zfill hex
"""
_CONTAINERS = """
    items keys values copy index most_common total elements union intersection difference
    symmetric_difference issubset issuperset isdisjoint as_integer_ratio is_integer bit_length
"""
_PATHS_AND_TIMES = """
    exists is_file is_dir is_absolute resolve absolute relative_to with_suffix with_name joinpath as_posix
    stem total_seconds isoformat strftime timestamp elapsed_time group groups groupdict hexdigest getvalue
    fileno isatty getEffectiveLevel isEnabledFor qsize empty is_alive is_set
"""
PURE_METHODS: Final = _names(
    _TENSOR_METHODS + _MODULE_AND_OPTIMIZER + _STRINGS + _CONTAINERS + _PATHS_AND_TIMES
) - _names("partition subtract")  # an array's, and a Counter's, work in place
STRING_METHODS: Final = _names(_STRINGS)
# NumPy writes its result into a positional argument, too: how many come before it, of a function.
_UNARY = """
    abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conj cos cosh deg2rad degrees exp exp2
    expm1 fabs floor isfinite isinf isnan isnat log log10 log1p log2 logical_not negative positive rad2deg
    radians reciprocal sign sin sinh sqrt square tan tanh trunc
"""
_BINARY = """
    add all amax amin any arctan2 argmax argmin around choose concatenate copysign divide divmod dot equal
    float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot less less_equal logaddexp
    logical_and logical_or logical_xor matmul max maximum median min minimum mod multiply nanargmax nanargmin
    nanmax nanmedian nanmin not_equal outer power ptp round stack subtract true_divide
"""
_OF_THREE = """
    clip cumprod cumsum mean nanmean nanpercentile nanstd nansum nanvar percentile prod quantile std sum take
    var
"""
BEFORE_RESULT: Final[Mapping[str, int]] = {
    **dict.fromkeys(_names(_UNARY), 1),
    **dict.fromkeys(_names(_BINARY), 2),
    **dict.fromkeys(_names(_OF_THREE), 3),
}
# Pure only with at least so many arguments: `d.get(k)` looks up, `queue.get()` takes; `s.replace(a, b)` is a
# string's, `path.replace(b)` renames a file.
PURE_WITH_ARGUMENTS: Final[Mapping[str, int]] = {"get": 1, "replace": 2, "__getitem__": 1, "__contains__": 1}
# Pure only with no argument at all: `t.log()` computes, `logger.log(x)` writes.
PURE_WITHOUT_ARGUMENTS: Final = _names("log")
# `x.to(…)` and the like give a new tensor, but move a module in place.
MOVES_MODULES: Final = _names("to cpu cuda float double half bfloat16 type to_empty")
# Parts of a name by which one knows a module (`model`, `netG`, `self.encoder`).
MODULE_WORDS: Final = _names(
    "model net module encoder decoder generator discriminator critic actor policy backbone head classifier "
    "student teacher gen disc agent network"
)
# Parts of a name by which one knows something that iterating uses up, or that draws random numbers.
ITERATOR_WORDS: Final = _names(
    "loader loaders dataloader dl iter iterator it gen generator stream sampler reader dataset datasets "
    "batches prefetcher pbar bar trainset testset valset ds train_set test_set val_set valid_set"
    " train_data test_data"
)
# What these return shares memory with, or refers into, the receiver.
ALIASING_METHODS: Final = _names(
    """
    parameters named_parameters buffers named_buffers modules named_modules children named_children
    state_dict get_parameter get_buffer get_submodule items keys values get copy detach view view_as reshape
    reshape_as squeeze unsqueeze transpose t permute expand expand_as narrow flatten unflatten unbind split
    chunk numpy cpu cuda to float double half contiguous diagonal real imag unfold ravel tensor_split type
    type_as pop popitem popleft setdefault get_model untyped_storage __getitem__ most_common elements union
    bfloat16 long int pin_memory cuda train eval requires_grad_ to_empty
"""
)
# What these return can never be changed by anybody.
SCALAR_METHODS: Final = (
    _names(
        """
    item tolist size dim numel nelement element_size data_ptr stride norm_type is_contiguous
    is_floating_point get_last_lr get_scale count index total_seconds isoformat timestamp strftime hexdigest
    getvalue exists is_file is_dir get_device
"""
    )
    | STRING_METHODS
)
# In place and named so, without a trailing underscore; they change their receiver and nothing else.
MUTATING_METHODS: Final = _names(
    """
    append appendleft extend extendleft insert add update pop popleft popitem remove discard clear sort
    reverse setdefault rotate put put_nowait subtract fill resize step backward zero_grad train eval
    load_state_dict register_buffer register_parameter register_forward_hook register_full_backward_hook
    register_hook add_module add_param_group set_epoch reset seed setstate manual_seed share_memory
    retain_grad close flush write writelines seek truncate read readline readlines set_postfix
    set_description set_description_str set_postfix_str unscale_ start stop record apply compile half double
    float cuda cpu to type shuffle rollback refresh send throw
"""
)
# Of those, the ones that put an argument into the receiver: from then on the receiver refers to it.
STORING_METHODS: Final = _names(
    "append appendleft extend extendleft insert add update setdefault put put_nowait add_module "
    "register_buffer register_parameter add_param_group __setitem__"
)

# Names that always mean a setting, never something a program changes in place.
NEVER_CHANGED: Final = _names("device dtype gpu local_rank rank world_size")
# Keywords of library functions that hand over a setting.
SETTINGS: Final = _names(
    """
    device dtype dim lr reduction size non_blocking memory_format batch_size num_workers shuffle pin_memory
    drop_last weight_decay momentum momentum_decay betas eps milestones gamma step_size T_max total_steps
"""
)
# Keywords of a loader that hand over objects it goes on to use.
LOADER_PARTS: Final = _names("dataset sampler batch_sampler collate_fn worker_init_fn generator")

# --- output ---
LOGGER_WORDS: Final = _names("log logger logging _log _logger log_")
LOGGER_METHODS: Final = _names("debug info warning warn error exception critical fatal log")
WRITER_WORDS: Final = _names("writer tb tensorboard summary board sw summarywriter")
SINK_METHODS: Final = _names(
    """
    add_scalar add_scalars add_histogram add_image add_images add_figure add_text add_graph add_embedding
    add_audio add_video add_hparams add_pr_curve add_mesh add_scalar_dict log_metric log_metrics log_param
    log_params log_artifact log_artifacts log_dict log_image writerow writerows writeheader set_postfix
    set_description set_postfix_str set_description_str
"""
)
SINK_FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "": _names("print"),
    "florc": _names("log"),
    "pprint": _names("pprint pp"),
    "logging": LOGGER_METHODS,
    "warnings": _names("warn"),
    "wandb": _names("log log_artifact save alert"),
    "mlflow": _names("log_metric log_metrics log_param log_params log_artifact log_text log_figure log_dict"),
    "tqdm.tqdm": _names("write"),
    "tqdm": _names("write"),
    "sys.stdout": _names("write flush writelines"),
    "sys.stderr": _names("write flush writelines"),
    "traceback": _names("print_exc print_stack"),
    "rich": _names("print"),
    "click": _names("echo secho"),
}
STANDARD_STREAMS: Final = _names("sys.stdout sys.stderr sys.__stdout__ sys.__stderr__")
FILE_WORDS: Final = _names("f fp fh file outfile logfile log_file fout csvfile stdout stderr out")
FILE_METHODS: Final = _names("write writelines flush")

# --- calls that never make a loop worth a guard ---
LIGHT_METHODS: Final = STRING_METHODS | _names(
    """
    append appendleft extend extendleft insert add pop popleft popitem remove discard clear sort reverse
    setdefault get items keys values copy index count most_common replace item tolist exists is_file
    joinpath group groups write writerow close flush isoformat total_seconds set_postfix set_description
"""
)
LIGHT_MODULES: Final = _names(
    "math cmath operator string textwrap datetime datetime.datetime re os.path random logging sys.stdout "
    "sys.stderr warnings heapq bisect collections"
)
LIGHT_FUNCTIONS: Final = _names(
    "time.time time.perf_counter time.monotonic time.strftime json.dumps copy.copy os.getenv os.getcwd "
    "os.listdir pathlib.Path florc.log sys.getsizeof itertools.count itertools.product"
)

# --- what an object is, by the call that made it ---
OPTIMIZERS: Final = _names(
    """
    ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam
    LAMB Lamb Lion AdaBelief ZeroRedundancyOptimizer
"""
)
SCHEDULERS: Final = _names(
    """
    ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR
    LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau
    SequentialLR StepLR SWALR get_linear_schedule_with_warmup get_cosine_schedule_with_warmup
    get_constant_schedule get_scheduler
"""
)
SCALERS: Final = _names("GradScaler")
WRAPPERS: Final = _names(
    "DataParallel DistributedDataParallel FullyShardedDataParallel DDP FSDP compile script trace"
)
LOADERS: Final = _names("DataLoader")
WRITERS: Final = _names("SummaryWriter FileWriter tqdm trange getLogger")
# Context managers that change nothing a block could leave behind (modes are put back at their exit).
HARMLESS_CONTEXTS: Final = _names(
    """
    no_grad enable_grad inference_mode set_grad_enabled autocast nullcontext suppress detect_anomaly open
    profile record_function device stream Timer timer redirect_stdout redirect_stderr catch_warnings
    errstate fork_rng printoptions Pool ThreadPoolExecutor ProcessPoolExecutor TemporaryDirectory
"""
)
