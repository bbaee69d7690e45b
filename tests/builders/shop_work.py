"""Invented sessions of the shop's agent at its tools: edits, exports, logs, a carrier that is down."""

from __future__ import annotations

from reach_tui.base.jsonio import dumps
from tests.builders.shop_tools import EDIT, HTTP, ORDER, READ, SEARCH, SHELL, TRACK
from tests.builders.storyteller import Story, slot
from tests.builders.studio import Studio


def nightly_export(studio: Studio) -> None:
    """Hidden errors of four shapes: the store says success for each."""
    story = Story(studio, "shop-04", "Nightly export of refunds", hour=2, outcome="failed")
    asked = story.user("Export yesterday's refunds to exports/refunds.csv and upload them to the finance API.")
    story.call(
        "run_subagent",
        {"prompt": "collect yesterday's refunds"},
        "Error: agent_type is required unless background is true",
        (("run_subagent", 0.79, "a task of several steps"), ("bash", 0.51, "a script")),
        [
            slot("prompt", "collect yesterday's refunds", "composed"),
            slot("agent_type", None, "none", matches=0, confidence=0.0, note="required, and filled from nowhere"),
        ],
        intent="delegate",
    )
    story.call(
        "run_subagent",
        {"prompt": "collect yesterday's refunds", "agent_type": "collector"},
        "Collected 14 refunds into exports/raw.json",
        (("run_subagent", 0.81, "a task of several steps"), ("bash", 0.5, "a script")),
        [
            slot("prompt", "collect yesterday's refunds", "composed"),
            slot("agent_type", "collector", "default", "registry: the only value", asked),
        ],
        intent="delegate",
        ms=48_200,
    )
    story.call(
        "bash",
        {"command": "python export.py exports/raw.json exports/refunds.csv"},
        "Traceback (most recent call last):\n"
        '  File "export.py", line 12, in <module>\n'
        "    import tabulate\n"
        "ModuleNotFoundError: No module named 'tabulate'\n\n"
        "Exit code: 1",
        SHELL,
        [slot("command", "python export.py exports/raw.json exports/refunds.csv", "composed")],
        intent="run_export",
        metadata={"exit_code": 1},
        ms=640,
    )
    story.call(
        "bash",
        {"command": "python export.py --plain exports/raw.json exports/refunds.csv"},
        "wrote 14 rows",
        SHELL,
        [slot("command", "python export.py --plain exports/raw.json exports/refunds.csv", "composed")],
        intent="run_export",
        metadata={"exit_code": 0},
        ms=812,
    )
    story.call(
        "http_get",
        {"url": "https://finance.shop.example/api/upload?file=refunds.csv"},
        "HTTP 200 OK\ncontent-type: application/json\n\n"
        '{"status":"error","code":503,"message":"upload service is unavailable"}',
        HTTP,
        [
            slot(
                "url",
                "https://finance.shop.example/api/upload?file=refunds.csv",
                "assistant",
                "assistant",
                asked,
                confidence=0.45,
                note="only the agent itself named this address",
            )
        ],
        intent="upload_file",
        ms=1_900,
    )
    story.say("The refunds were exported and uploaded.")
    story.end()
    child = Story(studio, "shop-04-a", "Sub-agent: collect refunds", hour=2.01, parent="shop-04")
    child.user("collect yesterday's refunds")
    for page in range(1, 4):
        child.call(
            "list_refunds",
            {"day": "2026-05-31", "page": page},
            dumps({"page": page, "of": 3, "refunds": [f"rf-{page}{number}" for number in range(5 if page < 3 else 4)]}),
            (("list_refunds", 0.9, "refunds of a day"), ("query_refund", 0.5, "one order only")),
            [
                slot("day", "2026-05-31", "dictionary", "yesterday", 1),
                slot("page", page, "argument", "list_refunds", page),
            ],
            intent="list_refunds",
        )
    child.say("14 refunds.")
    child.end()


