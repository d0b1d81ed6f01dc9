"""Calls by HTTP and HTTPS, to an address and by a name that may be another."""

import http.client
import json
import socket
import ssl
import threading
import time


class Site:
    """Somewhere that answers: `connect` is (host, port), `name` what is asked for."""

    def __init__(self, connect, name, tls=False, headers=()):
        self.connect, self.name, self.tls, self.headers = connect, name, tls, dict(headers)

    def open(self, timeout=40):
        raw = socket.create_connection(self.connect, timeout)
        if self.tls:
            anybody = ssl.create_default_context()
            anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
            raw = anybody.wrap_socket(raw, server_hostname=self.name.split(":")[0])
        connection = http.client.HTTPConnection(*self.connect)
        connection.sock = raw
        return connection

    def send(self, method, path, body=None, **headers):
        connection = self.open()
        data = None if body is None else json.dumps(body)
        own = {"Host": self.name, **self.headers, **headers}
        if data:
            own["Content-Type"] = "application/json"
        connection.request(method, path, data, own)
        return connection

    def call(self, method, path, body=None, **headers):
        """The status and the body, parsed where it is JSON."""
        connection = self.send(method, path, body, **headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = "json" in (answer.getheader("content-type") or "")
        return answer.status, json.loads(text) if is_json else text

    def ok(self, method, path, body=None, **headers):
        status, answer = self.call(method, path, body, **headers)
        assert status in (200, 201), f"{method} {path} at {self.name}: {status} {answer}"
        return answer

    def is_ready(self):
        try:
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def events(self, queue):
        """The stream of events of a queue, as far as its head."""
        connection = self.send("GET", f"/events?queue={queue}", accept="text/event-stream")
        answer = connection.getresponse()
        assert answer.status == 200, f"/events at {self.name}: {answer.status}"
        return answer

    def lines(self):
        """A body of lines that is answered as it comes."""
        return Lines(self)


class Lines:
    """Says a line, and hears its answer before it says the next, by the standard library's own means."""

    def __init__(self, site):
        connection = site.open()
        connection.putrequest("POST", "/jobs?answers=all", skip_host=True)
        head = {"Host": site.name, **site.headers, "Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}
        for name, value in head.items():
            connection.putheader(name, value)
        connection.endheaders()
        self.connection, self.answer = connection, None

    def say(self, line):
        text = json.dumps(line).encode() + b"\n"
        self.connection.sock.sendall(b"%x\r\n%s\r\n" % (len(text), text))

    def end(self):
        self.connection.sock.sendall(b"0\r\n\r\n")

    def hear(self):
        if self.answer is None:
            self.answer = self.connection.getresponse()
            assert self.answer.status == 200, f"{self.answer.status} {self.answer.read()}"
        return json.loads(self.answer.readline())


def later(work):
    """Runs it in a thread; what it answered, with how long it took, is got by calling what this answers."""
    got = []

    def timed():
        start = time.monotonic()
        try:
            got.append((work(), time.monotonic() - start))
        except BaseException as error:  # the error is raised again in the caller's thread
            got.append(error)

    thread = threading.Thread(target=timed, daemon=True)
    thread.start()

    def answer():
        thread.join(45)
        if not got or isinstance(got[0], BaseException):
            raise SystemExit(f"no answer: {got}")
        return got[0]

    return answer
