"""Secrets never leave in an export: by shape, by place, and again wherever a known one is repeated."""

from __future__ import annotations

import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.export.redact import Redactor
from reach_tui.export.secret_shapes import is_secret_name

WORD = string.ascii_letters + string.digits
BASE64 = WORD + "+/"
URLSAFE = WORD + "-_"
HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

Part = str | tuple[str, int]
KEYS: dict[str, list[list[Part]]] = {
    "github token": [["ghp_", (WORD, 36)], ["ghs_", (WORD, 36)], ["github_pat_", (WORD, 22), "_", (WORD, 59)]],
    "gitlab token": [["glpat-", (URLSAFE, 20)]],
    "anthropic key": [["sk-ant-api03-", (URLSAFE, 93), "AA"]],
    "openai key": [["sk-proj-", (URLSAFE, 64)], ["sk-svcacct-", (URLSAFE, 40)]],
    "google key": [["AIza", (URLSAFE, 35)]],
    "aws key id": [["AKIA", (UPPER, 16)], ["ASIA", (UPPER, 16)]],
    "slack token": [
        ["xoxb-", ("0123456789", 11), "-", ("0123456789", 12), "-", (WORD, 24)],
        ["xapp-1-A", (UPPER, 10), "-", (HEX, 64)],
    ],
    "stripe key": [["sk_live_", (WORD, 24)], ["rk_live_", (WORD, 99)]],
    "npm token": [["npm_", (WORD, 36)]],
    "pypi token": [["pypi-AgEIcHlwaS5vcmc", (URLSAFE, 70)]],
    "hugging face token": [["hf_", (WORD, 34)]],
    "groq key": [["gsk_", (WORD, 52)]],
    "sendgrid key": [["SG.", (URLSAFE, 22), ".", (URLSAFE, 43)]],
    "digitalocean token": [["dop_v1_", (HEX, 64)]],
    "jwt": [["eyJ", (URLSAFE, 20), ".eyJ", (URLSAFE, 60), ".", (URLSAFE, 43)]],
    "vault token": [["hvs.", (URLSAFE, 90)]],
    "private key": [
        ["-----BEGIN RSA PRIVATE KEY-----\n", (BASE64, 64), "\n", (BASE64, 40), "=\n-----END RSA PRIVATE KEY-----"],
        ["-----BEGIN PRIVATE KEY-----\n", (BASE64, 64), "\n-----END PRIVATE KEY-----"],
        ["-----BEGIN OPENSSH PRIVATE KEY-----\n", (BASE64, 64), "\n", (BASE64, 64)],
    ],
}
around = st.text(max_size=40)


def make_key(kind: str, seed: int) -> str:
    """A key of a kind, the same for the same seed."""
    chance = random.Random(seed)
    parts = chance.choice(KEYS[kind])
    return "".join(part if isinstance(part, str) else "".join(chance.choices(part[0], k=part[1])) for part in parts)


def secret() -> st.SearchStrategy[tuple[str, str]]:
    """A key of a known shape, with its kind."""
    return st.tuples(st.sampled_from(sorted(KEYS)), st.integers(0, 10**9)).map(lambda pair: (pair[0], make_key(*pair)))


@given(secret(), around, around)
@settings(max_examples=300, deadline=None)
def test_known_key_shapes_never_survive(key: tuple[str, str], before: str, after: str) -> None:
    _, text = key
    redactor = Redactor()
    assert text not in redactor.text(before + text + after)
    assert redactor.counts.total() >= 1


@given(secret(), around)
@settings(max_examples=100, deadline=None)
def test_nor_inside_arguments_of_any_shape(key: tuple[str, str], word: str) -> None:
    _, text = key
    value: JsonValue = {
        "command": f"curl -H '{text}' {word}",
        "env": [{word + text: [text]}],
        "nested": json.dumps({"k": text}),
    }
    shown = json.dumps(Redactor().value(value))
    assert json.dumps(text)[1:-1] not in shown
    assert text not in shown


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_the_mark_names_the_kind(kind: str) -> None:
    assert Redactor().text(f"a {make_key(kind, 1)} b").startswith(f"a [redacted: {kind}]")


passwords = st.text(WORD + "!#%*+~^@/-", min_size=4, max_size=40).map(lambda text: text + "7q")


