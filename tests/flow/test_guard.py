"""Guarded fetches: whatever a model or a page names, no internal address is connected to."""
import json
import socket
import threading
import unittest

from flow import FlowTest, completions, read_lines
from private_network import in_private_network

PUBLIC = "93.184.216.34"  # in a private network one of our own
SECRET = "The secret of the inner network is fifty-one."
ANSWER = {"text": "<answer>Done.</answer>"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Listener:
    """A small web server that remembers every connection, also one that asks for nothing."""

    def __init__(self, test, host="0.0.0.0", family=socket.AF_INET, head=""):
        self.socket = socket.create_server((host, 0), family=family)
        self.port = self.socket.getsockname()[1]
        self.head, self.connections, self.requests = head, 0, []
        thread = threading.Thread(target=self.serve, daemon=True)
        thread.start()
        test.addCleanup(thread.join, 5)
        test.addCleanup(self.socket.close)
        test.addCleanup(self.socket.shutdown, socket.SHUT_RDWR)

    def serve(self):
        body = f"<html><head><title>Inside</title></head><body><p>{SECRET}</p></body></html>".encode()
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                connection.settimeout(2)
                try:
                    self.requests.append(connection.recv(65536).split(b"\r\n")[0].decode("latin-1"))
                    status = "302 Found" if self.head else "200 OK"
                    connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{self.head}Connection: close\r\n"
                                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                except OSError:
                    pass


class GuardTest(FlowTest):
    def visit(self, *urls, arguments=(), **more):
        done = self.run_fathom("visit", *urls, "--goal", "the secret of the inner network", "--no-config", "--json",
                               "--summarizer", "extractive", "--reader", "direct", *arguments, **more)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)
        return done

    def refused(self, *urls, **more):
        done = self.visit(*urls, **more)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertNotIn("fifty-one", done.stdout + done.stderr)
        return json.loads(done.stdout)

    def reached(self, *urls, **more):
        done = self.visit(*urls, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("fifty-one", done.stdout)
        return json.loads(done.stdout)


class Spellings(GuardTest):
    LOOPBACK = ["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "017700000001", "0177.0.0.1",
                "127.0.0.1.", "127.9.9.9", "localhost", "LOCALHOST", "localhost.", "a.localhost", "%31%32%37.0.0.1",
                "１２７.0.0.1", "127。0。0。1", "①②⑦.⓪.⓪.①"]
    OTHER = ["0", "0.0.0.0", "00.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::1]", "[0:0:0:0:0:0:0:1]",
             "[0000::0001]", "[::]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[fe80::1%251]"]

    def test_of_loopback(self):
        inside = Listener(self)
        for hosts in (self.LOOPBACK, self.OTHER):
            self.refused(*[f"http://{host}:{inside.port}/" for host in hosts])
        self.assertEqual((inside.connections, inside.requests), (0, []))

    def test_over_ipv6(self):
        try:
            inside = Listener(self, "::1", socket.AF_INET6)
        except OSError:
            self.skipTest("this machine has no IPv6")
        self.refused(*[f"http://{host}:{inside.port}/" for host in self.LOOPBACK[10:14] + self.OTHER])
        self.assertEqual(inside.connections, 0)
        self.reached(f"http://[::1]:{inside.port}/", arguments=("--allow-address", "::1"))

    def test_of_the_same_that_are_allowed(self):
        inside = Listener(self)
        for host in ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost"):
            with self.subTest(host=host):
                self.reached(f"http://{host}:{inside.port}/", arguments=("--allow-address", "127.0.0.1"))
        self.assertEqual(inside.connections, 6)

    def test_without_a_scheme_and_around_the_host(self):
        inside = Listener(self)
        port = inside.port
        self.refused(f"127.0.0.1:{port}/", f"localhost:{port}", f"//127.0.0.1:{port}/", f"[page](http://127.0.0.1:{port}/)",
                     f"http://example.org@127.0.0.1:{port}/", f"http://example.org:80@127.0.0.1:{port}/",
                     f"http://127.0.0.1:{port}#@example.org/", f"http:\\\\127.0.0.1:{port}\\", f"http:///127.0.0.1:{port}/",
                     f"http:127.0.0.1:{port}/", f"HTTP://127.0.0.1:{port}/", f"https://127.0.0.1:{port}/",
                     f" \thttp://127.0.0.1:{port}/\r\n", f"<http://127.0.0.1:{port}/>", f"http://127.0.0.1\t:{port}/")
        self.assertEqual(inside.connections, 0)

    def test_of_this_machine(self):
        inside = Listener(self)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                own = probe.getsockname()[0]
            except OSError:
                own = "127.0.0.1"
        self.refused(f"http://{own}:{inside.port}/", f"http://{socket.gethostname()}:{inside.port}/")
        self.assertEqual(inside.connections, 0)

    def test_of_other_schemes(self):
        path = self.write("secret.txt", SECRET)
        inside = Listener(self)
        self.refused(f"file://{path}", f"file:{path}", f"FILE://{path}", path, f"ftp://127.0.0.1:{inside.port}/x",
                     f"gopher://127.0.0.1:{inside.port}/x", f"dict://127.0.0.1:{inside.port}/x", f"scp://127.0.0.1{path}",
                     f"data:text/plain,{SECRET.replace(' ', '%20')[:20]}", f"telnet://127.0.0.1:{inside.port}",
                     f"ws://127.0.0.1:{inside.port}/")
        self.assertEqual(inside.connections, 0)

    def test_of_internal_networks(self):
        hosts = ("10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
                 "198.18.0.1", "192.0.2.1", "203.0.113.9", "224.0.0.1", "255.255.255.255", "240.0.0.1", "[fc00::1]",
                 "[fd00:ec2::254]", "[ff02::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]")
        for result in self.refused(*[f"http://{host}/" for host in hosts])["text"].split("\n\n---\n\n"):
            self.assertIn("not on the public web", result)


class AllowAddress(GuardTest):
    def test_opens_exactly_its_range(self):
        inside = Listener(self)

        def url(host):
            return f"http://{host}:{inside.port}/"

        for network, within, without in (
                ("127.0.0.2", ["127.0.0.2"], ["127.0.0.1", "127.0.0.3", "[::ffff:127.0.0.2]", "0.0.0.0"]),
                ("127.0.0.8/29", ["127.0.0.8", "127.0.0.15"], ["127.0.0.7", "127.0.0.16", "127.0.1.8"]),
                ("10.0.0.0/8", [], ["127.0.0.1"])):
            with self.subTest(network=network):
                for host in within:
                    self.reached(url(host), arguments=("--allow-address", network))
                before = inside.connections
                self.refused(*map(url, without), arguments=("--allow-address", network))
                self.assertEqual(inside.connections, before)

    def test_several(self):
        inside = Listener(self)
        for host in ("127.0.0.2", "127.0.0.9"):
            self.reached(f"http://{host}:{inside.port}/", arguments=("--allow-address", "127.0.0.2", "--allow-address",
                                                                     "127.0.0.9/32"))

    def test_other_schemes_stay_closed(self):
        path = self.write("secret.txt", SECRET)
        self.refused(f"file://{path}", arguments=("--allow-address", "127.0.0.0/8"))


class Redirects(GuardTest):
    def test_to_internal_addresses(self):
        inside = Listener(self)
        path = self.write("secret.txt", SECRET)
        targets = [f"http://127.0.0.1:{inside.port}/", f"http://localhost:{inside.port}/", f"http://2130706433:{inside.port}/",
                   f"//127.1:{inside.port}/", f"http://[::ffff:127.0.0.2]:{inside.port}/", f"http://0:{inside.port}/",
                   f"https://127.0.0.1:{inside.port}/", f"file://{path}", f"gopher://127.0.0.1:{inside.port}/",
                   "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/"]
        for target in targets:
            with self.subTest(target=target):
                outside = Listener(self, head=f"Location: {target}\r\n")
                result = self.refused(f"http://127.0.0.2:{outside.port}/", arguments=("--allow-address", "127.0.0.2"))
                self.assertEqual(outside.connections, 1)
                self.assertNotIn("169.254", result["text"])
                self.assertNotIn(path, result["text"])
        self.assertEqual(inside.connections, 0)

    def test_within_what_is_allowed(self):
        inside = Listener(self)
        outside = Listener(self, head=f"Location: http://127.0.0.3:{inside.port}/\r\n")
        self.reached(f"http://127.0.0.2:{outside.port}/", arguments=("--allow-address", "127.0.0.2/31"))

    def test_in_a_chain(self):
        inside = Listener(self)
        second = Listener(self, head=f"Location: http://127.0.0.1:{inside.port}/\r\n")
        first = Listener(self, head=f"Location: http://127.0.0.2:{second.port}/\r\n")
        self.refused(f"http://127.0.0.2:{first.port}/", arguments=("--allow-address", "127.0.0.2"))
        self.assertEqual((first.connections, second.connections, inside.connections), (1, 1, 0))

    @in_private_network(addresses=[PUBLIC])
    def test_from_the_public_web(self):
        inside = Listener(self, "127.0.0.1")
        outside = Listener(self, PUBLIC, head=f"Location: http://127.0.0.1:{inside.port}/\r\n")
        self.refused(f"http://{PUBLIC}:{outside.port}/")
        self.assertEqual((outside.connections, inside.connections), (1, 0))


class Names(GuardTest):
    @in_private_network({"inside.test": [["127.0.0.1"]], "both.test": [[PUBLIC, "127.0.0.1"]],
                         "turns.test": [[PUBLIC], ["127.0.0.1"]], "back.test": [["127.0.0.1"], [PUBLIC]]},
                        addresses=[PUBLIC])
    def test_that_lead_inside(self):
        """No name reaches 127.0.0.1: neither at once, nor as the second address behind a public one that does not answer, nor
        when it changes between two lookups."""
        inside = Listener(self, "127.0.0.1")
        for name in ("inside.test", "both.test", "turns.test", "turns.test", "back.test"):
            with self.subTest(name=name):
                result = self.refused(f"http://{name}:{inside.port}/")
                self.assertNotIn("127.0.0.1", result["text"])
        self.assertGreaterEqual(self.name_server.asked["turns.test"], 2)
        self.assertEqual(inside.connections, 0)
        self.reached(f"http://inside.test:{inside.port}/", arguments=("--allow-address", "127.0.0.1"))

    @in_private_network({"turns.test": [[PUBLIC], ["127.0.0.1"]]}, addresses=[PUBLIC])
    def test_that_change_within_a_run(self):
        """A page that redirects to its own name, whose address has changed by then."""
        port = Listener(self, PUBLIC).port  # a port that is free on both
        inside = Listener(self, "127.0.0.1")
        outside = Listener(self, PUBLIC, head=f"Location: http://turns.test:{inside.port}/\r\n")
        self.refused(f"http://turns.test:{outside.port}/", f"http://turns.test:{inside.port}/")
        self.assertEqual(inside.connections, 0)
        self.reached(f"http://{PUBLIC}:{port}/")

    @in_private_network({"site.test": [[PUBLIC]]}, addresses=[PUBLIC])
    def test_of_public_pages(self):
        outside = Listener(self, PUBLIC)
        self.reached(f"http://site.test:{outside.port}/")
        self.assertEqual(outside.connections, 1)


class Proxies(GuardTest):
    @staticmethod
    def variables(port):
        url = f"http://127.0.0.1:{port}"
        return {name: url for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "ALL_PROXY")}

    def test_of_the_environment_are_no_way_in(self):
        """Not even one whose own address is allowed."""
        inside, proxy = Listener(self), Listener(self)
        for arguments in ((), ("--allow-address", "127.0.0.1")):
            self.refused(f"http://127.0.0.2:{inside.port}/", f"https://127.0.0.2:{inside.port}/", "http://10.0.0.1/",
                         "http://localhost.:1/", env=self.variables(proxy.port), arguments=arguments)
        self.assertEqual((inside.connections, proxy.connections), (0, 0))

    @in_private_network({"site.test": [[PUBLIC]]}, addresses=[PUBLIC])
    def test_of_the_environment_are_not_asked(self):
        outside, proxy = Listener(self, PUBLIC), Listener(self, "127.0.0.1")
        self.reached(f"http://site.test:{outside.port}/", env=self.variables(proxy.port))
        self.assertEqual((outside.connections, proxy.connections), (1, 0))

    @in_private_network({"site.test": [[PUBLIC]], "inside.test": [["10.1.2.3"]], "both.test": [[PUBLIC, "10.1.2.3"]]},
                        addresses=[PUBLIC])
    def test_that_are_configured_get_no_internal_target(self):
        proxy = Listener(self, "127.0.0.1")
        arguments = ("--proxy", f"http://127.0.0.1:{proxy.port}")
        self.refused("http://127.0.0.1/", "http://inside.test/", "http://localhost/", "http://169.254.169.254/", "http://0x7f.1/",
                     "http://both.test/", arguments=arguments)
        self.assertEqual(proxy.requests, [])
        self.reached("http://site.test/", arguments=arguments)
        self.assertEqual(len(proxy.requests), 1)


