"""Invented sessions of the shop's agent with customers: refunds, questions, notices."""

from __future__ import annotations

from tests.builders.shop_tools import EDGE, NOTIFY, ORDER, REFUND, SEARCH, TRACK
from tests.builders.storyteller import Story, slot
from tests.builders.studio import Studio


def refund_found(studio: Studio) -> None:
    """Everything right: each slot has one source, no call failed."""
    story = Story(studio, "shop-01", f"Refund for order {ORDER}", hour=0)
    asked = story.user(f"Has the refund for order {ORDER} arrived?")
    number = slot("order_id", ORDER, "user", "user", asked)
    found = story.call(
        "query_refund",
        {"order_id": ORDER},
        '{"orderId":"1000200030004001","refundId":"rf-5501","status":"paid","amount":"49.90","currency":"EUR","error":null}',
        REFUND,
        [number],
        intent="query_refund_status",
    )
    story.call(
        "query_payment",
        {"order_id": ORDER, "refund_id": "rf-5501"},
        '{"payments":[{"id":"pay-88","kind":"refund","booked":"2026-05-29","amount":"49.90"}]}',
        (("query_payment", 0.82, "booking date"), ("query_refund", 0.55, "has no booking date")),
        [number, slot("refund_id", "rf-5501", "result", "query_refund", found)],
        intent="query_booking_date",
    )
    story.say("Yes: 49.90 EUR were booked on 29 May 2026.")
    story.end()


def last_week(studio: Studio) -> None:
    """A small gap leads to a question; three orders fit and one is taken; a refusal comes back as success."""
    story = Story(studio, "shop-02", "帮我看看上周那笔退款到账没 💸", hour=0.5, outcome="corrected")
    asked = story.user("帮我看看上周那笔退款到账没")
    story.decision(EDGE, "query_refund_status")
    story.say("您要查的是退款，还是付款？")
    answer = story.user("退款。我叫林小雨。", same_task=True)
    found = story.call(
        "search_order",
        {"customer": "林小雨", "from": "2026-05-25", "to": "2026-05-31"},
        '{"orders":[{"orderId":"1000200030004101"},{"orderId":"1000200030004102"},{"orderId":"1000200030004103"}]}',
        SEARCH,
        [
            slot("customer", "林小雨", "user", "user", answer),
            slot("from", "2026-05-25", "dictionary", "上周 = last seven days", asked),
            slot("to", "2026-05-31", "dictionary", "上周 = last seven days", asked),
        ],
        intent="find_order",
    )
    ambiguous = slot(
        "order_id",
        "1000200030004101",
        "result",
        "search_order",
        found,
        matches=3,
        confidence=0.33,
        note="3 different order numbers fit: ask instead of guessing",
    )
    story.call(
        "query_refund",
        {"order_id": "1000200030004101"},
        '{"ok":false,"error":{"code":"REFUND_NOT_FOUND","message":"该订单没有退款记录"}}',
        REFUND,
        [ambiguous],
        intent="query_refund_status",
    )
    story.say("退款还没有到账。")
    correction = story.user("不对，是 1000200030004103 那一单。", same_task=True)
    story.call(
        "query_refund",
        {"order_id": "1000200030004103"},
        '{"ok":true,"orderId":"1000200030004103","status":"paid","amount":"128.00","currency":"CNY"}',
        REFUND,
        [slot("order_id", "1000200030004103", "user", "user", correction)],
        intent="query_refund_status",
    )
    story.say("已到账：128.00 元。")
    story.end()


def not_covered(studio: Studio) -> None:
    """Nothing fits: an honest `no capability`, once with a weak candidate and once with none."""
    story = Story(studio, "shop-03", "Transcribe the customer's voice note", hour=1, outcome="no_capability")
    story.user("Please transcribe voice-note-17.ogg and answer her.")
    story.decision(
        (("read_file", 0.31, "reads text, not audio"), ("http_get", 0.12, "no address")),
        "transcribe_audio",
    )
    story.say("I have no tool that can listen to audio. A colleague should take this over.")
    story.user("Then call her on the phone.")
    story.decision((), "phone_call")
    story.say("I cannot make calls either.")
    story.end()


