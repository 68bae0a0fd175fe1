"""fathom search: every service by its options and variables, one helping out another, and where keys go."""
import json
import unittest
import urllib.parse

import flow

KEY = "key-of-a-service-1"
SERVICES = {  # name: (option for its address, path at the stub, variable of its key)
    "serper": ("--serper-url", "/serper", "SERPER_API_KEY"),
    "brave": ("--brave-url", "/brave", "BRAVE_API_KEY"),
    "tavily": ("--tavily-url", "/tavily", "TAVILY_API_KEY"),
    "searxng": ("--searxng-url", "", None),
    "wikipedia": ("--wikipedia-url", "/wikipedia", None),
    "duckduckgo": ("--duckduckgo-url", "/duckduckgo", None),
}
DOWN = {"status": 500, "body": "oops", "headers": {"Retry-After": "0"}}


class Search(flow.FlowTest):
    def addresses(self, web):
        return [part for option, path, _ in SERVICES.values() for part in (option, web + path)]

    def paths(self, log):
        return [urllib.parse.urlsplit(line["path"]).path for line in flow.read_lines(log)]

    def test_every_service_by_its_own_options(self):
        web, log = self.stub_web({"serper_key": KEY, "brave_key": KEY, "tavily_key": KEY})
        for name, (option, path, variable) in SERVICES.items():
            for address in ((option, web + path), ("--search-url", web + path)):
                done = self.expect(0, "search", "lighthouse", "--search", name, *address, env={variable: KEY} if variable else {})
                self.assertIn("The lighthouse of Kell", done.stdout)
                self.assertIn("built in 1857", done.stdout)
                self.assertIn(f'search for "lighthouse": 2 results from {name}', done.stderr)
                self.assertNotIn("these results come from", done.stdout)
                self.assertNotIn(KEY, done.stdout + done.stderr)
        self.assertEqual(self.paths(log), [path for path in ("/serper", "/brave", "/tavily", "/search",
                                                             "/wikipedia/api.php", "/duckduckgo") for _ in range(2)])

    def test_next_one_helps_out(self):
        """In the order given: an error, a used up quota and an empty answer lead on."""
        script = {"services": {"serper": DOWN, "brave": {"status": 429, "type": "application/json", "body": json.dumps(
            {"type": "ErrorResponse", "error": {"code": "QUOTA_LIMITED", "detail": "Request quota limit exceeded."}})},
            "tavily": []}}
        web, log = self.stub_web(script)
        keys = {variable: KEY for _, _, variable in SERVICES.values() if variable}
        done = self.expect(0, "search", "lighthouse", "--search", "serper,brave,tavily,wikipedia,duckduckgo",
                           *self.addresses(web), env=keys)
        self.assertIn("(serper failed, brave failed, tavily found nothing; these results come from wikipedia.)", done.stdout)
        self.assertIn("/wiki/The_lighthouse_of_Kell", done.stdout)
        self.assertIn("Serper failed (HTTP 500)", done.stderr)
        self.assertIn("Brave Search: the quota is used up", done.stderr)
        self.assertEqual(sorted(set(self.paths(log))), ["/brave", "/serper", "/tavily", "/wikipedia/api.php"])

    def test_nobody_can_help(self):
        web, _ = self.stub_web({"services": {"wikipedia": DOWN, "duckduckgo": {"status": 202, "body": "anomaly-modal"}}})
        done = self.expect(1, "search", "lighthouse", "--search", "wikipedia,duckduckgo", *self.addresses(web))
        self.assertIn("no requests from programs", done.stdout)
        self.assertIn("Wikipedia failed", done.stderr)
        self.assertIn("proof that a human asks", done.stderr)
        self.assertNotIn("127.0.0.1", done.stdout)

    def test_trained_profiles_are_not_told(self):
        web, _ = self.stub_web({"services": {"wikipedia": []}})
        done = self.expect(0, "search", "one", "two", "--search", "wikipedia,duckduckgo", "--profile", "tongyi", *self.addresses(web))
        self.assertNotIn("these results come from", done.stdout)
        self.assertNotIn("listed above", done.stdout)
        self.assertEqual(done.stdout.count("[The lighthouse of Kell]"), 2)

    def test_auto_takes_what_is_configured(self):
        web, log = self.stub_web({"services": {"brave": [], "tavily": []}})
        done = self.expect(0, "search", "lighthouse", *self.addresses(web), env={"BRAVE_API_KEY": KEY, "TAVILY_API_KEY": KEY})
        self.assertIn("(brave found nothing, tavily found nothing; these results come from searxng.)", done.stdout)
        self.assertEqual(self.paths(log), ["/brave", "/tavily", "/search"])

    def test_a_corpus_first(self):
        self.write("notes/kell.md", "# The lighthouse of Kell\n\nIt was built in 1857 by Maria Oswin.\n")
        self.expect(0, "index", "notes", "--into", "notes.db")
        web, log = self.stub_web()
        chain = ("--search", "corpus,wikipedia", "--corpus", "notes.db", *self.addresses(web))
        self.assertIn("1 result from corpus", self.expect(0, "search", "lighthouse Kell", *chain).stderr)
        self.assertEqual(self.paths(log), [])
        done = self.expect(0, "search", "submarine telegraph", *chain)
        self.assertIn("(corpus found nothing; these results come from wikipedia.)", done.stdout)
        done = self.expect(0, "search", "submarine telegraph", "--corpus", "notes.db", *self.addresses(web))
        self.assertIn("Nothing was found", done.stdout)  # by itself it keeps queries here
        self.assertEqual(self.paths(log), ["/wikipedia/api.php"])

    def test_from_a_file(self):
        web, _ = self.stub_web({"services": {"wikipedia": []}})
        path = self.write("my.yaml", f"search: [wikipedia, brave]\nwikipedia: {{url: {web}/wikipedia}}\n"
                                     f"brave:\n  url: {web}/brave\n  key: {KEY}\n")
        self.assertIn("these results come from brave", self.expect(0, "search", "lighthouse", "--config", path).stdout)

    def test_keys_stay_with_their_address(self):
        """A key that the environment gives for one address does not travel to that of a flag."""
        web, log = self.stub_web()
        for name in ("serper", "brave", "tavily"):
            option, path, variable = SERVICES[name]
            own = f"FATHOM_{name.upper()}_URL"
            done = self.expect(1, "search", "lighthouse", "--search", name, option, web + path,
                               env={variable: KEY, own: "https://elsewhere.example/"})
            self.assertIn(variable, done.stderr)
            self.assertIn("elsewhere.example", done.stderr)
        self.assertNotIn(KEY, log.read_text() if log.exists() else "")
        self.assertEqual(self.paths(log), [])

    def test_says_what_is_wrong(self):
        for arguments, word in (
                (("--search", "serper,brave"), "needs a key"),
                (("--search", "wikipedia,tavily"), "TAVILY_API_KEY"),
                (("--search", "wikipedia,searxng"), "SEARXNG_URL"),
                (("--search", "wikipedia,corpus"), "--corpus"),
                (("--search", "auto,wikipedia"), "auto stands alone"),
                (("--search", "wikipedia,wikipedia"), "named twice"),
                (("--search", "bing"), "duckduckgo"),
                (("--search", "wikipedia", "--wikipedia-url", "ftp://wiki.example/"), "http://"),
        ):
            done = self.expect(2, "search", "lighthouse", *arguments)
            self.assertIn(word, done.stderr)

    def test_doctor_says_each(self):
        web, _ = self.stub_web()
        done = self.run_fathom("doctor", "--search", "brave,wikipedia", *self.addresses(web), env={"BRAVE_API_KEY": KEY},
                               timeout=120)
        self.assertIn("brave: has a key, at an address of yours; then wikipedia: needs no key", " ".join(done.stdout.split()))
        self.assertNotIn("has no use for it", done.stdout)
        self.assertIn("a query was answered", done.stdout)
        self.assertNotIn(KEY, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