def stale_edit(studio: Studio) -> None:
    """The second edit quotes text that the first one replaced; the third quotes text that stands there twice."""
    story = Story(studio, "shop-05", "Fix the greeting in the address template", hour=3)
    path = "templates/address.txt"
    asked = story.user(f"In {path}, greet with 'Hello' and sign with our new name.")
    target = slot("path", path, "user", "user", asked)
    seen = story.call(
        "read_file",
        {"path": path},
        "  1→Dear {name},\n  2→we ship to {street}, {city}.\n  3→\n"
        "  4→Your shop team\n  5→Your shop team, order {order}",
        READ,
        [target],
        intent="read_template",
    )
    done = story.call(
        "edit_file",
        {"path": path, "old_string": "Dear {name},\nwe ship", "new_string": "Hello {name},\nwe ship"},
        f"Edited {path}: 1 replacement",
        EDIT,
        [
            target,
            slot("old_string", "Dear {name},\nwe ship", "result", "read_file", seen),
            slot("new_string", "Hello …", "composed"),
        ],
        intent="edit_template",
    )
    story.call(
        "edit_file",
        {"path": path, "old_string": "Dear {name},", "new_string": "Hello {name}!"},
        f"Error: old_string not found in {path}",
        EDIT,
        [
            target,
            slot(
                "old_string",
                "Dear {name},",
                "result",
                "read_file",
                seen,
                confidence=0.15,
                note=f"stale: replaced by the edit at step {done}",
            ),
            slot("new_string", "Hello {name}!", "composed"),
        ],
        intent="edit_template",
    )
    story.call(
        "edit_file",
        {"path": path, "old_string": "Your shop team", "new_string": "Your Example Shop"},
        "Error: found 2 matches of old_string; give more surrounding lines or set replace_all",
        EDIT,
        [
            target,
            slot(
                "old_string",
                "Your shop team",
                "result",
                "read_file",
                seen,
                matches=2,
                confidence=0.5,
                note="stands there twice",
            ),
            slot("new_string", "Your Example Shop", "composed"),
        ],
        intent="edit_template",
    )
    again = story.call(
        "read_file",
        {"path": path},
        "  1→Hello {name},\n  2→we ship to {street}, {city}.\n  3→\n"
        "  4→Your shop team\n  5→Your shop team, order {order}",
        READ,
        [target],
        intent="read_template",
    )
    story.call(
        "edit_file",
        {"path": path, "old_string": "Your shop team", "new_string": "Your Example Shop", "replace_all": True},
        f"Edited {path}: 2 replacements",
        EDIT,
        [
            target,
            slot("old_string", "Your shop team", "result", "read_file", again),
            slot("new_string", "Your Example Shop", "composed"),
        ],
        intent="edit_template",
    )
    story.say("Done.")
    story.end()


def hostile(studio: Studio) -> None:
    """What a trace may contain and a screen must survive."""
    story = Story(studio, "shop-08", "[red]Bold[/red] 订单 🧾 \x1b[31mnot red\x1b[0m \u202egnp.exe", hour=6)
    asked = story.user("Look up the customer called [/foo] [@click=app.quit]press[/] \x1b]52;c;ZXZpbA==\x07 thanks")
    story.call(
        "search_customer",
        {"name": "[/foo] [@click=app.quit]press[/]"},
        "\x1b[2J\x1b[H[bold]1 match[/bold]: C-999 \x00 \u202eevil\u202c 名字：欧阳 🐉\r\n" + "wide 宽 " * 600,
        (("search_customer", 0.85, "[blink]name[/blink] given"), ("search_order", 0.4, "\x1b[7mfinds orders\x1b[0m")),
        [slot("name", "[/foo] [@click=app.quit]press[/]", "user", "user", asked)],
        intent="find_customer [/]",
    )
    story.call(
        "bash",
        {"command": "printf '\\033]0;title\\007'; ls"},
        "\x1b]0;you have been renamed\x07a.txt\nb [link=https://evil.example]c[/link].txt\n"
        "$(reboot) `id` ${HOME} %s %n",
        SHELL,
        [slot("command", "printf …", "composed")],
        intent="list_files",
    )
    story.call(
        "search_order",
        {"customer": "=cmd|' /C calc'!A0"},
        '{"orders":[]}',
        SEARCH,
        [
            slot(
                "customer",
                "=cmd|' /C calc'!A0",
                "assistant",
                "assistant",
                asked,
                confidence=0.4,
                note="not in the user's words",
            )
        ],
        intent="find_order",
    )
    story.say("One customer, no orders. \u200b\ufeff\u2028[dim]end[/dim]")
    story.end()


