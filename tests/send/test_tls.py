"""TLS: whom to trust, what the errors say, and that stamps stay those of the kernel."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from llmload.exits import Stop
from llmload.send import tls
from tests.send.conftest import Sender
from tests.send.scripted import END, HEAD, Answer, data, serving, stream, token

Make = Callable[..., Sender]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of an authority, of another one, and of certificates for this machine and for another."""
    folder = tmp_path_factory.mktemp("ca")
    ours, other = trustme.CA(), trustme.CA()
    files = {name: folder / f"{name}.pem" for name in ("ca", "other", "server", "stranger")}
    ours.cert_pem.write_to_path(str(files["ca"]))
    other.cert_pem.write_to_path(str(files["other"]))
    ours.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(files["server"]))
    ours.issue_cert("example.com").private_key_and_cert_chain_pem.write_to_path(str(files["stranger"]))
    return files


def test_cold_and_warm(sender: Make, authority: dict[str, Path]) -> None:
    """G04, G05: with the authority's file all is well; one handshake for five requests, none of it in `ttft_ms`."""
    with serving(stream(), certificate=authority["server"]) as server:
        book = sender(server.url, key="sk-1", ca=str(authority["ca"]))
        rows = [book.send() for _ in range(5)]
        seen = server.log()
    assert [(row.outcome, row.new_connection) for row in rows] == [("ok", True)] + [("ok", False)] * 4
    assert {row["connection"] for row in seen} == {1}
    assert all(row.stamp_lag_ms is not None for row in rows)
    assert all(row.coalesced == 0 for row in rows)
    for row, truth in zip(rows, seen, strict=True):
        assert row.ttft_ms == pytest.approx((truth["writes"][1] - truth["at"]) / 1e6, abs=20)


def test_a_long_prompt_and_large_events(sender: Make, authority: dict[str, Path]) -> None:
    """Many records each way."""
    from llmload.load.call import Call

    text = "word " * 100_000
    answer = Answer([(0, HEAD), (20, data(token("x" * 200_000))), (40, data(token("y", "stop"), "[DONE]") + END)])
    with serving(answer, certificate=authority["server"]) as server:
        book = sender(server.url, ca=str(authority["ca"]))
        row = book.send(Call("s", "p", ({"role": "user", "content": text},), text, 3))
        assert text in server.log()[0]["body"]
    assert (row.outcome, row.events, row.output_chars) == ("ok", 2, 200_001)


@pytest.mark.parametrize(("trust", "certificate"), [(None, "server"), ("other", "server"), ("ca", "stranger")])
def test_what_is_not_trusted(sender: Make, authority: dict[str, Path], trust: str | None, certificate: str) -> None:
    """G04: an unknown authority and a wrong name fail at the first try, with what to do; --insecure takes anybody."""
    with serving(stream(), certificate=authority[certificate]) as server:
        book = sender(server.url, ca=str(authority[trust]) if trust else None)
        row = book.send()
        assert sender(server.url, insecure=True).send().outcome == "ok"
        assert len(server.log()) == 1
    assert row.outcome == "connect_error"
    assert row.error is not None
    assert row.error.startswith("TLS: ")
    assert "--ca" in row.error


def test_https_to_a_plain_server(sender: Make) -> None:
    """The error names the likely cause."""
    with serving(stream()) as server:
        row = sender(server.url.replace("http:", "https:"), connect_s=1.0).send()
    assert row.outcome == "connect_error"
    assert "TLS" in (row.error or "")


def test_files_that_hold_no_authority(tmp_path: Path) -> None:
    """A sentence before anything is sent."""
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("empty.pem", "absent.pem"):
        with pytest.raises(Stop, match=name):
            tls.context(str(tmp_path / name))


def test_a_machine_without_authorities_uses_certifi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slim containers have none of their own."""
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda _self: None)
    monkeypatch.setattr(tls, "has_folder", lambda: False)
    assert tls.context().cert_store_stats()["x509_ca"] > 50