@pytest.mark.parametrize(
    "place",
    [
        "export DB_PASSWORD={}",
        "DB_PASSWORD = '{}'",
        "password: {}",
        '{{"user": "a", "password": "{}"}}',
        '"{{\\"client_secret\\": \\"{}\\"}}"',
        "apiKey={}",
        "mysql --password={} -e 'select 1'",
        "deploy --api-key {} --now",
        "Authorization: Bearer {}xxxxxxxx",
        "https://example.test/?access_key={}&page=2",
    ],
)
@given(value=passwords)
@settings(max_examples=40, deadline=None)
def test_values_in_a_secrets_place_do_not_survive(place: str, value: str) -> None:
    text = place.format(value)
    shown = Redactor().text(text)
    assert value not in shown.replace("[redacted: secret]", "").replace("[redacted: authorization]", "")


@pytest.mark.parametrize("url", ["postgres://app:hunter2x@db:5432/x", "https://bob:pa55%40wd@host.test/a?b=c"])
def test_passwords_in_urls_go_and_the_rest_stays(url: str) -> None:
    shown = Redactor().text(f"psql {url} -c 'select 1'")
    assert "hunter2x" not in shown
    assert "pa55" not in shown
    assert "[redacted: url password]@" in shown
    assert url.rsplit("@", 1)[1] in shown


@pytest.mark.parametrize(
    "text",
    [
        "def parse(token: Token) -> str:",
        "token = self.next_token()",
        "max_tokens=4096, tokens: 12000",
        "PWD=/home/dev/shop",
        "password = os.environ['DB_PASSWORD']",
        "password: str",
        "a task-management-system-overview-document",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "ses_5aa6b0bd4ffe2xNUGpuNcYHXtU/prt_a5594f43e001yQd0lJ2aZLyUxm",
        "oldString not found in content",
        "mail dev@example.test",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "name", ["password", "apiKey", "DB_PASSWORD", "x-auth-token", "clientSecret", "AWS_SECRET_ACCESS_KEY"]
)
def test_a_field_named_like_a_secret_is_emptied(name: str) -> None:
    assert is_secret_name(name)
    shown = Redactor().value({name: "plain words", "list": {name: ["one", 2]}, "value": 1})
    assert shown == {
        name: "[redacted: secret]",
        "list": {name: ["[redacted: secret]", "[redacted: secret]"]},
        "value": 1,
    }


@pytest.mark.parametrize(
    "name", ["call_key", "tokens", "session_id", "max_tokens", "tokenizer", "key", "keys", "monkey"]
)
def test_other_fields_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_slot_named_like_a_secret_is_emptied_too() -> None:
    slot: dict[str, JsonValue] = {"name": "password", "value": "opensesame", "source": "user"}
    assert Redactor().value(slot) == {**slot, "value": "[redacted: secret]"}


def test_a_value_known_from_one_place_is_replaced_everywhere() -> None:
    document: JsonValue = [{"env": {"DB_PASSWORD": "Tr0ub4dor&3"}}, {"text": "login with Tr0ub4dor&3 failed"}]
    redactor = Redactor()
    redactor.learn(document)
    assert "Tr0ub4dor" not in json.dumps(redactor.value(document))


def test_two_secret_keys_are_both_kept() -> None:
    keys: JsonValue = {"ghp_" + "a" * 36: 1, "ghp_" + "b" * 36: 2}
    assert Redactor().value(keys) == {"[redacted: github token]": 1, "[redacted: github token] #2": 2}


@given(st.lists(st.one_of(around, secret().map(lambda pair: pair[1])), min_size=3, max_size=7), st.data())
@settings(max_examples=100, deadline=None)
def test_evidence_keeps_pointing_at_its_place(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts[:1]) + "⟦evidence⟧" + "".join(parts[1:])
    start = text.index("⟦evidence⟧")
    record: JsonValue = {
        "result": text,
        "evidence": {"text": "⟦evidence⟧", "start": start, "end": start + 10, "where": "result"},
    }
    assert isinstance(record, dict)
    shown = Redactor().call(record)
    evidence, result = shown["evidence"], shown["result"]
    assert isinstance(evidence, dict)
    assert isinstance(result, str)
    begin, end = evidence["start"], evidence["end"]
    assert isinstance(begin, int)
    assert isinstance(end, int)
    assert result[begin:end] == evidence["text"]
    assert "⟦evidence⟧" in str(evidence["text"]) or "[redacted" in str(evidence["text"])


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    ["eyJ", "sk-", "-----BEGIN PRIVATE KEY-----\n", "a://b:", 'password:"', "bearer ", "--token ", "AKIA", 'cookie\\"'],
)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    Redactor().text(unit * (500_000 // len(unit)))
    Redactor().text("a" * 500_000 + unit + "b" * 500_000)
