"""Names and words with which JSON answers say how a call went: keys, status words, what means nothing."""

from __future__ import annotations

INNER = (
    "response",
    "result",
    "results",
    "data",
    "output",
    "content",
    "body",
    "text",
    "message",
    "msg",
    "messages",
    "detail",
    "structuredContent",
    "tool_execution",
    "tool_result",
    "toolResult",
    "tool_response",
    "function_response",
    "functionResponse",
    "observation",
)
MESSAGES = (
    "message",
    "msg",
    "error_message",
    "errorMessage",
    "detail",
    "details",
    "title",
    "reason",
    "description",
    "error_description",
    "error_details",
    "error_text",
    "errmsg",
    "info",
    "error_type",
    "error-type",
)
ERRORS = ("error", "Error", "errors", "err", "exception")
ANSWERS = ("content", "result", "response", "output", "data")
REASONS = ("message", "msg", "error_message", "errorMessage", "detail", "reason", "error_description")
SAYS = ("message", "error", "text", "details", "detail", "reason", "code")
ITEM_RULES = frozenset(("json.is_error", "json.not_ok", "json.error"))
BESIDE = frozenset(
    [
        "error",
        "errors",
        "err",
        "status",
        "code",
        "success",
        "ok",
        "type",
        "iserror",
        "is_error",
        "statuscode",
        "status_code",
        "meta",
        "_meta",
        "timestamp",
        "time",
        "requestid",
        "request_id",
        "traceid",
        "trace_id",
        "path",
        "method",
        "url",
        "message",
        "messages",
        "info",
        "detail",
        "response",
        "result",
        "data",
        "instance",
        "version",
    ]
)
BESIDE_CODE = BESIDE | {"body", "title", "headers", "details", "text"}
CHECKED = frozenset(
    ("valid", "isvalid", "is_valid", "exists", "available", "allowed", "found", "deliverable", "spam", "safe")
)
COUNTS = ("count", "total", "total_errors", "score")
"""What a checker writes beside the errors that it found."""
BESIDE_STATUS = (BESIDE_CODE | frozenset(MESSAGES)) - {"url", "path", "method"}
"""Names that may stand beside a status without making it that of a record, or of an address that was checked."""
REFUSED_STATUS = frozenset(
    [
        "not_found",
        "unauthorized",
        "unauthorised",
        "unauthenticated",
        "forbidden",
        "access_denied",
        "permission_denied",
        "request_denied",
        "bad_request",
        "invalid_request",
        "invalid_argument",
        "invalid_input",
        "invalid_parameter",
        "invalid_parameters",
        "missing_parameter",
        "validation_error",
        "validation_failed",
        "over_query_limit",
        "over_daily_limit",
        "quota_exceeded",
        "rate_limited",
        "rate_limit_exceeded",
        "too_many_requests",
        "unknown_error",
        "internal_error",
        "internal_server_error",
        "server_error",
        "service_unavailable",
        "expired_token",
        "token_expired",
        "invalid_token",
        "invalid_api_key",
        "unsuccessful",
        "not_supported",
        "not_implemented",
        "method_not_allowed",
    ]
)
"""What services write as the status of a call that they refused; what becomes of an order or a job is none of these."""
CAPITALS = {
    "Status": "status",
    "Message": "message",
    "Msg": "msg",
    "Success": "success",
    "Reason": "reason",
    "Detail": "detail",
    "Code": "code",
    "StatusCode": "statusCode",
    "ErrorMessage": "errorMessage",
    "ErrorCode": "errorCode",
    "STATUS": "status",
    "MESSAGE": "message",
    "MSG": "msg",
    "SUCCESS": "success",
    "ERROR": "error",
    "CODE": "code",
}
"""Names that some services write with capitals."""
FOREIGN = 3
"""So many other names make a record of an object with a status."""
BAD_STATUS = frozenset(("error", "failed", "failure", "fail", "exception"))
ERROR_KINDS = {
    "error": None,
    "error-text": None,
    "error-json": None,
    "tool-error": None,
    "execution-denied": "permission_denied/user_rejected",
}
"""What the AI SDK and Home Assistant write as the kind of an answer."""
ERROR_ALONE = frozenset(("error", "message", "code", "status", "success"))
NOTHING = frozenset(("", "none", "null", "no", "false", "ok", "success", "0", "n/a", "(none)"))
NONE = ("0 ", "0:", "no error", "no issue", "none ")
CODES = ("status", "cod", "statusCode", "status_code", "code", "http_status", "httpStatus", "errorCode", "error_code")
