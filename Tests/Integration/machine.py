"""The part of this machine that the integration tests see, whatever else is installed or set on it: the programs listed here, an
empty home, and no settings of git."""
import atexit
import os
import pathlib
import shutil
import tempfile

from git_tree import NO_SETTINGS

# Programs that change what is tested, such as gh and git-lfs, are not here: a test that wants one makes its own.
PROGRAMS = """
    awk base64 basename bash bsdtar bunzip2 bzip2 cat cc chgrp chmod chown chromedriver chromium cmp comm cp cron crontab curl cut
    date dd df diff dirname dpkg dpkg-deb dpkg-query du echo env expr faketime false find firefox-esr flock gcc getconf getent
    git grep gunzip gzip head hostname id install jq kill ldd ln logger ls md5sum mkdir mkfifo mknod mktemp mount mv nginx nice nm
    nohup nproc od openssl paste pkcs11-tool pkill printenv printf ps pwd python3 readelf readlink realpath rm rmdir run-parts
    script sed seq setpriv setsid sh sha1sum sha256sum sleep softhsm2-util sort spin split ssh ssh-keygen ssh-keyscan sshd stat
    stdbuf strings strip sync systemctl systemd-analyze tac tail tar tee test timeout touch tr true truncate tty umount uname uniq
    unlink unshare unzip useradd userdel usermod wc wrk xargs xz yes zip zstd""".split()


def isolate():
    """Changes this process's environment, which the processes of the tests inherit."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="machine-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
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
