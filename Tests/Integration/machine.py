"""Isolates the integration tests from this machine: they see only the programs listed here, an empty home, and no git
settings."""
import atexit
import os
import pathlib
import shutil
import tempfile

from git import NO_SETTINGS

# Programs that change the behavior under test, such as gh and git-lfs, are omitted: a test that needs one provides it.
PROGRAMS = """
    arch as awk b2sum base32 base64 basename basenc bash bsdtar bunzip2 bzcat bzip2 cat cc chgrp chmod chown chromedriver
    chromium cksum cmp comm cp cron crontab csplit curl cut date dd df diff dirname dpkg dpkg-deb dpkg-query du echo env expand
    expr faketime false find findmnt firefox-esr flock fmt fold gcc getconf getent git gpg grep groupadd groups gunzip gzip head
    hostname id install ip join jq kill ld ld.bfd ld.gold ldconfig ldd link ln logger ls md5sum mkdir mkfifo mknod mktemp mount
    mv nginx nice nl nm nohup nproc numfmt od openssl paste pathchk pgrep pidof pkcs11-tool pkill printenv printf prlimit ps pwd
    python3 readelf readlink realpath rm rmdir run-parts script sed seq setpriv setsid sh sha1sum sha224sum sha256sum sha384sum
    sha512sum shuf sleep softhsm2-util sort spin split ssh ssh-add ssh-agent ssh-keygen ssh-keyscan sshd stat stdbuf strings
    strip stty sum sync systemctl systemd-analyze tac tail tar tee test timeout touch tr true truncate tsort umount uname
    unexpand uniq unlink unshare unxz unzip unzstd useradd userdel usermod users wc whoami wrk xargs xz xzcat yes zcat zdump zip
    zstd zstdcat""".split()


def isolate():
    """Changes this process's environment, which child processes inherit."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="machine-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Readable for tests that switch to a different user.
    folder.chmod(0o755)
    (folder / "home").mkdir()
    (folder / "bin").mkdir()
    places = [os.environ["PATH"], "/usr/sbin", "/sbin"]
    for name in PROGRAMS:
        if place := shutil.which(name, path=os.pathsep.join(places)):
            (folder / "bin" / name).symlink_to(place)
    toolchain = pathlib.Path(shutil.which("swift")).resolve().parent
    for name in [name for name in os.environ if name.startswith(("GIT_", "GH_", "GITHUB_", "GITLAB_", "CI_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(NO_SETTINGS, PATH=f"{folder / 'bin'}:{toolchain}", HOME=str(folder / "home"))
