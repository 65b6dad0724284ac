"""Whom to trust: one TLS context for a client, and what its errors mean.

The machine's own authorities are used; where it has none, those of the certifi package. A private authority is named
by file, and nothing is left unverified unless that is asked for by name.
"""

import ssl
from pathlib import Path

import certifi

from llmload.exits import Stop


def context(ca: str | None = None, *, insecure: bool = False) -> ssl.SSLContext:
    """A client context: verifies against `ca` if given, else the machine's authorities, else certifi's.

    Building one takes tens of milliseconds, so a client builds it once, before any clock runs. Raises Stop(USAGE) for
    a file without certificates.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.set_alpn_protocols(["http/1.1"])
    if insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        return made
    if ca is not None:
        if not Path(ca).is_file():
            raise Stop(f"{ca}: no such file; --ca names a file with certificates in PEM form")
        try:
            made.load_verify_locations(cafile=ca)
        except (ssl.SSLError, OSError) as error:
            raise Stop(f"{ca}: no certificates in PEM form: {error}") from error
        return made
    made.load_default_certs()
    if not made.cert_store_stats()["x509_ca"] and not has_folder():
        made.load_verify_locations(cafile=certifi.where())
    return made


def has_folder() -> bool:
    """True if OpenSSL's folder of authorities, which it reads only when it verifies, holds any."""
    folder = ssl.get_default_verify_paths().capath
    return folder is not None and any(Path(folder).glob("*.0"))


def why(error: ssl.SSLError) -> str:
    """What a failed handshake says, with what to do about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: {error.verify_message}; name its authority with --ca FILE, or --insecure to trust anybody"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    hint = "; is it a plain http server?" if "wrong version" in reason or "record layer" in reason else ""
    return f"TLS: {reason}{hint}"
