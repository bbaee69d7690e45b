"""The frame of an HTML page: no script, nothing loaded from anywhere, light and dark by the reader's system."""

from __future__ import annotations

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --text: #1d2129; --quiet: #5b6472; --ground: #ffffff; --panel: #f4f5f7;
  --line: #d9dde3; --hidden: #a1137f; --flagged: #b3261e; --soft: #7a5900; --mark: #ffe08a; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7ec; --quiet: #9aa4b2; --ground: #14171c; --panel: #1d2128;
  --line: #343b46; --hidden: #ff8be0; --flagged: #ff8a80; --soft: #ffd166; --mark: #6b5200; } }
body { margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--ground); }
h1 { font-size: 1.4rem; } .quiet { color: var(--quiet); }
"""

END = "</body>\n</html>"


def page_head(title: str, style: str) -> str:
    """Everything up to the title. `title` is HTML already; `style` comes after the rules that all pages share."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title} · reach-tui</title>\n<style>{_STYLE}{style.lstrip()}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>"
    )
