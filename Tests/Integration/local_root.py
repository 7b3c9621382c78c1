"""The signer for local development servers, whose root is built into Firefox.

For a server at http://127.0.0.1, Firefox uses the root `ContentSignatureLocalRoot`. Its key is lost, but Mozilla publishes
the key of its intermediate authority for this purpose: autograph-signer.yaml of mozilla-services/autograph,
signer `remote-settings`, "testing keys that do not grant any power". So a test can issue a leaf that Firefox accepts with
verification. The intermediate certificate expires on 2029-03-21; then Firefox and this file need a new one.
"""
import base64
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rs_server import pki

SECRET = int(
    "449357eae453300522ca0e57665be411a35e5e79b7492b50"
    "ddad4969d929b055ff394df7d7945b1a69c7033228a8c3f5", 16)
INTERMEDIATE = """
    MIICWzCCAeKgAwIBAgIIFY4HHiYeU5AwCgYIKoZIzj0EAwMwXzELMAkGA1UEBhMCVVMxCzAJBgNVBAgTAkNBMRYwFAYDVQQHEw1Nb3VudGFpbiBW
    aWV3MRAwDgYDVQQKEwdNb3ppbGxhMRkwFwYDVQQDExBjc3Jvb3QxNTUzMTg2NzQ3MB4XDTE5MDEyMDE3NDU0N1oXDTI5MDMyMTE2NDU0N1owYDEL
    MAkGA1UEBhMCVVMxCzAJBgNVBAgTAkNBMRYwFAYDVQQHEw1Nb3VudGFpbiBWaWV3MRAwDgYDVQQKEwdNb3ppbGxhMRowGAYDVQQDExFjc2ludGVy
    MTU1MzE4Njc0NzB2MBAGByqGSM49AgEGBSuBBAAiA2IABE/l1sHSqAN6/ghHNWS4cNh/ZMNzxiSk0VadD8qic3URaswhY0B6444mCOzDCrT4zYnT
    9M1ydiW2zm1VmHowVgrBgcb82WRNlnnnBvcYrLwmSgUf9fvhObejTqF/QG4J9qNqMGgwDgYDVR0PAQH/BAQDAgGGMBMGA1UdJQQMMAoGCCsGAQUF
    BwMDMA8GA1UdEwEB/wQFMAMBAf8wMAYDVR0eAQH/BCYwJKAiMCCCHi5jb250ZW50LXNpZ25hdHVyZS5tb3ppbGxhLm9yZzAKBggqhkjOPQQDAwNn
    ADBkAjBPi4uhzbCzoFxYD2LZY+hUQ1kXeHE9YmF0NOBbosIY041UrbLQLpQRXi4LFku9008CMGoSf/UGB6qV9KzsCY3s51LpRw/oK58D2n63FpPn
    OTICWvWAYsG3HPNCoURfLqlEOQ==
"""
ROOT = """
    MIICKjCCAa+gAwIBAgIIFY4HHiViG/gwCgYIKoZIzj0EAwMwXzELMAkGA1UEBhMCVVMxCzAJBgNVBAgTAkNBMRYwFAYDVQQHEw1Nb3VudGFpbiBW
    aWV3MRAwDgYDVQQKEwdNb3ppbGxhMRkwFwYDVQQDExBjc3Jvb3QxNTUzMTg2NzQ3MB4XDTE5MDExOTE3NDU0N1oXDTQ5MDMyMTE3NDU0N1owXzEL
    MAkGA1UEBhMCVVMxCzAJBgNVBAgTAkNBMRYwFAYDVQQHEw1Nb3VudGFpbiBWaWV3MRAwDgYDVQQKEwdNb3ppbGxhMRkwFwYDVQQDExBjc3Jvb3Qx
    NTUzMTg2NzQ3MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEhpIdiezJa9Ab2dCesA0pc5FIBdkA6uWWVU2hN3/CpTWcTbhZ6JRCSsGa31YEUEGkDuGl
    C1ti6hzL0gq/vlnRkMoAcdPU8qdeOp/ZAmVYP+CZcQ0F0S/7PFjqE+5AiLGmozgwNjAOBgNVHQ8BAf8EBAMCAYYwEwYDVR0lBAwwCgYIKwYBBQUH
    AwMwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAwNpADBmAjEA1UhMQI32zwh4+UmD1tVYRFRLM0syraFyXTzUlrYF0YW89gvUXETPTmewAST3
    97LAAjEAzGUC8N7h8BWfj6R9ES88UPgryhRZrsaFZybKjZnBwG7lN9AkrjpKC1h2z4naOXX3
"""


class Authority:
    """An existing certificate with the interface that `pki` uses for issuers."""

    def __init__(self, text, key=None):
        self.certificate = x509.load_der_x509_certificate(base64.b64decode(text))
        self.key = key

    pem = pki.Certificate.pem
    sha256 = pki.Certificate.sha256


def make(folder):
    """Creates a test server's PKI like `pki.make`, but with a chain that Firefox accepts; returns the root's hash."""
    folder = pathlib.Path(folder)
    pki.make(folder)
    root, issuer = Authority(ROOT), Authority(INTERMEDIATE, ec.derive_private_key(SECRET, ec.SECP384R1()))
    key = serialization.load_pem_private_key((folder / "leaf.key.pem").read_bytes(), None)
    chain = [pki.leaf(issuer, key), issuer, root]
    (folder / "chains/chain.pem").write_bytes(b"".join(each.pem for each in chain))
    (folder / "root.sha256").write_text(root.sha256 + "\n")
    return root.sha256
