"""rsdump over HTTPS: `rsdump serve` behind nginx as in the example, untrusted certificates, and exits during requests."""
import datetime
import ipaddress
import signal
import subprocess
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import rsdump
from nginx_examples import BehindNginx
from serve import Serving
from trusting import TRUSTING, trusting


def certificate(folder, address="127.0.0.1", days=2):
    """Creates the files of a self-signed certificate and its key."""
    folder.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"settings in {folder.name}")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True).sign(key, hashes.SHA256()))
    chain, secret = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return chain, secret


@pytest.fixture(scope="module")
def demo():
    with Serving("--demo") as serving:
        yield serving


def configure(path, url, root):
    path.mkdir()
    (path / "dumps.yaml").write_text(
        f"version: 1\nserver: {url}/v2\ntrust:\n  roots:\n    - \"{root}\"\nattachments: all\n"
        "collections:\n  main/large:\n  main/icons:\n  main/markets:\n")


def refresh(front, root, path, trusted):
    configure(path, front.origin, root)
    command = [rsdump.BINARY, "refresh", "--dumps", path]
    return trusting(trusted, command) if trusted else rsdump.run(*command[1:])


def test_the_example_speaks_tls_for_serve(tmp_path):
    tls = certificate(tmp_path / "tls")
    with BehindNginx(tmp_path / "nginx", tls=tls) as front, \
            Serving("--demo", "--port", front.upstream_port, "--public-url", front.origin) as serving:
        ran = refresh(front, serving.root, tmp_path / "dumps", tls[0])
        assert ran.returncode == rsdump.DONE, ran.stderr
        assert list((tmp_path / "dumps/main").glob("*.zip"))


@pytest.mark.parametrize("case", ["another authority", "another name", "expired", "not one of the system's"])
def test_tls_untrusted_certificate_is_refused(demo, tmp_path, case):
    address, days = "127.0.0.2" if case == "another name" else "127.0.0.1", -1 if case == "expired" else 2
    tls = certificate(tmp_path / "tls", address, days)
    trusted = {"another authority": certificate(tmp_path / "other")[0], "not one of the system's": None}.get(case, tls[0])
    with BehindNginx(tmp_path / "nginx", demo.port, tls=tls) as front:
        ran = refresh(front, demo.root, tmp_path / "dumps", trusted)
    error = ran.stderr if trusted else ran.err
    assert (ran.returncode if trusted else ran.code) == rsdump.UNREACHABLE
    assert front.origin in error and "certificate" in error, error
    assert (tmp_path / "nginx/places.log").read_text() == ""
    assert not list((tmp_path / "dumps").glob("*/*.zip"))


def test_missing_libcurl_is_named(demo, tmp_path):
    """libcurl is loaded at the first request, so commands without network access do not need it."""
    hidden = 'for each in $(ldconfig -p | sed -n "s/.*libcurl[^ ]* .*=> //p"); do mount --bind /dev/null "$each"; done; exec "$@"'
    for words, code in ((("--version",), rsdump.DONE), (("get", "main/markets", "--sync", "--server", f"{demo.url}/v2", "--trust-root", demo.root, "--storage", tmp_path / "storage"), rsdump.UNREACHABLE)):
        ran = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hidden, "sh", rsdump.BINARY, *map(str, words)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=rsdump.environment())
        assert ran.returncode == code and ("libcurl4" in ran.stderr) == (code != rsdump.DONE), ran


@pytest.mark.parametrize("milliseconds", range(0, 120, 15))
def test_exit_during_tls_requests(tmp_path, milliseconds):
    """An exit does not wait for requests, so OpenSSL's memory must outlive the transport's thread."""
    tls = certificate(tmp_path / "tls")
    with BehindNginx(tmp_path / "nginx", tls=tls) as front, \
            Serving("--demo", "--port", front.upstream_port, "--public-url", front.origin) as serving:
        path = tmp_path / "dumps"
        configure(path, front.origin, serving.root)
        process = subprocess.Popen(
            [*TRUSTING, tls[0], rsdump.BINARY, "refresh", "--dumps", path], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=rsdump.environment())
        time.sleep(0.02 + milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode in (rsdump.DONE, rsdump.SOME_FAILED, 130, -signal.SIGINT), error
