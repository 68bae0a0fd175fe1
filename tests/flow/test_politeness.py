"""How often fathom visit asks a site, and what its robots.txt forbids.

Names below .localhost lead to this machine and are treated like any other: www.kell.localhost and img.kell.localhost are one
site. 127.0.0.1 itself is this machine's own, and free."""
import unittest

from flow import FlowTest, read_lines

PAGE = "<html><head><title>Kell</title></head><body><article><p>The lighthouse was built in 1857.</p></article></body></html>"
DELAY_MS = 300


class Sites(FlowTest):
    def visit(self, web, hosts, paths, *arguments, code=0):
        """Visits host/path pairs of the stub at `web`; gives the arrivals as (host, path, ms)."""
        port = web.rsplit(":", 1)[1]
        urls = [f"http://{host}:{port}{path}" for host, path in zip(hosts, paths)]
        self.done = self.expect(code, "visit", *urls, "--goal", "when was the lighthouse built", "--summarizer", "extractive",
                                "--allow-address", "127.0.0.1", "--no-config", "--no-cache", *arguments)

    def arrivals(self, log):
        return [line["at_ms"] for line in read_lines(log)]

    def serve_pages(self, count=6, **more):
        return self.stub_web({"pages": {**{f"/{i}": {"body": PAGE, "delay_ms": DELAY_MS} for i in range(count)}, **more}})

    def check_gaps(self, times, gap_ms):
        """Arrivals are not starts: on a busy machine the first may come late, so the whole is judged. What follows from an
        answer is exact."""
        self.assertGreaterEqual(times[-1] - times[0], gap_ms * (len(times) - 1) // 2, times)


class Politeness(Sites):
    def test_one_site_gets_four_at_once_with_a_gap(self):
        web, log = self.serve_pages()
        self.visit(web, ["www.kell.localhost", "img.kell.localhost"] * 3, [f"/{i}" for i in range(6)], "--site-gap", "30ms")
        times = self.arrivals(log)
        self.assertEqual(len(times), 6)
        self.check_gaps(times, 30)
        for i in range(2):  # the fifth waits for an end
            self.assertGreaterEqual(times[i + 4] - times[i], DELAY_MS - 15, times)

    def test_the_usual_gap(self):
        web, log = self.serve_pages(4)
        self.visit(web, ["kell.localhost"] * 4, [f"/{i}" for i in range(4)])
        self.check_gaps(self.arrivals(log), 100)

    def test_sites_do_not_wait_for_each_other(self):
        web, log = self.serve_pages(5)
        self.visit(web, [f"site{i}.localhost" for i in range(5)], [f"/{i}" for i in range(5)], "--site-gap", "10s")
        times = self.arrivals(log)
        self.assertLess(times[-1] - times[0], 5000, times)

    def test_this_machine_is_free(self):
        web, log = self.stub_web({"pages": {f"/{i}": {"body": PAGE, "delay_ms": 1200} for i in range(5)}})
        self.visit(web, ["127.0.0.1"] * 5, [f"/{i}" for i in range(5)])
        times = self.arrivals(log)
        self.assertLess(times[-1] - times[0], 1200, times)  # the fifth did not wait for an end

    def test_unless_it_is_named(self):
        web, log = self.serve_pages(3)
        self.visit(web, ["127.0.0.1"] * 3, ["/0", "/1", "/2"], "--site-parallel", "1")
        times = self.arrivals(log)
        for before, after in zip(times, times[1:]):
            self.assertGreaterEqual(after - before, DELAY_MS - 15, times)

    def test_a_pause_holds_for_the_whole_site(self):
        web, log = self.serve_pages(2, **{"/busy": {"status": 429, "headers": {"Retry-After": "2"}, "body": "", "times": 1,
                                                    "then": {"body": PAGE}}})
        self.visit(web, ["www.kell.localhost", "img.kell.localhost"], ["/busy", "/1"], "--site-gap", "1s")
        lines = read_lines(log)
        self.assertEqual([line["path"] for line in lines][0], "/busy")
        self.assertEqual(len(lines), 3)
        self.assertGreaterEqual(lines[1]["at_ms"] - lines[0]["at_ms"], 1990, lines)
        self.assertEqual(self.done.stdout.count("Page: Kell"), 2)

    def test_a_long_pause_is_kept_and_said(self):
        web, log = self.serve_pages(2, **{"/busy": {"status": 503, "headers": {"Retry-After": "300"}, "body": ""}})
        self.visit(web, ["www.kell.localhost", "img.kell.localhost"], ["/busy", "/1"], "--site-gap", "2s", code=1)
        self.assertEqual([line["path"] for line in read_lines(log)], ["/busy"])
        self.assertIn("asked not to be asked again", self.done.stdout)


class Robots(Sites):
    ROBOTS = "User-agent: *\nDisallow: /\n\nUser-agent: Fathom\nDisallow: /private\nAllow: /private/open$\n"

    def serve_site(self, robots=None, **more):
        return self.serve_pages(2, **{"/robots.txt": robots or {"type": "text/plain", "body": self.ROBOTS},
                                      "/private/x": {"body": PAGE}, "/private/open": {"body": PAGE},
                                      "/leads-in": {"redirect": "/private/x"}, **more})

    def paths(self, log):
        return [line["path"] for line in read_lines(log)]

    def test_are_not_asked_unless_wanted(self):
        web, log = self.serve_site()
        self.visit(web, ["127.0.0.1"], ["/private/x"])
        self.assertEqual(self.paths(log), ["/private/x"])

    def test_are_heeded(self):
        web, log = self.serve_site()
        self.visit(web, ["127.0.0.1"] * 4, ["/private/x", "/private/open", "/0", "/leads-in"], "--robots")
        self.assertEqual(self.paths(log)[0], "/robots.txt")
        self.assertEqual(sorted(self.paths(log)[1:]), ["/0", "/leads-in", "/private/open"])
        self.assertEqual(self.done.stdout.count("robots.txt forbids"), 2)
        self.assertEqual(self.done.stdout.count("Page: Kell"), 2)

    def test_each_origin_has_its_own(self):
        web, log = self.serve_site()
        other, other_log = self.serve_pages(1, **{"/out": {"redirect": f"{web}/private/x"}})
        self.visit(other, ["127.0.0.1"], ["/out"], "--robots", code=1)
        self.assertEqual(self.paths(log), ["/robots.txt"])
        self.assertIn("robots.txt forbids", self.done.stdout)

    def test_hostile_ones(self):
        endless = {"type": "text/plain", "repeat": ["User-agent: x\n", 7500000]}
        cases = (({"status": 404, "body": "no"}, 0), ({"loop": True}, 0), ({"status": 500, "body": ""}, 1),
                 ({"cut_after": 3, "body": "User-agent: *"}, 1), (endless, 0))
        for robots, code in cases:
            web, log = self.serve_site(robots)
            self.visit(web, ["127.0.0.1"], ["/private/x"], "--robots", code=code)
            if code == 1:
                self.assertNotIn("/private/x", self.paths(log))
                self.assertIn("could not be read", self.done.stdout)


if __name__ == "__main__":
    unittest.main()
