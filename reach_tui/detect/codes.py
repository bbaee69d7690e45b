"""Protocol codes as a first guess at the class of a failure (taxonomy notes, section 6)."""

from __future__ import annotations

_HTTP = {
    400: "invalid_parameter",
    401: "permission_denied/auth_missing_or_expired",
    402: "permission_denied/forbidden",
    403: "permission_denied/forbidden",
    404: "context_gap/wrong_target",
    405: "tool_not_covered/tool_disabled",
    407: "permission_denied/auth_missing_or_expired",
    408: "timeout_or_limit/timeout",
    409: "stale_context/precondition_not_met",
    410: "context_gap/wrong_target",
    412: "stale_context/stale_edit",
    413: "timeout_or_limit/output_or_context_limit",
    415: "invalid_parameter/wrong_type_or_format",
    422: "invalid_parameter",
    423: "stale_context/precondition_not_met",
    428: "stale_context/read_before_write",
    429: "timeout_or_limit/rate_limited",
    451: "permission_denied/blocked_by_policy",
    499: "timeout_or_limit/cancelled",
    501: "tool_not_covered/capability_missing",
    502: "upstream_error/bad_response",
    504: "timeout_or_limit/timeout",
}
_RPC = {
    -32700: "invalid_parameter/malformed_call",
    -32600: "invalid_parameter/malformed_call",
    -32601: "tool_not_covered/unknown_tool",
    -32602: "invalid_parameter",
    -32603: "upstream_error/tool_crash",
    -32001: "timeout_or_limit/timeout",
    -32002: "context_gap/wrong_target",
}
_WORDS = {
    "invalid_argument": "invalid_parameter",
    "out_of_range": "invalid_parameter/value_out_of_range",
    "not_found": "context_gap/wrong_target",
    "enoent": "context_gap/wrong_target",
    "enotdir": "context_gap/wrong_target",
    "eisdir": "context_gap/wrong_target",
    "already_exists": "stale_context/precondition_not_met",
    "eexist": "stale_context/precondition_not_met",
    "enotempty": "stale_context/precondition_not_met",
    "failed_precondition": "stale_context/precondition_not_met",
    "aborted": "stale_context/stale_edit",
    "permission_denied": "permission_denied/forbidden",
    "forbidden": "permission_denied/forbidden",
    "access_denied": "permission_denied/forbidden",
    "eacces": "permission_denied/forbidden",
    "eperm": "permission_denied/forbidden",
    "unauthenticated": "permission_denied/auth_missing_or_expired",
    "unauthorized": "permission_denied/auth_missing_or_expired",
    "deadline_exceeded": "timeout_or_limit/timeout",
    "timeout": "timeout_or_limit/timeout",
    "etimedout": "timeout_or_limit/timeout",
    "resource_exhausted": "timeout_or_limit/rate_limited",
    "rate_limited": "timeout_or_limit/rate_limited",
    "too_many_requests": "timeout_or_limit/rate_limited",
    "cancelled": "timeout_or_limit/cancelled",
    "unimplemented": "tool_not_covered/capability_missing",
    "method_not_found": "tool_not_covered/unknown_tool",
    "unavailable": "upstream_error/network_unreachable",
    "econnrefused": "upstream_error/network_unreachable",
    "enotfound": "upstream_error/network_unreachable",
    "econnreset": "upstream_error/network_unreachable",
    "internal": "upstream_error/http_5xx",
    "internal_error": "upstream_error/http_5xx",
    "unknown": "upstream_error/http_5xx",
    "internal_server_error": "upstream_error/http_5xx",
    "data_loss": "upstream_error/http_5xx",
    "enospc": "upstream_error/environment_failure",
    "bad_request": "invalid_parameter",
    "invalid_params": "invalid_parameter",
    "validation_error": "invalid_parameter",
}
_EXIT = {
    2: "invalid_parameter",
    124: "timeout_or_limit/timeout",
    126: "permission_denied/forbidden",
    127: "upstream_error/dependency_missing",
    130: "timeout_or_limit/cancelled",
    134: "upstream_error/tool_crash",
    137: "timeout_or_limit/output_or_context_limit",
    139: "upstream_error/tool_crash",
    143: "timeout_or_limit/cancelled",
}


def class_of_code(code: object) -> str | None:
    """The class for an HTTP, JSON-RPC or gRPC code, a number or a word; None where it says nothing."""
    if isinstance(code, str):
        text = code.strip()
        if text.lstrip("-").isdigit() and len(text) < 9:
            return class_of_code(int(text))
        return _WORDS.get(text.lower().replace(" ", "_").replace("-", "_")) if len(text) < 40 else None
    if isinstance(code, bool) or not isinstance(code, int):
        return None
    if -32099 <= code <= -32000 and code not in _RPC:
        return "upstream_error/tool_crash"
    if 500 <= code < 600 and code not in _HTTP:
        return "upstream_error/http_5xx"
    return _HTTP.get(code) or _RPC.get(code) or ("invalid_parameter" if 400 <= code < 500 else None)


def is_failure_code(code: object) -> bool:
    """True for an HTTP status of 400 and above or a JSON-RPC error code."""
    if isinstance(code, str) and len(code) < 9 and code.lstrip("-").isdigit():
        code = int(code)
    return isinstance(code, int) and not isinstance(code, bool) and (400 <= code < 600 or -32800 <= code <= -32000)


def class_of_exit(code: int) -> str | None:
    """The class for a shell's exit status, None where it says nothing (sysexits and signals as shells report them)."""
    return _EXIT.get(code)
