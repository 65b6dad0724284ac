"""What one attempt's facts say: its E2E latency, time per token, tokens streamed.

Arrays in, arrays out; NaN is "not measured" inside the reporter and never leaves it.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def e2e_ms(last_token_ms: Floats, end_ms: Floats, *, streaming: bool) -> Floats:
    """E2E latency = last token - sent. An answer that was not streamed has no token times: its end counts."""
    return last_token_ms if streaming else np.where(np.isnan(last_token_ms), end_ms, last_token_ms)


def streamed_tokens(output_tokens: Floats, hidden_tokens: Floats, events: NDArray[np.int64]) -> Floats:
    """Tokens that came over the wire: output tokens - hidden tokens. One per event where nobody counted them."""
    tokens = output_tokens - np.nan_to_num(hidden_tokens)
    return np.where(tokens > 0, tokens, events.astype(float))


def tpot_ms(ttft_ms: Floats, last_token_ms: Floats, output_tokens: Floats, hidden_tokens: Floats) -> Floats:
    """TPOT = (last token - first token of any kind) / (output tokens - hidden tokens - 1).

    NaN for fewer than two streamed tokens and where a part is missing; never built with the end of the stream.
    """
    steps = output_tokens - np.nan_to_num(hidden_tokens) - 1
    span = last_token_ms - ttft_ms
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((steps >= 1) & (span >= 0), span / steps, np.nan)
