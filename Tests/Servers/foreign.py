"""Programs of other makes or versions, to stand first in PATH: what runs on another machine must get along with them.

    foreign.py DIR     writes them into DIR; what they are called with is in DIR/calls, what they refuse in DIR/refused

    clang, gcc, cc   compilers older than `#embed`: refuse everything, because what is built here is built by the toolchain's own
    python3          has no packages but the standard library's
    curl             is of 2018: does not know the options that came later
    nginx            refuses to run with the configuration of the machine
    git              has settings of somebody who likes colours, signatures, hooks and short answers; it runs the real git
"""
import pathlib
import shlex
import shutil
import sys

HEAD = """#!/bin/bash
# Written by Tests/Servers/foreign.py.
folder={folder}
name=$(basename "$0")
printf '%s' "$name" >>"$folder/calls"; printf ' %q' "$@" >>"$folder/calls"; echo >>"$folder/calls"
refuse() {{ echo "$name: $1" >&2; echo "$name: $1: $*" >>"$folder/refused"; exit 2; }}
"""

COMPILER = """
refuse "error: invalid preprocessing directive (this compiler is not the toolchain's)"
"""

PYTHON = """
exec {real} -I -S "$@"
"""

CURL = """
for argument in "$@"; do
    case $argument in
        --etag-save | --etag-compare | --parallel | -Z | --json | --fail-with-body | --retry-all-errors | --output-dir | --url-query)
            refuse "option $argument: is unknown" ;;
    esac
done
exec {real} "$@"
"""

NGINX = """
[[ " $* " == *" -c "* || " $* " == *" -v "* || " $* " == *" -V "* ]] || refuse "would read the machine's configuration"
exec {real} "$@"
"""

GIT = """
export GIT_CONFIG_SYSTEM=${{GIT_CONFIG_SYSTEM:-$folder/gitconfig}}
exec {real} "$@"
"""

GIT_SETTINGS = """
[color]
    ui = always
[core]
    autocrlf = true
    quotePath = false
    pager = /bin/false
    editor = /bin/false
    hooksPath = {folder}/hooks
[commit]
    gpgSign = true
[tag]
    gpgSign = true
[gpg]
    program = /bin/false
[init]
    defaultBranch = foreign
[log]
    showSignature = true
    date = relative
    abbrevCommit = true
[diff]
    external = /bin/false
    noprefix = true
[status]
    short = true
    branch = true
[push]
    default = nothing
[fetch]
    prune = true
[merge]
    ff = only
"""


def make(folder):
    """Writes the programs into the folder, and returns it. Those that are not on this machine are left out."""
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"clang": COMPILER, "gcc": COMPILER, "cc": COMPILER, "python3": PYTHON, "curl": CURL, "nginx": NGINX, "git": GIT}
    for name, text in texts.items():
        real = shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin:/opt/homebrew/bin")
        if real is None and "{real}" in text:
            continue
        program = folder / name
        program.write_text((HEAD + text).format(folder=shlex.quote(str(folder)), real=shlex.quote(real or name)))
        program.chmod(0o755)
    (folder / "gitconfig").write_text(GIT_SETTINGS.format(folder=folder))
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "pre-push", "post-checkout", "reference-transaction"):
        (hooks / name).write_text("#!/bin/sh\necho 'a hook of somebody else' >&2\nexit 1\n")
        (hooks / name).chmod(0o755)
    return folder


if __name__ == "__main__":
    print(make(sys.argv[1]))
