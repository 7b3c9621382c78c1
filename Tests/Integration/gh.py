#!/usr/bin/env python3
"""Stands in for GitHub's gh: keeps pull requests in a file, takes only the options that the real one has.

GH_STATE names the file; GH_FAIL a word, of whose subcommand (list, create, edit) every call fails. Requests of `main`'s
repository at OTHER_FORK's are there from the start where the file says so. Calls are noted in the file, too.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import jq

STATE = pathlib.Path(os.environ["GH_STATE"])


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gh", exit_on_error=True)
    commands = parser.add_subparsers(dest="group", required=True).add_parser("pr").add_subparsers(
        dest="command", required=True)
    listing, create, edit = (commands.add_parser(name) for name in ("list", "create", "edit"))
    for each in (listing, create):
        each.add_argument("--head", required=True)
        each.add_argument("--base", required=True)
    listing.add_argument("--state", choices=["open", "closed", "merged", "all"], default="open")
    listing.add_argument("--json", required=True)
    listing.add_argument("--jq", required=True)
    edit.add_argument("number", type=int)
    for each in (create, edit):
        each.add_argument("--title", required=True)
        each.add_argument("--body-file", type=pathlib.Path, required=True)
    return parser.parse_args(arguments)


def main():
    if sys.argv[1:] == ["auth", "token"]:
        return
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    requests = state.setdefault("requests", [])
    state.setdefault("calls", []).append(sys.argv[1:])
    STATE.write_text(json.dumps(state))
    options = parse(sys.argv[1:])
    if os.environ.get("GH_FAIL") == options.command:
        sys.exit(f"gh: {options.command}: HTTP 502")
    if options.command == "list":
        found = [
            {**each, "url": f"https://github.example/pull/{each['number']}", "headRefOid": each.get("headRefOid") or head(each["head"])} for each in reversed(requests)
            if each["head"] == options.head and each["base"] == options.base
            and options.state in ("all", each["state"].lower())]
        wanted = [{name: each[name] for name in options.json.split(",")} for each in found]
        for line in jq.compile(options.jq).input_value(wanted).all():
            print(line)
        return
    body = options.body_file.read_text()
    if len(body) > 65536:
        sys.exit("gh: body is too long (maximum is 65536 characters)")
    if options.command == "create":
        if any(each["head"] == options.head and each["state"] == "OPEN" and not each["isCrossRepository"]
               for each in requests):
            sys.exit("gh: a pull request for this branch already exists")
        requests.append({
            "number": len(requests) + 1, "state": "OPEN", "isCrossRepository": False, "head": options.head,
            "base": options.base, "title": options.title, "body": body})
        print(f"https://github.example/pull/{len(requests)}")
    else:
        requests[options.number - 1].update(title=options.title, body=body)
    STATE.write_text(json.dumps(state))


def head(branch):
    return subprocess.run(
        ["git", "ls-remote", "origin", f"refs/heads/{branch}"], check=True, capture_output=True, text=True).stdout[:40]


main()
