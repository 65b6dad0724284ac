"""The picture of one answer, as `llmload probe` prints it."""

import io

from rich.console import Console

from llmload.cli import timeline
from llmload.record.record import RequestRecord


def test_a_servers_words_do_not_steer_the_terminal() -> None:
    """Model, finish reason and error come without control characters."""
    evil = "a\x1b[2Jb\x9b31m\rc\u202ed"
    record = RequestRecord(
        run="probe", worker="probe", seq=0, step=0, concurrency=1, phase="measure", workload="probe", prompt="p",
        sent_at=1.0, outcome="stream_error", http_status=200, headers_ms=1.0, ttft_ms=2.0, first_event_ms=2.0,
        ttft_content_ms=2.0, last_token_ms=2.0, end_ms=3.0, events=1, served_model=evil, finish_reason=evil, error=evil,
    )  # fmt: skip
    file = io.StringIO()
    timeline.show(record, Console(file=file, width=100, force_terminal=False))
    text = file.getvalue()
    assert not {sign for sign in text if not sign.isprintable()} - {"\n"}
    assert text.count("a [2Jb 31m c d") == 3
