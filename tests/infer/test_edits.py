"""Edits held against the file as the session saw it: held, stale, near, by lines, nowhere; believed beside held."""

from __future__ import annotations

import json

import pytest

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.weights import DEFAULT
from reach_tui.model import Slot
from tests.infer.story import WRONG, Story

FILE = "import cart\n\ndef total(items):\n    return sum(items)\n\ndef count(items):\n    return len(items)\n"
NUMBERED = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(FILE.split("\n"), 1))


def reading(shown: str = NUMBERED) -> Story:
    return Story().user("fix src/cart.py").call("read_file", shown, path="src/cart.py")


def old(story: Story, text: str, **more: JsonValue) -> Slot:
    return story.slots("edit_file", path="src/cart.py", old_string=text, new_string="new", **more)["old_string"]


@pytest.mark.parametrize(
    "shown", [NUMBERED, FILE, "\n".join(f"{n:05d}| {line}" for n, line in enumerate(FILE.split("\n"), 1)),
              "<file>\n" + "\n".join(f"{n}: {line}" for n, line in enumerate(FILE.split("\n"), 1)) + "\n</file>",
              json.dumps({"content": FILE, "lines": 7})]
)  # fmt: skip
def test_held_whatever_the_reading_tool_adds(shown: str) -> None:
    slot = old(reading(shown), "def total(items):\n    return sum(items)")
    assert (slot.source, slot.origin, slot.matches, slot.confidence) == (
        "result",
        "step 2 · read_file",
        1,
        DEFAULT.result,
    )


def test_stale_after_the_own_edit() -> None:
    story = reading().call(
        "edit_file", "ok", path="/srv/shop/src/cart.py", old_string="sum(items)", new_string="fsum(items)"
    )
    slot = old(story, "    return sum(items)")
    assert (slot.confidence, slot.origin_step) == (DEFAULT.stale, 2)
    assert slot.note == "STALE: replaced by your own edit, step 3"
    assert old(story, "    return fsum(items)").confidence == DEFAULT.result
    belief = story.belief("edit_file", path="src/cart.py", old_string="    return sum(items)", new_string="x")
    assert belief is not None
    assert (belief.believed, belief.held) == (("    return sum(items)",), ("    return fsum(items)",))
    assert (belief.standing.step, belief.standing.replaced_by) == (2, 3)


def test_a_failed_edit_replaces_nothing() -> None:
    story = reading().call(
        "edit_file", "no", WRONG, path="src/cart.py", old_string="sum(items)", new_string="fsum(items)"
    )
    assert old(story, "    return sum(items)").confidence == DEFAULT.result


def test_read_again_it_is_held_again() -> None:
    story = reading().call("edit_file", "ok", path="src/cart.py", old_string="sum(items)", new_string="fsum(items)")
    story.call("edit_file", "ok", path="src/cart.py", old_string="fsum(items)", new_string="sum(items)")
    slot = old(story, "    return sum(items)")
    assert slot.confidence == DEFAULT.result
    story.call("read_file", FILE, path="src/cart.py")
    assert old(story, "    return sum(items)").origin_step == 5


def test_changed_by_somebody_else() -> None:
    story = reading().call("read_file", FILE.replace("sum", "max"), path="src/cart.py")
    slot = old(story, "    return sum(items)")
    assert slot.confidence == DEFAULT.gone
    assert slot.note == "STALE: no longer there when read again, step 3"


def test_a_part_read_leaves_the_rest_as_it_was() -> None:
    story = reading().call("read_file", "     6→def count(items):", path="src/cart.py", offset=6, limit=1)
    assert old(story, "    return sum(items)").confidence == DEFAULT.result


def test_written_whole() -> None:
    story = Story().call("write_file", "ok", path="src/new.py", content="a = 1\nb = 2\n")
    slot = story.slots("edit_file", path="src/new.py", old_string="b = 2", new_string="b = 3")["old_string"]
    assert (slot.source, slot.origin) == ("argument", "step 1 · write_file")
    story.call("write_file", "ok", path="src/new.py", content="c = 1\n")
    again = story.slots("edit_file", path="src/new.py", old_string="b = 2", new_string="b = 3")["old_string"]
    assert again.note == "STALE: replaced by your own edit, step 2"


@pytest.mark.parametrize(
    ("text", "most", "words"),
    [
        ("return  sum(items)", DEFAULT.blanks, "other blanks"),
        ("RETURN sum(items)", DEFAULT.case, "other case"),
        ("def nothing(of): kind", DEFAULT.absent, "INVENTED: not in the file"),
    ],
)
def test_near_and_nowhere(text: str, most: float, words: str) -> None:
    slot = old(reading(), text)
    assert slot.confidence == most
    assert words in slot.note