def fallbacks(studio: Studio) -> None:
    """Flagged errors: too many calls, a gateway that is down, a timeout with a fallback, a denial."""
    story = Story(studio, "shop-09", "Carrier API is down: second candidate takes over", hour=7)
    asked = story.user("Is parcel 8842-CD delivered? If so, close ticket T-77.")
    number = slot("parcel", "8842-CD", "user", "user", asked)

    def track(result: str, status: int, ms: int) -> None:
        story.call(
            "track_parcel",
            {"parcel": "8842-CD"},
            result,
            TRACK,
            [number],
            intent="track_parcel",
            status=status,
            ms=ms,
        )

    track("retry after 800 ms", 429, 60)
    track("carrier gateway", 503, 205)
    track("carrier gateway", 503, 198)
    page = "https://carrier.example/t/8842-CD"
    story.call(
        "track_parcel",
        {"parcel": "8842-CD"},
        None,
        (
            ("track_parcel", 0.95, "parcel number"),
            ("http_get", 0.78, "carrier page, second candidate"),
            ("bash", 0.3, "curl"),
        ),
        [number],
        intent="track_parcel",
        ms=300,
        then=(
            "http_get",
            "<html><body><b>Delivered</b> 2026-05-30 14:02</body></html>",
            310,
            [slot("url", page, "argument", "track_parcel", asked + 1)],
        ),
    )
    story.call(
        "close_ticket",
        {"ticket": "T-77"},
        "service account may not close tickets",
        (("close_ticket", 0.9, "ticket number"), ("notify_customer", 0.3, "tells people")),
        [slot("ticket", "T-77", "user", "user", asked)],
        intent="close_ticket",
        status=403,
        ms=75,
    )
    story.call(
        "assign_ticket",
        {"ticket": "T-77", "to": "night-shift"},
        '{"ticket":"T-77","assigned":"night-shift"}',
        (("assign_ticket", 0.8, "hand over"), ("close_ticket", 0.6, "denied before")),
        [
            slot("ticket", "T-77", "user", "user", asked),
            slot("to", "night-shift", "default", "registry: default queue", asked),
        ],
        intent="hand_over_ticket",
    )
    story.say("Delivered on 30 May. I may not close tickets, so the night shift has it.")
    story.end()


def look_alikes(studio: Studio) -> None:
    """Nothing failed here, however much the results talk about errors."""
    story = Story(studio, "shop-10", "What went wrong in yesterday's log?", hour=8)
    story.user("Look through logs/shop.log, run the tests, and tell me what broke yesterday.")

    def command(text: str, result: str, code: int, intent: str) -> None:
        story.call(
            "bash",
            {"command": text},
            result,
            SHELL,
            [slot("command", text, "composed")],
            intent=intent,
            metadata={"exit_code": code},
        )

    story.call(
        "read_file",
        {"path": "logs/shop.log"},
        "  1→09:00:01 INFO started\n  2→09:12:44 ERROR carrier gateway: HTTP 503\n  3→09:12:45 INFO retry ok\n"
        "  4→09:30:10 ERROR Traceback (most recent call last): see ticket T-70",
        READ,
        [slot("path", "logs/shop.log", "user", "user", 1)],
        intent="read_log",
    )
    command("grep -n FATAL logs/shop.log", "", 1, "search_log")
    command(
        "grep -rn 'raise TimeoutError' src",
        "src/carrier.py:41:        raise TimeoutError(f'no answer after {limit} ms')",
        0,
        "search_code",
    )
    command("pytest -q", "F.........F..\n2 failed, 11 passed in 1.02s\n\nExit code: 1", 1, "run_tests")
    story.call(
        "query_payment",
        {"order_id": ORDER},
        '{"payments":[],"error":null,"failed":0}',
        (("query_payment", 0.8, "payments of an order"), ("query_refund", 0.6, "refunds")),
        [slot("order_id", ORDER, "dictionary", "order under test", 1)],
        intent="check_payments",
    )
    story.call(
        "search_policy",
        {"query": "error handling"},
        "1. Error: what to tell the customer when a payment failed\n2. Timeouts and retries",
        (("search_policy", 0.9, "a rule is asked for"), ("read_file", 0.3, "no path")),
        [slot("query", "error handling", "composed")],
        intent="find_policy",
    )
    story.say("The carrier gateway answered 503 once and recovered; two tests fail because of ticket T-70.")
    story.end()
