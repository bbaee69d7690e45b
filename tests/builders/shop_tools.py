"""The candidates that the invented shop's router would name, by what is asked."""

from __future__ import annotations

from tests.builders.storyteller import Scores

ORDER = "1000200030004001"
REFUND: Scores = (
    ("query_refund", 0.91, "refund, one order number"),
    ("query_payment", 0.42, "payment of an order"),
    ("search_order", 0.31, "finds orders"),
)
SEARCH: Scores = (("search_order", 0.88, "a customer, no order number yet"), ("query_refund", 0.35, "needs the number"))
EDGE: Scores = (
    ("query_payment", 0.66, "describes itself as: transaction information"),
    ("query_refund", 0.61, "describes itself as: transaction information"),
    ("search_order", 0.40, "finds orders"),
)
NOTIFY: Scores = (("notify_customer", 0.86, "sends a template"), ("search_customer", 0.33, "finds people"))
READ: Scores = (("read_file", 0.89, "a path is named"), ("bash", 0.44, "could cat it"))
EDIT: Scores = (
    ("edit_file", 0.87, "replace text in a file"),
    ("write_file", 0.52, "whole file"),
    ("bash", 0.41, "sed"),
)
SHELL: Scores = (("bash", 0.84, "a command is named"), ("read_file", 0.38, "reads files"))
HTTP: Scores = (("http_get", 0.85, "an address is named"), ("bash", 0.47, "curl"))
TRACK: Scores = (("track_parcel", 0.83, "parcel number"), ("http_get", 0.36, "carrier page"))
