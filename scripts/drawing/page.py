"""The page of rsdump serve over dumps/, photographed by chromium in light and in dark."""
import hashlib
import pathlib
import shutil
import subprocess
import tempfile

from drawing import terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Sources/Server/SnapshotServer/Page"
WIDTH, HEIGHT = 1100, 760


def sources_text():
    """The hash of everything that the page is made of, as a line of sha256sum."""
    total = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.swift")):
        total.update(f"{path.relative_to(ROOT)}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{total.hexdigest()}  {SOURCES.relative_to(ROOT)}\n"


def photograph(light, dark):
    """Writes both screenshots."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium or not terminal.RSDUMP.is_file():
        raise SystemExit(f"pictures: the page needs chromium and {terminal.RSDUMP}; install it, and build rsdump")
    with tempfile.TemporaryDirectory(prefix="pictures-") as name:
        scene = terminal.Scene(pathlib.Path(name))
        scene.move(terminal.NOW)
        shutil.copytree(ROOT / "dumps", scene.folder / "origin")
        with scene.serving() as address:
            for path, scheme in ((light, 1), (dark, 0)):
                subprocess.run(
                    [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     f"--user-data-dir={name}/profile", f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={WIDTH},{HEIGHT}",
                     f"--screenshot={path}", address], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
