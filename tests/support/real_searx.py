"""A real searx (Debian's package), from which SearXNG comes, with one engine that asks a server on loopback."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

TEMPLATES = "/usr/share/python3-searx"
KNOWS_SEARX = "import importlib.util, sys; sys.exit(importlib.util.find_spec('searx') is None)"


def python_with_searx():
    """The Python whose modules include searx, which need not be the one that runs the tests; None where there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", KNOWS_SEARX], check=False).returncode == 0:
            return python
    return None


def settings(engine):
    """As settings.yml (JSON is YAML): no limiter, no other engine; port 0 lets the system choose."""
    return {
        "general": {"debug": False, "instance_name": "test", "contact_url": False, "enable_stats": False},
        "brand": {name: "" for name in ("git_url", "git_branch", "issue_url", "docs_url", "public_instances", "wiki_url",
                                        "twitter_url")},
        "search": {"safe_search": 0, "autocomplete": "", "default_lang": "", "ban_time_on_fail": 0,
                   "max_ban_time_on_fail": 0, "prefer_configured_language": False, "formats": ["html", "json"]},
        "server": {"port": 0, "bind_address": "127.0.0.1", "secret_key": "of a test", "base_url": False,
                   "image_proxy": False, "http_protocol_version": "1.1", "method": "GET", "default_http_headers": {}},
        "ui": {"static_path": f"{TEMPLATES}/static", "templates_path": f"{TEMPLATES}/templates",
               "default_theme": "oscar", "default_locale": "", "theme_args": {"oscar_style": "logicodev"}},
        "outgoing": {"request_timeout": 1.0, "useragent_suffix": "", "pool_connections": 10, "pool_maxsize": 10},
        "engines": [{"name": "loopback", "engine": "json_engine", "shortcut": "lo", "categories": "general",
                     "search_url": engine + "?q={query}", "results_query": "results", "url_query": "link",
                     "title_query": "title", "content_query": "snippet", "enable_http": True}],
        "locales": {"en": "English"},
        "doi_resolvers": {"oadoi.org": "https://oadoi.org/"},
        "default_doi_resolver": "oadoi.org",
    }


@contextlib.contextmanager
def running(python, engine, folder):
    """Runs searx for the time of a `with`; gives its address."""
    path = pathlib.Path(folder, "settings.yml")
    path.write_text(json.dumps(settings(engine)), encoding="utf-8")
    server = subprocess.Popen([python, "-m", "searx.webapp"], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                              env={"PATH": os.environ["PATH"], "HOME": folder, "SEARX_SETTINGS_PATH": str(path)})
    rest = threading.Thread(target=server.stderr.read, daemon=True)  # of its log, lest it waits for a reader
    try:
        said, address = [], None
        while address is None:
            said.append(server.stderr.readline())
            if not said[-1]:
                raise AssertionError("searx did not start:\n" + "".join(said[-20:]))
            address = re.search(r"Running on (http://127\.0\.0\.1:\d+)", said[-1])
        rest.start()
        yield address.group(1)
    finally:
        server.kill()
        server.wait(timeout=10)
        if rest.ident:
            rest.join()
        server.stderr.close()
