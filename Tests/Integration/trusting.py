"""A self-signed certificate, and commands that trust only it."""
import subprocess

import rsdump


def self_signed(folder):
    """Creates the files of a certificate for 127.0.0.1 and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=push",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    return certificate, key


# Runs a command in a separate mount namespace, where only the certificate given before it is trusted.
TRUSTING = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
            'mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$@"', "sh"]


def trusting(certificate, command, env=None):
    return subprocess.run(
        [*TRUSTING, certificate, *map(str, command)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=rsdump.environment(env))