class ReusedConnections(GuardTest):
    """An exempt connection to a configured server opens no way for a page of the same address."""

    def test_to_the_search_service(self):
        web, web_log = self.stub_web()
        search = '<tool_call>{"name": "search", "arguments": {"query": ["a"]}}</tool_call>'
        visit = json.dumps({"name": "visit", "arguments": {"url": [f"{web}/page/a", f"{web}/search?q=x&format=json"],
                                                           "goal": "lighthouse"}})
        model, log = self.stub({"replies": [{"text": search}, {"text": f"<tool_call>{visit}</tool_call>"}, ANSWER]})
        asked = self.ask(model, "--searxng-url", web, "--summarizer", "extractive")
        self.assertEqual([line["path"].split("?")[1][:4] for line in read_lines(web_log)], ["q=a&"])
        self.assertEqual(asked.result["tool_failures"], 1)
        self.assertIn("not on the public web", completions(log)[2]["messages"][-1]["content"])

    def test_to_the_model_server(self):
        port = free_port()
        secret = f"http://127.0.0.1:{port}/secret"
        visit = json.dumps({"name": "visit", "arguments": {"url": [secret], "goal": "the secret"}})
        model, log = self.stub({"replies": [{"text": f"<tool_call>{visit}</tool_call>"}, ANSWER],
                                "get": {"/secret": {"secret": SECRET}}}, "--port", str(port))
        asked = self.ask(model, "--tools", "visit", "--summarizer", "extractive")
        self.assertEqual([line for line in read_lines(log) if "secret" in line["path"]], [])
        self.assertIn("not on the public web", completions(log)[1]["messages"][-1]["content"])
        self.assertNotIn("fifty-one", asked.everything)


if __name__ == "__main__":
    unittest.main()
