"""Git hosts on loopback: git over HTTP with a token, release files, and the APIs of GitHub and GitLab."""
import base64
import contextlib
import http.server
import json
import subprocess
import threading
import urllib.parse

from git import ENVIRONMENT

TOKEN = "glpat-a secret/of+tests"
PROJECT = 7
# The documented parameters of each GitLab API request.
LIST = {"source_branch", "target_branch", "state", "per_page", "page"}
CREATE = {"source_branch", "target_branch", "title", "description", "labels", "reviewer_ids"}
EDIT = {"title", "description", "target_branch", "state_event"}


class Forge:
    def __init__(self, origin, user):
        """
        `origin` is the bare repository, at /group/app.git; `user` is the name that goes with the token.
        """
        self.origin, self.user, self.merge_requests, self.releases, self.refused = origin, user, [], {}, []

    @contextlib.contextmanager
    def serving(self):
        forge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                forge.answer(self)
            do_POST = do_PUT = do_GET
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_port}"
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield self
            server.shutdown()

    def answer(self, request):
        address = urllib.parse.urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if address.path in self.releases:
            return reply(request, 200, self.releases[address.path])
        if address.path.startswith("/group/app.git/"):
            expected = base64.b64encode(f"{self.user}:{TOKEN}".encode()).decode()
            # GitHub rejects two headers. The scheme is case-insensitive.
            given = [tuple(each.split(" ")) for each in request.headers.get_all("Authorization") or []]
            if [(scheme.lower(), credentials) for scheme, credentials in given] != [("basic", expected)]:
                self.refused.append(request.path)
                return reply(request, 401, b"", {"WWW-Authenticate": 'Basic realm="git"'})
            return self.git(request, address, body)
        prefix = f"/api/v4/projects/{PROJECT}/merge_requests"
        if address.path == f"/api/v4/projects/{PROJECT}/pipelines" and request.headers.get("PRIVATE-TOKEN") == TOKEN:
            known = dict(urllib.parse.parse_qsl(address.query, strict_parsing=True)).keys() == {"source", "per_page", "updated_after"}
            return reply(request, 200 if known else 400, json.dumps([{}] * self.schedules).encode())
        if not address.path.startswith(prefix) or request.headers.get("PRIVATE-TOKEN") != TOKEN:
            self.refused.append(request.path)
            return reply(request, 401, b"{}")
        parameters = dict(urllib.parse.parse_qsl(address.query, strict_parsing=True)) if request.command == "GET" else json.loads(body)
        status, document = self.api(request.command, address.path.removeprefix(prefix), parameters)
        if status >= 400:
            self.refused.append(request.path)
        return reply(request, status, json.dumps(document).encode())

    def api(self, method, path, parameters):
        known = {"GET": LIST, "POST": CREATE, "PUT": EDIT}[method]
        if method == "POST" and path.endswith("/notes"):
            self.merge_requests[int(path.split("/")[1]) - 1].setdefault("notes", []).append(parameters["body"])
            return 201, {}
        if not parameters.keys() <= known or (method == "POST") != (method == "POST" and path == ""):
            return 400, {"error": f"{method} {path}: {sorted(parameters)}"}
        if method == "GET":
            return 200, [each | {"sha": self.sha(each)} for each in self.merge_requests
                         if all(each[name] == parameters[name] for name in ("source_branch", "target_branch"))]
        if method == "POST":
            if any(each["state"] == "opened" for each in self.merge_requests):
                return 409, {"message": ["Another open merge request already exists for this source branch"]}
            number = len(self.merge_requests) + 1
            self.merge_requests.append(parameters | {
                "iid": number, "state": "opened", "source_project_id": PROJECT, "target_project_id": PROJECT,
                "web_url": f"{self.url}/group/app/-/merge_requests/{number}"})
            return 201, self.merge_requests[-1]
        if parameters.pop("state_event", None) == "close":
            parameters["state"] = "closed"
        self.merge_requests[int(path.removeprefix("/")) - 1].update(parameters)
        return 200, {}

    def sha(self, request):
        return self.origin("rev-parse", request["source_branch"])

    def git(self, request, address, body):
        headers = request.headers
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env={
            **ENVIRONMENT, "PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(self.origin.path), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": address.path.removeprefix("/group/app.git"), "REQUEST_METHOD": request.command,
            "QUERY_STRING": address.query, "REMOTE_USER": self.user, "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
            **({"HTTP_CONTENT_ENCODING": headers["Content-Encoding"]} if headers["Content-Encoding"] else {}),
            "GIT_PROTOCOL": headers.get("Git-Protocol") or ""})
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        reply(request, int(fields.pop("Status", "200")[:3]), content, fields)