def test_by_lines() -> None:
    slot = old(reading(), "def total(items):\n    return sum(items)\n\ndef mean(items):\n    return 0")
    assert slot.note == "only 50% of its lines stand together in the file"
    assert slot.confidence == pytest.approx(DEFAULT.by_lines / 2, abs=0.001)
    belief = reading().belief(
        "edit_file", path="src/cart.py", old_string="def total(items):\n    return max(items)", new_string=""
    )
    assert belief is not None
    assert belief.held == ("def total(items):", "    return sum(items)")
    assert belief.line == 3


@pytest.mark.parametrize(("text", "count", "most"), [("items", 4, DEFAULT.thrice), ("(items):", 2, DEFAULT.twice)])
def test_not_unique(text: str, count: int, most: float) -> None:
    slot = old(reading(), text)
    assert slot.confidence == most
    assert slot.note == f"AMBIGUOUS: stands {count} times in the file"
    assert old(reading(), text, replace_all=True).confidence == DEFAULT.result


def test_a_file_that_was_never_read() -> None:
    story = Story().user("change `TAX = 0.19` in src/tax.py")
    slot = story.slots("edit_file", path="src/tax.py", old_string="TAX = 0.19", new_string="x")["old_string"]
    assert (slot.source, slot.confidence) == ("user", DEFAULT.unseen)
    assert story.belief("edit_file", path="src/tax.py", old_string="TAX = 0.19", new_string="x") is None
    slot = story.slots("edit_file", path="src/tax.py", old_string="TAX = 0.18", new_string="x")["old_string"]
    assert (slot.source, slot.confidence) == ("none", DEFAULT.absent)


def test_several_edits_in_one_call() -> None:
    story = reading()
    edits: list[JsonValue] = [{"oldText": "sum(items)", "newText": "max(items)"}, {"oldText": "nope()", "newText": ""}]
    slots = story.slots("edit", path="src/cart.py", edits=edits)
    assert slots["edits[0].oldText"].confidence == DEFAULT.result
    assert slots["edits[1].oldText"].confidence == DEFAULT.absent
    story.call("edit", "ok", path="src/cart.py", edits=edits[:1])
    assert "STALE" in story.slots("edit", path="src/cart.py", edits=edits)["edits[0].oldText"].note


def test_an_edit_may_build_on_the_one_before_it_in_the_call() -> None:
    edits: list[JsonValue] = [
        {"oldText": "sum(items)", "newText": "fancy_total(items)"},
        {"oldText": "fancy_total(items)", "newText": "total(items)"},
    ]
    slots = reading().slots("edit", path="src/cart.py", edits=edits)
    assert (slots["edits[1].oldText"].source, slots["edits[1].oldText"].confidence) == ("argument", DEFAULT.argument)
    backwards = reading().slots("edit", path="src/cart.py", edits=edits[::-1])
    assert backwards["edits[0].oldText"].confidence == DEFAULT.absent


PATCH = """*** Begin Patch
*** Update File: src/cart.py
@@
 def total(items):
-    return sum(items)
+    return 0
*** End Patch"""


@pytest.mark.parametrize("tool", ["apply_patch", "shell"])
def test_patches(tool: str) -> None:
    story = reading()
    given: JsonValue = (
        PATCH if tool == "apply_patch" else {"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}
    )
    leaf = "input" if tool == "apply_patch" else "command"
    assert story.slots(tool, given)[f"{leaf}[hunk 1]"].confidence == DEFAULT.result
    story.call("apply_patch", "ok", input=PATCH)
    slot = story.slots(tool, given)[f"{leaf}[hunk 1]"]
    assert slot.note == "STALE: replaced by your own edit, step 3"


def test_a_shell_reads_files_too() -> None:
    story = Story().user("go").call("bash", FILE, command="cd /srv/shop && cat src/cart.py")
    assert old(story, "    return sum(items)").origin == "step 2 · bash"


def test_many_versions_of_a_file() -> None:
    story = Story().user("go").call("read_file", "v = 0\n", path="v.py")
    for number in range(70):
        story.call("edit_file", "ok", path="v.py", old_string=f"v = {number}", new_string=f"v = {number + 1}")
    slots = story.slots("edit_file", path="v.py", old_string="v = 70", new_string="x")
    assert slots["old_string"].confidence == DEFAULT.result
    for number in (0, 15, 16, 17, 33, 69):
        slot = story.slots("edit_file", path="v.py", old_string=f"v = {number}", new_string="x")["old_string"]
        assert slot.note == f"STALE: replaced by your own edit, step {number + 3}"
        assert slot.origin_step == number + 2
