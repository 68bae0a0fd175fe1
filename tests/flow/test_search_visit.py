"""fathom search and fathom visit: the tools by themselves, against a scripted web."""
import json
import unittest

from flow import FlowTest


class Search(FlowTest):
    def test_searxng(self):
        web, log = self.stub_web()
        done = self.expect(0, "search", "first question", "second question", "--search", "searxng", "--search-url", web)
        self.assertIn("/page/a", done.stdout)
        self.assertIn("first question", done.stdout)
        requests = [json.loads(line)["path"] for line in log.read_text().splitlines()]
        self.assertEqual(len(requests), 2)

    def test_json_is_structured(self):
        web, _ = self.stub_web()
        done = self.expect(0, "search", "question", "--json", env={"SEARXNG_URL": web})
        result = json.loads(done.stdout)
        self.assertEqual((result["tool"], result["status"]), ("search", "ok"))
        self.assertEqual(result["arguments"], {"query": ["question"]})
        self.assertTrue(any(source["url"].endswith("/page/a") for source in result["sources"]))

    def test_serper_with_either_name_of_its_key(self):
        web, log = self.stub_web({"serper_key": "key-of-serper-1"})
        for name in ("SERPER_API_KEY", "SERPER_KEY_ID"):
            done = self.expect(0, "search", "question", "--search", "serper", "--search-url", f"{web}/serper",
                               env={name: "key-of-serper-1"})
            self.assertIn("/page/a", done.stdout)
            self.assertNotIn("key-of-serper-1", done.stdout + done.stderr)
        self.assertIn("key-of-serper-1", log.read_text())

    def test_failure_is_said_to_both(self):
        web, _ = self.stub_web({"searxng_json": False})
        done = self.expect(1, "search", "question", "--search", "searxng", "--search-url", web)
        self.assertIn("failed", done.stdout)
        self.assertIn("json", done.stderr.lower())

    def test_nothing_to_search_in(self):
        done = self.expect(1, "search", "question")
        self.assertIn("--corpus", done.stderr)
        self.assertIn("SEARXNG_URL", done.stderr)


class Visit(FlowTest):
    def test_internal_pages_need_permission(self):
        web, log = self.stub_web()
        done = self.expect(1, "visit", f"{web}/page/a", "--goal", "what is it", "--summarizer", "extractive")
        self.assertNotIn("127.0.0.1:", done.stdout.replace(web, ""))
        self.assertIn("--allow-address", done.stderr)
        self.assertFalse(log.exists() and log.read_text())
        done = self.expect(0, "visit", f"{web}/page/a", "--goal", "what is it", "--summarizer", "extractive",
                           "--allow-address", "127.0.0.1")
        self.assertIn("/page/a", done.stdout)

    def test_json_is_structured(self):
        web, _ = self.stub_web()
        done = self.expect(0, "visit", f"{web}/page/a", f"{web}/404", "-g", "what is it", "--json", "--summarizer",
                           "extractive", "--allow-address", "127.0.0.0/8")
        result = json.loads(done.stdout)
        self.assertEqual((result["tool"], result["status"]), ("visit", "ok"))
        self.assertEqual([source["url"] for source in result["sources"]], [f"{web}/page/a"])
        self.assertGreaterEqual(result["elapsed_ms"], 0)

    def test_summary_by_the_model(self):
        web, _ = self.stub_web()
        summary = json.dumps({"rational": "r", "evidence": "Word for word.", "summary": "In short."})
        url, log = self.stub({"replies": [{"text": summary}]})
        done = self.expect(0, "visit", f"{web}/page/a", "--goal", "what is it", "--base-url", url, "--allow-address",
                           "127.0.0.1")
        self.assertIn("In short.", done.stdout)
        self.assertIn("what is it", log.read_text())

    def test_summary_by_a_model_of_its_own(self):
        web, _ = self.stub_web()
        summary = json.dumps({"rational": "r", "evidence": "Word for word.", "summary": "In short."})
        agent, agent_log = self.stub({"replies": [{"text": "not asked"}]})
        other, other_log = self.stub({"models": ["small"], "replies": [{"text": summary}]})
        done = self.expect(0, "visit", f"{web}/page/a", "--goal", "what is it", "--base-url", agent, "--allow-address",
                           "127.0.0.1", env={"API_BASE": other, "API_KEY": "key-of-summary", "SUMMARY_MODEL_NAME": "small"})
        self.assertIn("In short.", done.stdout)
        self.assertIn("Bearer key-of-summary", other_log.read_text())
        self.assertIn('"model": "small"', other_log.read_text().replace('\\"', '"').replace('"model":"', '"model": "'))
        self.assertNotIn("key-of-summary", agent_log.read_text() + done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
