"""fathom scholar, and google_scholar within a run: papers from scripted services."""
import json
import unittest

import flow

SERVICES = {"serper-scholar-url": "serper", "openalex-url": "openalex", "semantic-scholar-url": "s2", "crossref-url": "crossref",
            "arxiv-url": "arxiv"}


class Scholar(flow.FlowTest):
    def services(self, script=None):
        """Starts the services; gives (options that point at them, path of their log)."""
        address, log = self.serve("stub_scholar.py", script or {})
        return [part for option, path in SERVICES.items() for part in (f"--{option}", f"{address}/{path}")], log

    def paths(self, log):
        return [line["path"].split("?")[0] for line in flow.read_lines(log)] if log.exists() else []

    def test_first_service_that_finds_something(self):
        options, log = self.services({"replies": {"openalex": {"body": '{"results": []}'},
                                                  "s2": {"status": 403, "body": '{"message": "Forbidden"}'}}})
        done = self.expect(0, "scholar", "stepped lenses", *options)
        self.assertIn("1. [Stepped lenses for coastal lights & beacons](https://doi.org/10.5555/coast.1998.45)", done.stdout)
        self.assertIn("come from crossref", done.stdout)
        self.assertIn("SEMANTIC_SCHOLAR_API_KEY", done.stderr)
        self.assertEqual(self.paths(log), ["/openalex", "/s2", "/crossref"])

    def test_each_service_by_name(self):
        for name, path, words in (("openalex", "/openalex", "Cited by: 198"), ("semantic-scholar", "/s2", "Cited by: 205"),
                                  ("crossref", "/crossref", "CO2 lamps"), ("arxiv", "/arxiv", "Coast. Surv. 31 (2022) 17-29")):
            options, log = self.services()
            done = self.expect(0, "scholar", "lens", "--scholar", name, *options)
            self.assertIn(words, done.stdout)
            self.assertEqual(self.paths(log), [path])

    def test_key_goes_to_its_service_and_nowhere_else(self):
        options, log = self.services({"serper_key": "key-of-serper-1"})
        done = self.expect(0, "scholar", "lens", *options, env={
            "SERPER_API_KEY": "key-of-serper-1", "OPENALEX_API_KEY": "key-of-openalex-1", "S2_API_KEY": "key-of-s2-1"})
        self.assertIn("Cited by: 214", done.stdout)
        requests = flow.read_lines(log)
        self.assertEqual(len(requests), 1)
        self.assertNotIn("openalex-1", json.dumps(requests))
        self.assertNotIn("key-of", done.stdout + done.stderr)
        options, log = self.services({"replies": {"serper": {"status": 500}}})
        self.expect(0, "scholar", "lens", "--scholar", "openalex,serper", *options, "--scholar-mailto", "me@home.example",
                    env={"SERPER_API_KEY": "key-of-serper-1", "OPENALEX_API_KEY": "key-of-openalex-1"})
        self.assertIn("mailto=me%40home.example&api_key=key-of-openalex-1", flow.read_lines(log)[0]["path"])

    def test_key_for_a_gateway_stays_there(self):
        for address in (["--search", "serper", "--search-url"], ["--serper-url"]):
            options, log = self.services()
            del options[:2]  # Serper's own address
            done = self.expect(0, "scholar", "lens", *options, "--serper-key", "key-of-gateway", *address,
                               "http://127.0.0.1:1/search")
            self.assertIn("is not sent to", done.stderr)
            self.assertEqual(self.paths(log), ["/openalex"])

    def test_wrong_usage(self):
        for arguments, words in ((["--scholar", "serper"], "SERPER_API_KEY"), (["--scholar", "auto,arxiv"], "alone"),
                                 (["--scholar", "arxiv,arxiv"], "twice"), (["--scholar", "scopus"], "semantic-scholar")):
            done = self.expect(2, "scholar", "lens", *arguments)
            self.assertIn(words, done.stderr)

    def test_failure_is_said_to_both(self):
        failed = {"status": 400, "body": '{"error": "no"}'}
        options, _ = self.services({"replies": {name: failed for name in ("openalex", "s2", "crossref", "arxiv")}})
        done = self.expect(1, "scholar", "lens", *options)
        self.assertIn("failed", done.stdout)
        self.assertNotIn("127.0.0.1", done.stdout)
        for name in ("OpenAlex", "Semantic Scholar", "Crossref", "arXiv"):
            self.assertIn(name, done.stderr)

    def test_tool_of_a_run(self):
        options, _ = self.services()
        call = ('<think>papers</think><tool_call>\n{"name": "scholar", "arguments": {"query": "stepped lenses"}}\n</tool_call>')
        url, log = self.stub({"replies": [{"text": call}, {"text": "<think>so</think><answer>1998</answer>"}]})
        asked = self.ask(url, "--tools", "google_scholar", *options)
        self.assertEqual(asked.result["prediction"], "1998")
        self.assertEqual(asked.result["tool_calls"], {"google_scholar": 1})
        self.assertIn("https://doi.org/10.5555/coast.1998.45", [source["url"] for source in asked.result["sources"]])
        first, second = flow.completions(log)
        self.assertIn("google_scholar", json.dumps(first))
        self.assertIn("Published in: Journal of Coastal Optics", json.dumps(second))


if __name__ == "__main__":
    unittest.main()
