"""A throw-away content-signature PKI, all P-384.

`make(folder)` writes
    leaf.key.pem, next.key.pem      the current signing key and that after a key rotation
    root.sha256, otherroot.sha256   SHA-256 of each root's DER, as configured in clients
    chains/*.pem                    leaf, intermediate, root in one file each

Chains over leaf.key: chain, onecrl (the leaf has the name for security-state), expired, otherroot. Over next.key, under
the same root: next.
"""
import datetime
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SIGNER = "remote-settings.content-signature.mozilla.org"
ONECRL_SIGNER = "onecrl.content-signature.mozilla.org"
DAY = datetime.timedelta(days=1)


class Certificate:
    """A certificate with its key, able to issue others."""

    def __init__(self, name, *, issuer=None, key=None, last_day=3650, ca=True, path_length=None, extra=()):
        self.key = key or ec.generate_private_key(ec.SECP384R1())
        issuer_key = issuer.key if issuer else self.key
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 30 * DAY)
            .not_valid_after(now + last_day * DAY)
            .add_extension(x509.BasicConstraints(ca, path_length), critical=True)
            .add_extension(x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        )
        for extension, critical in extra:
            builder = builder.add_extension(extension, critical)
        self.certificate = builder.sign(issuer_key, hashes.SHA384())

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def sha256(self):
        return self.certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def intermediate(root, tag):
    code_signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
    names = x509.NameConstraints([x509.DNSName(".content-signature.mozilla.org")], None)
    return Certificate(
        f"RS test intermediate {tag}", issuer=root, last_day=1825, path_length=0,
        extra=[(code_signing, True), (names, True)])


def leaf(issuer, key, host=SIGNER, last_day=365):
    code_signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
    name = x509.SubjectAlternativeName([x509.DNSName(host)])
    return Certificate(
        host, issuer=issuer, key=key, last_day=last_day, ca=False, extra=[(code_signing, False), (name, False)])


def make(folder):
    folder = pathlib.Path(folder)
    (folder / "chains").mkdir(parents=True, exist_ok=True)
    root, other_root = Certificate("RS test root one"), Certificate("RS test root two")
    issuer, other_issuer = intermediate(root, "one"), intermediate(other_root, "two")
    next_issuer = intermediate(root, "next")
    keys = {name: ec.generate_private_key(ec.SECP384R1()) for name in ("leaf", "next")}

    chains = {
        "chain": [leaf(issuer, keys["leaf"]), issuer, root],
        "onecrl": [leaf(issuer, keys["leaf"], ONECRL_SIGNER), issuer, root],
        "expired": [leaf(issuer, keys["leaf"], last_day=-1), issuer, root],
        "otherroot": [leaf(other_issuer, keys["leaf"]), other_issuer, other_root],
        "next": [leaf(next_issuer, keys["next"]), next_issuer, root],
    }
    for name, certificates in chains.items():
        (folder / "chains" / f"{name}.pem").write_bytes(b"".join(c.pem for c in certificates))
    for name, key in keys.items():
        (folder / f"{name}.key.pem").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    (folder / "otherroot.sha256").write_text(other_root.sha256 + "\n")
    (folder / "root.sha256").write_text(root.sha256 + "\n")
