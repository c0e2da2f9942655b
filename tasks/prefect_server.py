"""Prefect without a server set up: a private, quiet, offline server for the length of one command.

Prefect's own temporary server is imported in the calling process before it is started in another; starting that other
process directly, while the command still imports and plans, halves the wait (README, "Speed").

Nothing here imports Prefect, since its settings are read from the environment at its first import.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the server's process needs no home
    from storage.artifacts import Home

START_SECONDS = 120
"""How long a server may take to answer: the first start in a home creates its database."""

_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
_NO_LOOPS = {
    f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false"
    for service in (
        "SCHEDULER",
        "LATE_RUNS",
        "CANCELLATION_CLEANUP",
        "FOREMAN",
        "PAUSE_EXPIRATIONS",
        "TRIGGERS",
        "REPOSSESSOR",
    )
}
"""Loops that only deployments need."""

_NO_BLOCKS = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",  # or the blocks are imported only to be compared
}
"""No flow here uses a block; a server that a person starts on the same database registers them."""


class PrefectServerError(RuntimeError):
    """The private server did not start. The message holds what it printed."""


@contextmanager
def prefect_api(home: Home) -> Iterator[None]:
    """Make a Prefect API available: the one that is configured (`PREFECT_API_URL`), else a private one in the home.

    Enter it before the first import of Prefect. The server answers by the time `wait_until_ready` returns.
    """
    settings = {**_QUIET, "PREFECT_HOME": str(home.local("prefect"))}
    settings["PREFECT_LOCAL_STORAGE_PATH"] = str(home.local("prefect", "results"))
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    if os.environ.get("PREFECT_API_URL"):
        yield
        return
    port = _free_port()
    log = home.local("prefect") / "server.log"
    process = _start(port, log)
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    os.environ[_PENDING] = str(log)
    threading.Thread(target=_end_with_server, args=(process, log), daemon=True).start()
    try:
        yield
    finally:
        del os.environ["PREFECT_API_URL"]
        os.environ.pop(_PENDING, None)
        _stop(process)


_PENDING = "STRATA_PREFECT_SERVER_LOG"


def wait_until_ready() -> None:
    """Wait for the private server of `prefect_api`, if there is one. `PrefectServerError` when it does not answer."""
    log = os.environ.pop(_PENDING, None)
    if log is None:
        return
    deadline = time.monotonic() + START_SECONDS
    while not _answers(os.environ["PREFECT_API_URL"]):
        if time.monotonic() > deadline:
            raise PrefectServerError(f"the private Prefect server did not answer in {START_SECONDS} s:\n{_tail(Path(log))}")
        time.sleep(0.05)


def _end_with_server(process: subprocess.Popen[bytes], log: Path) -> None:
    """End the command when its server ends first: Prefect would try for minutes to reach it, some threads for ever.

    To end at once is safe, as a kill is: what is finished is whole, and what was paid for is in the journal.
    """
    process.wait()
    assert process.stdin is not None
    if process.stdin.closed:  # `_stop` is at work
        return
    print(
        f"strata: the private Prefect server ended (exit code {process.returncode}): run the same command again, it goes on "
        f"with what is missing\n{_tail(log)}",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2_000:]


def _answers(api_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{api_url}/health", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def _start(port: int, log: Path) -> subprocess.Popen[bytes]:
    private = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "tasks.prefect_server", str(port)],
            env={**os.environ, **_NO_LOOPS, **_NO_BLOCKS, **private},
            stdin=subprocess.PIPE,  # closed by the kernel when this process dies, however it dies
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C reaches the command first, which then stops the server
        )


def _serve(port: int) -> None:
    """The body of the server's process: end with the parent, otherwise serve."""
    import uvicorn

    threading.Thread(target=_end_with_parent, daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app", factory=True, host="127.0.0.1", port=port, log_level="error", lifespan="on"
    )


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
