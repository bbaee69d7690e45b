"""What each word of the four metrics means: shown on screen, and printed as the table of docs/metrics.md.

python -m reach_tui.analyze.metric_words
"""

from __future__ import annotations

WORDS: tuple[tuple[str, str], ...] = (
    (
        "task",
        "a session whose store recorded how it ended (`success`, `corrected`, `failed`, `no_capability`); "
        "in all others, a user's turn in which a tool was called",
    ),
    (
        "open",
        "it has not ended, or it ended with a call and without a word of the agent: counted apart, in no rate",
    ),
    (
        "end to end",
        "the recorded outcome is `success`; or no failure was left unrecovered, the agent had the last "
        "word, and the user's next message does not reject the result",
    ),
    (
        "unrecovered",
        "a failed call, by content and not by flag, after which the same tool did not succeed again in that task",
    ),
    (
        "after a repair",
        "an end-to-end success with a failure, a question back, or a call sent again on the way; it "
        "counts as end to end and never as first pass",
    ),
    (
        "first pass",
        "an end-to-end success without any of these",
    ),
    (
        "corrected",
        'the user\'s next message begins by rejecting the result ("no, …", "that\'s wrong", "you forgot", '
        "不对, 还是不行). A further wish is no correction. The words are shown",
    ),
    (
        "coverage",
        "of the tasks with a recorded routing decision, those where at least one candidate reached `t1`. "
        "Below 85 % a tool is missing: the alarm",
    ),
    (
        "attribution",
        "failed tasks by whose reach ended (tool, context, execution, model): the class of the failure "
        "that was not recovered from",
    ),
)


def table() -> str:
    """The words as a Markdown table."""
    return "\n".join(["| word | means |", "|---|---|", *(f"| {word} | {text} |" for word, text in WORDS)]) + "\n"


if __name__ == "__main__":
    print(table(), end="")