def reply(request, status, content, headers=None):
    request.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)


class GitHub:
    """GitHub's pull request API for the repository group/app. `requests` lists the pull requests."""

    def __init__(self):
        self.requests, self.refused, self.asked, self.fails, self.answer_with = [], [], [], None, None
        github = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                github.answer(self)
            do_POST = do_PATCH = do_GET
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def environment(self):
        return {"GH_TOKEN": TOKEN, "GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": "group/app"}

    def answer(self, request):
        address = urllib.parse.urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        self.asked.append((request.command, address.path))
        if self.answer_with is not None:
            return self.answer_with(request)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or "User-Agent" not in request.headers:
            self.refused.append(request.path)
            return reply(request, 401, b'{"message": "Bad credentials"}')
        parameters = dict(urllib.parse.parse_qsl(address.query, strict_parsing=True)) if address.query else {}
        status, document = self.api(
            request.command, address.path.removeprefix("/repos/group/app"), json.loads(body) if body else parameters)
        if status >= 400:
            self.refused.append(request.path)
        return reply(request, status, json.dumps(document).encode())

    def api(self, method, path, given):
        parts = path.split("/")
        if (method, path) == ("GET", "/pulls") and given.keys() == {"head", "base", "state", "per_page"}:
            if self.fails == "list":
                return 500, {"message": "list failed"}
            return 200, [self.shown(each) for each in reversed(self.requests)
                         if f"group:{each['head']}" == given["head"] and each["base"] == given["base"]]
        if (method, path) == ("POST", "/pulls") and given.keys() == {"title", "body", "head", "base"}:
            if self.fails == "create":
                return 422, {"message": "Validation Failed", "errors": [{"message": "create failed"}]}
            if any(each["state"] == "OPEN" and not each.get("isCrossRepository") and each["head"] == given["head"]
                   for each in self.requests):
                return 422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}
            self.requests.append({**given, "number": len(self.requests) + 1, "state": "OPEN"})
            return 201, self.shown(self.requests[-1])
        if method == "PATCH" and parts[1] == "pulls" and given.keys() <= {"title", "body", "state"}:
            state = {"state": given["state"].upper()} if "state" in given else {}
            self.requests[int(parts[2]) - 1].update({**given, **state})
            return 200, {}
        if method == "POST" and parts[1] == "issues" and parts[3] in ("labels", "comments"):
            self.requests[int(parts[2]) - 1].setdefault(parts[3], []).append(given)
            return 201, {}
        if method == "POST" and parts[1] == "pulls" and parts[3] == "requested_reviewers":
            self.requests[int(parts[2]) - 1]["reviewers"] = given
            return 201, {}
        return 400, {"message": f"{method} {path}: {sorted(given)}"}

    def shown(self, each):
        return {"number": each["number"], "state": "open" if each["state"] == "OPEN" else "closed",
                "merged_at": "2026-01-01T00:00:00Z" if each["state"] == "MERGED" else None,
                "html_url": f"https://github.example/pull/{each['number']}", "body": each["body"],
                "head": {"repo": {"full_name": "somebody/app" if each.get("isCrossRepository") else "group/app"}}}
