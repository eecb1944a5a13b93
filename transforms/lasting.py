"""Calls whose effect lasts beyond the probe and cannot be put back: they change the program."""

from __future__ import annotations

import ast

from .statements import access_path

HOOKS = frozenset(
    {
        "register_hook", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
        "register_full_backward_pre_hook", "register_backward_hook", "register_post_accumulate_grad_hook",
        "register_module_forward_hook", "register_module_full_backward_hook", "register_comm_hook",
        "register_step_post_hook", "register_step_pre_hook", "register_multi_grad_hook",
    }
)  # fmt: skip
"""Methods that make all later code call something: it would have to be executed, not restored."""

SETTINGS = frozenset(
    {
        "set_printoptions", "set_string_function", "basicConfig", "setLevel", "addHandler", "removeHandler",
        "addFilter", "captureWarnings", "filterwarnings", "simplefilter", "resetwarnings", "set_num_threads",
        "set_num_interop_threads", "use_deterministic_algorithms", "set_default_dtype",
        "set_default_device",
        "set_default_tensor_type", "set_detect_anomaly", "set_float32_matmul_precision", "seterr",
        "setlocale", "setrecursionlimit", "settrace", "setprofile", "chdir", "putenv", "set_start_method",
        "set_sharing_strategy",
    }
)  # fmt: skip
"""Settings of the process: what the recorded program prints or computes afterwards depends on them."""

REGISTRIES = frozenset({("atexit", "register"), ("signal", "signal"), ("faulthandler", "register")})
"""Dotted functions that leave something behind which runs later."""

SENDING = frozenset({"send", "sendall", "sendto", "sendmsg", "sendfile", "send_bytes", "isend"})
"""Methods of sockets, pipes and process groups: whoever has got it will not forget it."""


def lasting_why(node: ast.Call) -> str:
    """Return why a call in added code changes the program, "" if it does not."""
    path = access_path(node.func)
    if not path:
        return ""
    name = ".".join(path)
    if path[-1] in HOOKS:
        there = "print there, in its own lines"
        return f"`{name}` makes recorded code that is not executed again call something: {there}"
    if path[-1] in SETTINGS or path[-2:] in REGISTRIES:
        return f"`{name}` changes a setting that the recorded program goes on with"
    return ""
