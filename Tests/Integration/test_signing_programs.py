"""A signing key that no disk of the publisher holds: publish --sign-with, and certificates for such a key."""
import pathlib
import shutil
import subprocess

import pytest

import rsdump
from git import ENVIRONMENT, GitTree, Repository
from test_publish import Team
from verify import check

EXAMPLES = rsdump.REPOSITORY / "Examples/signing"
SOFTHSM = next(pathlib.Path("/usr/lib").glob("**/softhsm/libsofthsm2.so"), None)


class Token:
    """A key that only a program uses. `command` signs with it, `public` is its public key, `environment` is what both need."""

    def __init__(self, path, command, environment):
        self.command, self.environment = EXAMPLES / command, environment
        self.public = path / "signer.pub"

    def run(self, *command):
        done = subprocess.run(
            [str(each) for each in command], env=rsdump.environment(self.environment), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def openssl(path):
    key = path / "signer.key"
    token = Token(path, "sign-with-openssl", {"SIGNER_KEY": str(key)})
    token.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", key)
    token.run("openssl", "pkey", "-in", key, "-pubout", "-out", token.public)
    return token


def softhsm(path):
    assert SOFTHSM, "softhsm2 is missing: run scripts/setup"
    (path / "tokens").mkdir()
    settings = path / "softhsm2.conf"
    settings.write_text(f"directories.tokendir = {path / 'tokens'}\nlog.level = ERROR\n")
    token = Token(path, "sign-with-pkcs11", {
        "SOFTHSM2_CONF": str(settings), "PKCS11_MODULE": str(SOFTHSM), "PKCS11_TOKEN": "publish", "PKCS11_KEY": "signer",
        "PKCS11_PIN": "4321"})
    token.run("softhsm2-util", "--init-token", "--free", "--label", "publish", "--so-pin", "1234", "--pin", "4321")
    token.run("pkcs11-tool", "--module", SOFTHSM, "--token-label", "publish", "--login", "--pin", "env:PKCS11_PIN",
              "--keypairgen", "--key-type", "EC:secp384r1", "--label", "signer", "--id", "01")
    token.public.write_text(token.run(token.command, "--public-key"))
    return token


class SigningTeam(Team):
    """A team whose repository has certificates only. `offline` has the keys of the root and of the intermediate certificate."""

    def __init__(self, path, token, *options):
        super().__init__(path)
        self.token = token
        made = self.keys("create", "offline", "--signer-public-key", token.public, *options)
        assert made.code == rsdump.DONE and made.says("--sign-with"), str(made)
        self.take_certificates()

    def take_certificates(self):
        (self.path / "keys").mkdir(exist_ok=True)
        for file in (self.path / "offline").glob("*.pem"):
            shutil.copy(file, self.path / "keys")

    def sign(self, *arguments, command=None):
        return self.publish("--sign-with", command or self.token.command, *arguments, env=self.token.environment)

    @property
    def files(self):
        return {file: file.read_bytes() for file in self.dumps.path.rglob("*") if file.is_file()}


@pytest.fixture(params=[openssl, softhsm])
def token(request, tmp_path):
    (tmp_path / "token").mkdir()
    return request.param(tmp_path / "token")


@pytest.fixture
def team(tmp_path):
    (tmp_path / "token").mkdir()
    return SigningTeam(tmp_path / "repository", openssl(tmp_path / "token"))


def test_publish_sign_with_program(token, tmp_path):
    team = SigningTeam(tmp_path / "repository", token)
    published = team.sign()
    assert published.code == rsdump.DONE, str(published)
    assert team.dumps.verify().code == rsdump.DONE
    bundle = team.bundle("main/settings")
    for signature in bundle.signatures:
        assert check(bundle.payload, "main", signature["signature"], "http://x/chain.pem", lambda url: bundle.chain, team.root)
    unchanged = team.files
    assert team.sign().code == rsdump.DONE and team.files == unchanged

    renewed = team.keys("renew", "offline", "--signer-public-key", token.public, "--intermediate")
    assert renewed.code == rsdump.DONE, str(renewed)
    team.take_certificates()
    again = team.sign("--resign")
    assert again.code == rsdump.DONE and again.says("signed again"), str(again)
    assert team.dumps.verify().code == rsdump.DONE
    texts = [file.read_bytes() for place in ("keys", "dumps", "sources") for file in (team.path / place).rglob("*") if file.is_file()]
    assert not any(b"PRIVATE KEY" in text for text in texts)
    assert not (team.path / "offline/signer.key").exists()


def test_sign_with_chain_from_environment(team):
    chain = (team.path / "keys/chain.pem").read_text()
    shutil.rmtree(team.path / "keys")
    assert team.sign().code == rsdump.USAGE
    team.token.environment["RSDUMP_SIGNER_CHAIN"] = chain
    # What a job may have left over from before is not looked at.
    team.token.environment["RSDUMP_SIGNER_KEY"] = "no key"
    published = team.sign()
    assert published.code == rsdump.DONE and team.dumps.verify().code == rsdump.DONE, str(published)


def test_publish_push_sign_with_program(team, tmp_path):
    origin, clone = Repository.create(tmp_path / "origin", bare=True), GitTree(team.path)
    clone("remote", "add", "origin", origin.path)
    clone("add", "keys", "sources")
    clone("commit", "-q", "-m", "Sources")
    for options in ((), ("--resign",)):
        done = rsdump.run("publish", "--push", "--sign-with", team.token.command, *options, cwd=team.path,
                          env={**team.token.environment, **ENVIRONMENT})
        assert done.code == rsdump.DONE, str(done)
    clone("pull", "-q", "origin", "main")
    assert "dumps/main/settings.zip" in origin("ls-tree", "-r", "--name-only", "main")
    assert team.dumps.verify().code == rsdump.DONE


def test_what_does_not_go_together(team):
    assert team.publish("--sign-with", "").code not in (rsdump.DONE, rsdump.SOME_FAILED)
    assert team.publish("--sign-with", "true", "--dry-run").code not in (rsdump.DONE, rsdump.SOME_FAILED)
    # A private key is not a public one, and a signing key is not left beside the certificate of another.
    private = team.token.environment["SIGNER_KEY"]
    refused = team.keys("create", "other", "--signer-public-key", private)
    assert refused.code == rsdump.USAGE and refused.says("a private key") and not (team.path / "other").exists(), str(refused)
    assert team.keys("create", "other").code == rsdump.DONE
    refused = team.keys("renew", "other", "--signer-public-key", team.token.public)
    assert refused.code == rsdump.USAGE and refused.says("other/signer.key"), str(refused)
