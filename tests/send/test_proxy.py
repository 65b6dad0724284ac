"""A proxy, by option only: CONNECT for https, absolute form for plain http."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from llmload.exits import Stop
from tests.send.conftest import Sender
from tests.send.scripted import serving, stream

Make = Callable[..., Sender]


def test_plain_http_goes_in_absolute_form(sender: Make) -> None:
    """The proxy gets the whole URL and the key's header, and answers for the server."""
    with serving(stream()) as proxy:
        book = sender("http://far.invalid:8000/v1", proxy=f"http://127.0.0.1:{proxy.port}")
        assert [book.send().outcome for _ in range(2)] == ["ok", "ok"]
        seen = proxy.log()
    assert seen[0]["head"].startswith("POST http://far.invalid:8000/v1/chat/completions HTTP/1.1\r\n")
    assert "\r\nHost: far.invalid:8000\r\n" in seen[0]["head"]
    assert seen[0]["connection"] == seen[1]["connection"]


def test_https_goes_through_a_tunnel(sender: Make, tmp_path: Path) -> None:
    """TLS is end to end: the proxy sees where to, and nothing else."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    with serving(stream(), certificate=tmp_path / "server.pem") as server, serving(stream()) as proxy:
        book = sender(server.url, key="sk-1", ca=str(tmp_path / "ca.pem"), proxy=f"http://127.0.0.1:{proxy.port}")
        assert [book.send().outcome for _ in range(2)] == ["ok", "ok"]
        heads = [row["head"] for row in proxy.log()]
        assert len(server.log()) == 2
    assert heads == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}"]


def test_a_proxy_that_is_not_there_or_refuses(sender: Make) -> None:
    """`connect_error`, and it says that the proxy is meant."""
    with serving(stream()) as proxy:
        row = sender("https://127.0.0.1:1/v1", proxy=f"http://127.0.0.1:{proxy.port}").send()
    assert (row.outcome, (row.error or "")[:6]) == ("connect_error", "proxy:")
    row = sender("http://far.invalid/v1", proxy=f"http://127.0.0.1:{proxy.port}").send()
    assert row.outcome == "connect_error"
    assert f"through the proxy 127.0.0.1:{proxy.port}" in (row.error or "")


@pytest.mark.parametrize("url", ["https://p:1", "http://u:secret@p:1", "p", "socks5://p:1", "http://p/path"])
def test_forms_of_a_proxy(sender: Make, url: str) -> None:
    """A host and a port over http; no credentials, which would land in files."""
    if url == "p":
        sender("http://127.0.0.1/v1", proxy=url)
        return
    with pytest.raises(Stop) as stop:
        sender("http://127.0.0.1/v1", proxy=url)
    assert "secret" not in stop.value.message
