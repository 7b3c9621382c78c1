"""nginx in front of `rsdump serve`, set up by the example for it."""
import nginx
import rsdump

EXAMPLE = rsdump.REPOSITORY / "Examples/nginx/remote-settings.conf"


class BehindNginx(nginx.Nginx):
    """Runs for as long as a `with` block does. The server's port is `upstream_port`, whether it is there or not."""

    def __init__(self, folder, upstream_port=None):
        super().__init__(folder)
        self.upstream_port = upstream_port or nginx.free_port()
        self.origin = f"http://127.0.0.1:{self.port}"

    def configuration(self, user):
        example = EXAMPLE.read_text()
        for written, here in (("listen 80;", f"listen 127.0.0.1:{self.port};"),
                              ("server 127.0.0.1:8888;", f"server 127.0.0.1:{self.upstream_port};")):
            assert example.count(written) == 1, written
            example = example.replace(written, here)
        included = self.folder / "remote-settings.conf"
        included.write_text(example)
        return (f"{user}\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log warn;\nworker_processes 1;\n"
                f"events {{ worker_connections 1024; }}\nhttp {{\n    access_log off;\n"
                + "".join(f"    {kind}_temp_path {self.folder}/tmp-{kind};\n"
                          for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"    include {included};\n}}\n")
