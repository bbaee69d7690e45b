"""What secrets look like: token formats as their issuers document them, and fields and flags with a secret's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Shape:
    """A recognisable secret. `pattern` is tried only where one of `hints` (lower case) occurs.

    A group `secret` is what is replaced; without one it is the whole match.
    """

    kind: str
    hints: tuple[str, ...]
    regex: str
    flags: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first tried: most never are."""
        return _compiled(self.regex, self.flags)


@cache
def _compiled(regex: str, flags: int) -> re.Pattern[str]:
    return re.compile(regex, flags)


def _shape(kind: str, hints: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(kind, tuple(hints.split()), pattern, flags)


# One entry a documented format. Long prefixes need nothing before them; short ones must not continue a word.
SHAPES = (
    _shape(
        "private key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        re.DOTALL,
    ),
    _shape("private key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _shape("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,255}+"),
    _shape("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}+"),
    _shape("gitlab token", "glpat- gldt- glrt- glptt- glcbt-", r"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.-]{20,300}+"),
    _shape("anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,300}+"),
    _shape("openai key", "sk-", r"sk-(?:proj|svcacct|admin|or-v1|None)-[A-Za-z0-9_-]{20,300}+"),
    _shape("api key", "sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,300}[0-9])[A-Za-z0-9_-]{20,300}+"),
    _shape("google key", "aiza", r"AIza[A-Za-z0-9_-]{35,}+"),
    _shape("google token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2000}+"),
    _shape("google secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,60}+"),
    _shape("aws key id", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}+"),
    _shape("slack token", "xox xapp- xwfp-", r"(?:xox[abeoprs](?:\.xox[bp])?|xapp|xwfp)-[A-Za-z0-9-]{10,300}+"),
    _shape(
        "slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,200}+"
    ),
    _shape("discord webhook", "discord", r"discord(?:app)?\.com/api/webhooks/[0-9]{5,30}/[A-Za-z0-9_-]{20,200}+"),
    _shape("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+"),
    _shape("stripe secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,250}+"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36,}+"),
    _shape("pypi token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,500}+"),
    _shape("hugging face token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _shape("groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    _shape("xai key", "xai-", r"xai-[A-Za-z0-9]{40,}+"),
    _shape("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}+"),
    _shape("replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}+"),
    _shape("sendgrid key", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{16,64}+"),
    _shape("digitalocean token", "do", r"do[por]_v1_[a-f0-9]{64}"),
    _shape("linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}+"),
    _shape("notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+"),
    _shape("figma token", "fig", r"fig[dou]_[A-Za-z0-9_-]{32,}+"),
    _shape("shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    _shape("vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,300}+"),
    _shape("postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("telegram token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}+"),
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,1000}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    _shape("signature", "sig=", r"(?<![A-Za-z0-9])sig=(?P<secret>[A-Za-z0-9%+/=_-]{20,}+)", re.IGNORECASE),
    _shape(
        "url password",
        "://",
        r"[a-z][a-z0-9+.-]{1,30}://[^\s:/@'\"<>]{0,200}:(?P<secret>[^\s/@'\"<>]{1,500})@",
        re.IGNORECASE,
    ),
    _shape(
        "authorization",
        "bearer basic token",
        r"(?<![A-Za-z0-9])(?:bearer|basic|token)[ \t]+"
        r"(?P<secret>(?=[A-Za-z0-9._~+/=-]{0,400}[0-9=])[A-Za-z0-9._~+/=-]{12,4000}+)",
        re.IGNORECASE,
    ),
    _shape(
        "authorization",
        "authorization",
        r"authorization\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?(?:[A-Za-z]{1,20}[ \t]+)?(?P<secret>[^\s\"'\\,;]{6,4000}+)",
        re.IGNORECASE,
    ),
    _shape("password", "user -u", r"(?:^|\s)(?:-u|--user)[ =]?[\"']?[^\s:\"'/]{1,100}:(?P<secret>[^\s\"'/]{3,200}+)"),
)

_CERTAIN = (
    r"(?:password|passwd|passphrase|(?<=[_-])pass|(?<![a-z])pwd|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|account[_-]?key|auth[_-]?key|client[_-]?secret)"
)
_LIKELY = r"(?:token|secret|cookie)"
_GIVEN = r"(?P<q>\\*[\"'])?[ \t]*(?::=|=>|[:=])[ \t]*"
_QUOTED = r"(?P<quote>\\*[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\r\n]){1,2000})"
_PLAIN = r"(?P<plain>[^\s\"'`,;&|<>\\]{1,2000}+)"

FIELD_HINTS = ("pass", "pwd", "key", "secret", "token", "cookie")
FIELD = Shape("secret", FIELD_HINTS, rf"(?P<name>{_CERTAIN}|{_LIKELY}){_GIVEN}(?:{_QUOTED}|{_PLAIN})", re.IGNORECASE)
"""`name = value`, `name: value`, `"name": "value"`, also inside a JSON string; `is_secret_value` decides."""
FLAG = Shape(
    "secret",
    FIELD_HINTS,
    rf"--[a-z0-9-]{{0,40}}?(?P<name>{_CERTAIN}|{_LIKELY})[ \t]+(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE,
)
"""`--password value`, `--api-key value`."""

_SURE_NAME = re.compile(_CERTAIN, re.IGNORECASE)
_KEY = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|pass|pwd|api_?key|access_?key|secret_?key|private_?key|account_?key|auth_?key"
    r"|secret_?access_?key|token|secret|cookies?|authorization|credentials?)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)?|(?-i:\$[A-Z][A-Z0-9_]*)|%\(?\w*\)?[sd]"
    r"|\{\{?[\w. ]*\}?\}|<[\w -]+>?|\*+|x+|\.+|\[redacted.*",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?:str|string|bytes|int|bool|optional|none|null|nil|true|false|undefined|any|text|required|type)[)\].:]*"
    r"|(?:os|process|self|this|req|request|config|settings|args|env|ctx)[.\[].*|[a-z_][\w.]*\(.*|[(\[{}\])]+",
    re.IGNORECASE | re.DOTALL,
)


def is_secret_name(name: str) -> bool:
    """True for a field name that announces a secret: `password`, `apiKey`, `DB_PASSWORD`, `x-auth-token`."""
    return bool(_KEY.search(_CAMEL.sub("_", name[-200:]).replace("-", "_").replace(".", "_").replace(" ", "_").lower()))


def is_secret_value(match: re.Match[str]) -> bool:
    """True if what stands beside a secret's name is a value, not code or a placeholder.

    A password may be anything; a token must look random unless it is quoted, because parsers have tokens too.
    """
    quoted, plain = match["quoted"], match["plain"]
    value = quoted if quoted is not None else plain
    if len(value) < 3 or _PLACEHOLDER.fullmatch(value) or (quoted is None and _CODE.fullmatch(value)):
        return False
    if match["name"].lower() == "pwd" and value.startswith(("/", "~")):  # the working directory
        return False
    if _SURE_NAME.fullmatch(match["name"]) or match["name"].lower() in ("pass", "pwd"):
        return True
    if quoted is not None:
        return len(value) >= 8 and " " not in value
    return len(value) >= 12 and any(letter.isdigit() for letter in value)
