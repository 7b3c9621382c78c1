"""A static origin of a running test server: its responses are copied into a folder that nginx serves."""
from crawl import Crawl
from nginx import Nginx


def make(server, folder):
    """Returns an Nginx, not started yet, that serves the current responses of `server`."""
    nginx = Nginx(folder)
    Crawl(server.url, server.data / "attachments", nginx.files / "v1", nginx.url).run()
    return nginx
