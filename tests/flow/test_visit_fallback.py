"""fathom visit where a page cannot be read directly, is long, or is summed up with words that are not in it."""
import json
import unittest

from flow import FlowTest

GOAL = ("--goal", "when was the lighthouse built", "--allow-address", "127.0.0.1")
EXTRACTIVE = (*GOAL, "--summarizer", "extractive")
CHALLENGE = ("<html><head><title>Just a moment...</title></head><body><p>Enable JavaScript and cookies to continue</p></body>"
             "</html>")
COPY = {"timestamp": "20230501120000", "path": "/page/a"}


def requests(log):
    return [json.loads(line)["path"] for line in log.read_text().splitlines()]


class Fallback(FlowTest):
    def web_with_services(self, script):
        web, log = self.stub_web(script)
        return web, log, ("--jina-url", f"{web}/jina", "--archive-url", f"{web}/archive")

    def test_a_page_that_is_gone_comes_from_the_archive(self):
        web, log, services = self.web_with_services({"archive": {"http://127.0.0.1:{port}/vanished": COPY}})
        done = self.expect(0, "visit", f"{web}/vanished", *EXTRACTIVE, *services, "--fallback", "jina,archive")
        self.assertIn("Note: read from the Internet Archive's copy of 2023-05-01, since there is no such page (HTTP 404)",
                      done.stdout)
        self.assertIn("Maria Oswin", done.stdout)
        self.assertIn(f"Link: {web}/vanished\n", done.stdout)
        asked = requests(log)
        self.assertIn(f"/web/20230501120000id_/{web}/vanished", asked)
        self.assertFalse([path for path in asked if path.startswith("/jina")])

    def test_the_order_is_the_users(self):
        for order, note in (("jina,archive", "read through Jina Reader"), ("archive,jina", "Internet Archive's copy of 2023-05-01")):
            web, _, services = self.web_with_services({"archive": {"http://127.0.0.1:{port}/403": COPY}})
            done = self.expect(0, "visit", f"{web}/403", *EXTRACTIVE, *services, "--fallback", order)
            self.assertIn(note, done.stdout)
            self.assertIn("since the site does not let this program in (HTTP 403)", done.stdout)

    def test_a_service_that_fails_is_followed_by_the_next(self):
        web, _, services = self.web_with_services({"jina_key": "key-of-jina-1",
                                                   "archive": {"http://127.0.0.1:{port}/wall": COPY},
                                                   "pages": {"/wall": {"body": CHALLENGE}}})
        done = self.expect(0, "visit", f"{web}/wall", *EXTRACTIVE, *services, "--fallback", "jina,archive",
                           env={"JINA_API_KEY": "key-of-jina-2"})
        self.assertIn("Internet Archive's copy of 2023-05-01, since the site wants proof", done.stdout)
        self.assertIn("refused the key", done.stderr)
        self.assertNotIn("key-of-jina", done.stdout + done.stderr)

    def test_the_key_goes_to_the_service(self):
        web, _, services = self.web_with_services({"jina_key": "key-of-jina-1"})
        done = self.expect(0, "visit", f"{web}/403", *EXTRACTIVE, *services, "--fallback", "jina", "--jina-key", "key-of-jina-1")
        self.assertIn("read through Jina Reader", done.stdout)
        self.assertNotIn("key-of-jina", done.stdout + done.stderr)

    def test_nobody_is_asked_by_default(self):
        web, log, services = self.web_with_services({})
        done = self.expect(1, "visit", f"{web}/403", *EXTRACTIVE, *services)
        self.assertIn("HTTP 403", done.stdout)
        self.assertEqual(set(requests(log)), {"/403"})

    def test_nobody_has_it(self):
        web, _, services = self.web_with_services({"jina_key": "x"})
        done = self.expect(1, "visit", f"{web}/vanished", *EXTRACTIVE, *services, "--fallback", "jina,archive")
        self.assertIn("(HTTP 404); check the address. It could not be had from the Internet Archive either.", done.stdout)

    def test_what_is_exempt_is_not_named_outside(self):
        web, _ = self.stub_web()
        done = self.expect(1, "visit", f"{web}/403", *EXTRACTIVE, "--fallback", "jina,archive", "--jina-url", "http://192.0.2.1",
                           "--archive-url", "http://192.0.2.1", timeout=20)
        self.assertIn("HTTP 403", done.stdout)

    def test_the_list_is_checked(self):
        for value in ("nobody", "none,jina"):
            done = self.expect(2, "visit", "https://e.example/", "--goal", "g", "--fallback", value)
            self.assertIn("fallback", done.stderr)


class Evidence(FlowTest):
    def test_words_that_are_not_in_the_page_are_marked_and_said(self):
        web, _ = self.stub_web()
        evidence = "It was built in 1857 by the engineer Maria Oswin.\n\nIt was torn down in 1958."
        url, _ = self.stub({"replies": [{"text": json.dumps({"rational": "r", "evidence": evidence, "summary": "s"})}]})
        done = self.expect(0, "visit", f"{web}/page/a", *GOAL, "--base-url", url)
        self.assertIn("\n[not found in the page] It was torn down in 1958.", done.stdout)
        self.assertNotIn("page] It was built", done.stdout)
        self.assertIn("1 of 2 quotations", done.stderr)

    def test_a_run_records_it(self):
        web, _ = self.stub_web()
        summary = json.dumps({"rational": "r", "evidence": "It was torn down in 1958.", "summary": "s"})
        call = json.dumps({"name": "visit", "arguments": {"url": [f"{web}/page/a"], "goal": "when was it built"}})
        url, _ = self.stub({"replies": [{"text": f"<think>t</think>\n<tool_call>\n{call}\n</tool_call>"}, {"text": summary},
                                        {"text": "<think>t</think>\n<answer>1857</answer>"}]})
        asked = self.ask(url, "--allow-address", "127.0.0.1", "--tools", "visit")
        self.assertIn("1 of 1 quotations of the summary do not occur", asked.texts_of("retry"))
        self.assertEqual((asked.result["quotes"], asked.result["unfound_quotes"]), (1, 1))

    def test_a_long_page_is_read_where_it_bears_on_the_goal(self):
        filler = "The houses of this village are white and stand along one street near the water.\n" * 40
        chapters = [f"## Village {n}\n\n{filler}\n" for n in range(400)]
        chapters[333] += "\nIts lighthouse was built by Maria Oswin in 1857.\n"
        web, _ = self.stub_web({"pages": {"/long": {"type": "text/markdown", "body": "# Handbook\n\n" + "".join(chapters)}}})
        summary = json.dumps({"evidence": "Its lighthouse was built by Maria Oswin in 1857.", "summary": "s"})
        url, log = self.stub({"replies": [{"text": summary}]})
        done = self.expect(0, "visit", f"{web}/long", *GOAL, "--base-url", url)
        self.assertIn("too long to be read whole", done.stdout)
        self.assertNotIn("[not found", done.stdout)
        self.assertIn("Its lighthouse was built by Maria Oswin in 1857.", log.read_text())
        self.assertLess(len(log.read_text()), 700_000)


if __name__ == "__main__":
    unittest.main()
