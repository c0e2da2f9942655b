"""A real HTTP server in a thread that plays an OpenAI-compatible model server, faults included."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


@dataclass(frozen=True)
class Say:
    """One HTTP reply. `close` breaks the connection instead, `before` runs first and may wait."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], object] = bool
    close: bool = False


def late(said: Say, seconds: float) -> Say:
    return replace(said, before=lambda: time.sleep(seconds))


def reply(text: str | None, **usage: Any) -> Say:
    message = {"role": "assistant", "content": text}
    return Say(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Say:
    renamed = {name.replace("_", "-"): value for name, value in headers.items()}
    return Say(status, {"error": {"message": message, "code": code, "type": "x"}}, renamed)


Script = Callable[[dict[str, Any], int], Say]
"""From a request's body and how often that same last message was seen before, to the reply."""


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.most_in_flight = 0
        self.in_flight = 0
        self.lock = threading.Lock()
        self._seen: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def seen(self, body: dict[str, Any]) -> int:
        text = body["messages"][-1]["content"]
        self._seen[text] = self._seen.get(text, -1) + 1
        return self._seen[text]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = cast(FakeServer, self.server)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with server.lock:
            server.bodies.append(body)
            server.keys.append(self.headers.get("authorization", ""))
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
            said = server.script(body, server.seen(body))
        said.before()
        with server.lock:
            server.in_flight -= 1
        self._say(said)

    def _say(self, said: Say) -> None:
        if said.close:  # linger 0: the client gets a reset, not an orderly end
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        data = said.body.encode() if isinstance(said.body, str) else json.dumps(said.body).encode()
        try:
            self.send_response(said.status)
            for name, value in {
                "content-type": "application/json",
                **said.headers,
                "content-length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):  # the client has given up, which some tests want
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def serving(script: Script) -> Iterator[FakeServer]:
    server = FakeServer(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
