"""nginx with the configurations in Examples/nginx. Each server runs inside a `with` block."""
import nginx
import rsdump

EXAMPLES = rsdump.REPOSITORY / "Examples/nginx"


class ExampleNginx(nginx.Nginx):
    """Includes one of the examples, with the values that a user would change."""

    MODULES = ""

    def __init__(self, folder):
        super().__init__(folder)
        self.origin = f"http://127.0.0.1:{self.port}"

    def adapted(self, name, *changes):
        text = (EXAMPLES / name).read_text()
        for written, here in changes:
            assert written in text, written
            text = text.replace(written, here)
        return text

    def configuration(self, user):
        included = self.folder / "included.conf"
        included.write_text(self.example())
        # The log shows which server and location answered.
        return (f"{self.MODULES}{user}\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log warn;\n"
                f"worker_processes 1;\nevents {{ worker_connections 1024; }}\nhttp {{\n"
                f"    log_format place '$server_port $uri';\n    access_log {self.folder}/places.log place;\n"
                + "".join(f"    {kind}_temp_path {self.folder}/tmp-{kind};\n"
                          for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"    include {included};\n}}\n")


class BehindNginx(ExampleNginx):
    """In front of `rsdump serve` at `upstream_port`, which need not be running.

    It speaks TLS, like the example, if `tls` gives a certificate file and a key file; otherwise plain HTTP."""

    def __init__(self, folder, upstream_port=None, tls=None):
        super().__init__(folder)
        self.upstream_port = upstream_port or nginx.free_port()
        self.tls = tls
        if tls:
            self.origin = f"https://127.0.0.1:{self.port}"

    def example(self):
        certificate, key = self.tls or (None, None)
        listen = f"listen 127.0.0.1:{self.port}"
        return self.adapted(
            "remote-settings.conf", ("server 127.0.0.1:8888;", f"server 127.0.0.1:{self.upstream_port};"),
            ("listen 443 ssl http2;", f"{listen} ssl http2;" if self.tls else f"{listen};"),
            ("ssl_certificate /etc/ssl/certs/settings.example.org.pem;", f"ssl_certificate {certificate};" if self.tls else ""),
            ("ssl_certificate_key /etc/ssl/private/settings.example.org.pem;",
             f"ssl_certificate_key {key};" if self.tls else ""))
