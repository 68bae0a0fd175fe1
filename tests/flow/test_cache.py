"""The page cache: what fathom visit fetches again, and what becomes of its file."""
import json
import os
import pathlib
import sqlite3
import subprocess
import unittest

from flow import FlowTest, read_lines

PAGE = ("<html><head><title>Kell</title></head><body><article><p>The lighthouse of Kell was built in 1857 by the engineer Maria "
        "Oswin.</p></article></body></html>")


def reply(**more):
    return {"body": PAGE, **more}


PAGES = {
    "/etag": reply(etag='"v1"'),
    "/fresh": reply(headers={"Cache-Control": "max-age=600"}),
    "/no-store": reply(headers={"Cache-Control": "no-store"}, etag='"v1"'),
    "/stale": reply(headers={"Cache-Control": "max-age=0"}),
    "/strict": reply(headers={"Cache-Control": "no-cache"}, etag='"v1"'),
    "/fails-later": {"body": PAGE, "times": 1, "then": {"status": 503, "headers": {"Retry-After": "0"}, "body": "busy"}},
    "/changes": {"body": PAGE.replace("1857", "1858"), "times": 1, "then": reply()},
    "/huge-etag": reply(headers={"ETag": '"' + "e" * 1000000 + '"'}),
    "/garbage": reply(headers={"ETag": "v1", "Last-Modified": "long ago", "Expires": "-1", "Cache-Control": "max-age=1e99"}),
}