def loop(studio: Studio) -> None:
    """The same error five times and once more: the guard never fired, because no flag was set."""
    story = Story(studio, "shop-06", "批量通知客户：发货延迟", hour=4, outcome="failed")
    asked = story.user("通知这六位客户发货延迟：C-301 到 C-306。")
    texts = ["发货延迟", "您的包裹会晚到", "抱歉，发货延迟两天", "延迟通知", "物流延迟", "发货延迟通知"]
    for number, text in enumerate(texts):
        story.call(
            "notify_customer",
            {"customer_id": "C-301", "text": text},
            "参数错误：template_id 不能为空",
            NOTIFY,
            [
                slot("customer_id", "C-301", "user", "user", asked),
                slot("template_id", None, "none", matches=0, confidence=0.0, note="required, and filled from nowhere"),
                slot("text", text, "composed"),
            ],
            intent="notify_delay",
            ms=90 + number,
        )
    story.error("stopped: the step limit of this session is reached")
    story.end()


def unfinished(studio: Studio) -> None:
    """The last call never came back; the call before it was cut off in mid-word."""
    story = Story(studio, "shop-07", "Where is parcel 7731-AB?", hour=5, outcome=None)
    asked = story.user("Where is parcel 7731-AB?")
    number = slot("parcel", "7731-AB", "user", "user", asked)
    story.call(
        "track_parcel",
        {"parcel": "7731-AB"},
        '{"parcel":"7731-AB","status":"in transit","hub":"North 4"}',
        TRACK,
        [number],
        intent="track_parcel",
    )
    story.call(
        "http_get",
        {"url": "https://carrier.example/hubs/north-4"},
        "<html><body><h1>Hub North 4</h1><p>Opening hou",
        (("http_get", 0.62, "a page of the carrier"), ("search_policy", 0.58, "opening hours are a rule, too")),
        [
            slot(
                "url",
                "https://carrier.example/hubs/north-4",
                "assistant",
                "assistant",
                asked,
                confidence=0.4,
                note="only the agent itself named this address",
            )
        ],
        intent="hub_hours",
        metadata={"truncated": True},
    )
    story.call("track_parcel", {"parcel": "7731-AB", "history": True}, None, TRACK, [number], intent="track_parcel")
    story.end()


def three_refunds(studio: Studio) -> None:
    """Several tasks in one session; one write was refused in a friendly sentence that nobody flagged."""
    story = Story(studio, "shop-11", "Three refunds before lunch · 午饭前", hour=9)
    for number in range(1, 10):
        order = f"10002000300042{number:02d}"
        asked = story.user(f"Refund order {order}, the parcel came back.")
        found = story.call(
            "query_order_status",
            {"order_id": order},
            f'{{"orderId":"{order}","status":"returned","total":"{number}9.00"}}',
            (("query_order_status", 0.84, "state of one order"), ("search_order", 0.5, "finds orders")),
            [slot("order_id", order, "user", "user", asked)],
            intent="check_order",
        )
        amount = slot("amount", f"{number}9.00", "result", "query_order_status", found)
        refused = number == 6
        answer = (
            "Sorry, we could not create this refund: the daily limit of the service account is reached."
            if refused
            else (f'{{"ok":true,"refundId":"rf-60{number}","amount":"{number}9.00"}}')
        )
        story.call(
            "create_refund",
            {"order_id": order, "amount": f"{number}9.00"},
            answer,
            (("create_refund", 0.93, "refund, write"), ("query_refund", 0.58, "read only")),
            [slot("order_id", order, "user", "user", asked), amount],
            intent="create_refund",
            ms=420,
        )
        story.say(f"Refunded {number}9.00.")
    story.end()
