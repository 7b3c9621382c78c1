"""A static origin of a running test server: what it answers, copied into a folder, which nginx serves."""
from crawl import Crawl
from nginx import Nginx


def make(server, folder):
    """An Nginx, not started yet, that serves what `server` answers now."""
    nginx = Nginx(folder)
    Crawl(server.url, server.data / "attachments", nginx.files / "v1", nginx.url).run()
    return nginx