class Cache(FlowTest):
    def setUp(self):
        super().setUp()
        self.web, self.log = self.stub_web({"pages": PAGES})

    def visit(self, path, *arguments, code=0, env=None):
        return self.expect(code, "visit", f"{self.web}{path}", "--goal", "when was the lighthouse built", "--summarizer",
                           "extractive", "--allow-address", "127.0.0.1", "--no-config", *arguments, env=env)

    def requests(self):
        return read_lines(self.log)

    def test_a_page_that_has_not_changed_is_not_sent_again(self):
        first = self.visit("/etag")
        second = self.visit("/etag")
        self.assertEqual(first.stdout, second.stdout)
        self.assertIn("1857", second.stdout)
        asked = [{name.lower(): value for name, value in request["headers"].items()} for request in self.requests()]
        self.assertNotIn("if-none-match", asked[0])
        self.assertEqual(asked[1]["if-none-match"], '"v1"')
        self.assertEqual(len(asked), 2)

    def test_a_fresh_page_is_not_asked_for(self):
        self.visit("/fresh")
        self.assertIn("1857", self.visit("/fresh").stdout)
        self.assertEqual(len(self.requests()), 1)

    def test_a_page_that_changes_is_seen(self):
        self.assertIn("1858", self.visit("/changes").stdout)
        self.assertIn("1857", self.visit("/changes").stdout)

    def test_what_must_not_be_stored_is_not(self):
        self.visit("/no-store")
        self.visit("/no-store")
        self.assertEqual(len(self.requests()), 2)
        self.assertNotIn("If-None-Match", self.requests()[1]["headers"])
        with sqlite3.connect(self.path(".cache/fathom/pages.db")) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM page").fetchone(), (0,))
        db.close()

    def test_without_a_cache(self):
        self.visit("/fresh", "--no-cache")
        self.visit("/fresh", env={"FATHOM_NO_CACHE": "yes"})
        self.assertEqual(len(self.requests()), 2)
        self.assertFalse(os.path.exists(self.path(".cache")))
        self.visit("/fresh")
        self.visit("/fresh", "--no-cache")
        self.assertEqual(len(self.requests()), 4)

    def test_where_it_lies(self):
        self.visit("/fresh", env={"XDG_CACHE_HOME": self.path("elsewhere")})
        self.visit("/fresh", "--cache", self.path("named/pages"))
        for name in ("elsewhere/fathom/pages.db", "named/pages"):
            path = pathlib.Path(self.path(name))
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        self.assertFalse(os.path.exists(self.path(".cache")))
        self.assertEqual(len(self.requests()), 2)

    def test_an_old_copy_serves_where_the_site_fails(self):
        self.visit("/fails-later")
        done = self.visit("/fails-later")
        self.assertIn("1857", done.stdout)
        self.assertIn("the copy of 20", done.stderr)

    def test_an_old_copy_serves_where_the_site_is_gone(self):
        self.visit("/stale")
        self.visit("/strict")
        self.stop_server()
        done = self.visit("/stale")
        self.assertIn("1857", done.stdout)
        self.assertIn("could not be reached", done.stderr)
        self.assertIn("could not be reached", self.visit("/strict", code=1).stdout)

    def stop_server(self):
        """The stub ends when its input does."""
        function, arguments, _ = self._cleanups[-1]
        self._cleanups.pop()
        function(*arguments)

    def test_an_internal_page_needs_permission_from_the_cache_too(self):
        self.visit("/fresh")
        done = self.expect(1, "visit", f"{self.web}/fresh", "--goal", "when was the lighthouse built", "--summarizer",
                           "extractive", "--no-config")
        self.assertNotIn("1857", done.stdout + done.stderr)
        self.assertIn("--allow-address", done.stderr)

    def test_hostile_headers(self):
        for path in ("/garbage", "/garbage"):
            self.assertIn("1857", self.visit(path).stdout)
        for name in ("If-None-Match", "If-Modified-Since"):
            self.assertNotIn(name, self.requests()[-1]["headers"])
        self.assertIn("could not be reached", self.visit("/huge-etag", code=1).stdout)

    def test_many_processes_at_once(self):
        command = [os.environ["FATHOM"], "visit", *[f"{self.web}/{name}" for name in ("fresh", "etag", "stale")], "--goal",
                   "when was the lighthouse built", "--summarizer", "extractive", "--allow-address", "127.0.0.1", "--no-config"]
        running = [self.start_fathom(*command[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for process in running:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(out.count("Page: Kell"), 3, out)
            self.assertNotIn("cache", err)
        before = len(self.requests())
        self.visit("/fresh")
        self.assertEqual(len(self.requests()), before)
        with sqlite3.connect(self.path(".cache/fathom/pages.db")) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual(db.execute("SELECT count(*) FROM page").fetchone(), (3,))
        db.close()

    def test_a_damaged_file_is_begun_anew(self):
        self.visit("/fresh")
        path = pathlib.Path(self.path(".cache/fathom/pages.db"))
        path.write_bytes(b"no database at all " * 1000)
        done = self.visit("/fresh")
        self.assertIn("1857", done.stdout)
        self.assertIn("damaged", done.stderr)
        self.assertNotIn(self.folder, done.stdout)
        self.assertTrue(path.with_name("pages.db.damaged").exists())
        before = len(self.requests())
        self.assertNotIn("damaged", self.visit("/fresh").stderr)
        self.assertEqual(len(self.requests()), before)

    def test_another_database_is_left_alone(self):
        path = self.path("mine.db")
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE mine (a)")
        db.close()
        before = pathlib.Path(path).read_bytes()
        done = self.visit("/fresh", "--cache", path)
        self.assertIn("1857", done.stdout)
        self.assertIn("not cached", done.stderr)
        self.assertEqual(pathlib.Path(path).read_bytes(), before)

    def test_it_stays_within_its_size(self):
        pages = {f"/noise{i}": {"type": "text/plain", "noise": 60000, "headers": {"Cache-Control": "max-age=600"}}
                 for i in range(12)}
        web, log = self.stub_web({"pages": pages})
        arguments = ("--goal", "noise", "--summarizer", "extractive", "--allow-address", "127.0.0.1", "--no-config",
                     "--cache-size", "256kB")
        # Within a batch the pages arrive in any order and the first to arrive may be the first to go: the page that
        # must still be there comes last and alone.
        for batch in ((0, 4), (4, 8), (8, 11), (11, 12)):
            self.expect(0, "visit", *[f"{web}/noise{i}" for i in range(*batch)], *arguments)
            size = sum(path.stat().st_size for path in pathlib.Path(self.path(".cache/fathom")).glob("pages.db*")
                       if not path.name.endswith("-shm"))
            self.assertLess(size, (256 + 64) * 1024)
        self.expect(0, "visit", f"{web}/noise11", *arguments)
        self.assertEqual(len(read_lines(log)), 12)
        self.expect(0, "visit", f"{web}/noise0", *arguments)
        self.assertEqual(len(read_lines(log)), 13)

    def test_wrong_values(self):
        for option, value, part in (("--cache-size", "much", "not a size"), ("--cache-size", "1kB", "too small"),
                                    ("--cache-age", "7", "unit"), ("--no-cache=perhaps", None, "neither yes nor no")):
            done = self.expect(2, "visit", f"{self.web}/fresh", "--goal", "g", option, *([value] if value else []))
            self.assertIn(part, done.stderr)

    def test_a_file_that_nobody_named_says_not_where(self):
        mine = self.write("mine.txt", "This is nobody's cache.")
        self.write("fathom.yaml", "cache: mine.txt\n")
        done = self.expect(0, "visit", f"{self.web}/fresh", "--goal", "when was it built", "--summarizer", "extractive",
                           "--allow-address", "127.0.0.1")
        self.assertIn("--config", done.stderr)
        self.assertEqual(pathlib.Path(mine).read_text(), "This is nobody's cache.")
        self.assertTrue(os.path.exists(self.path(".cache/fathom/pages.db")))

    def test_the_file_sets_flags_too(self):
        self.write("fathom.yaml", "no_cache: true\nrobots: no\ncache: {size: 1GB}\n")
        self.expect(0, "visit", f"{self.web}/fresh", "--goal", "when was it built", "--summarizer", "extractive",
                    "--allow-address", "127.0.0.1")
        self.assertFalse(os.path.exists(self.path(".cache")))


if __name__ == "__main__":
    unittest.main()
