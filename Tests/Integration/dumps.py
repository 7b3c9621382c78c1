"""A dumps directory, read with Python's zipfile and json, independently of the code under test."""
import hashlib
import json
import pathlib
import shutil
import zipfile

import rsdump


class Bundle:
    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            assert len(names) == len(set(names)), f"{path} has an entry twice"
            self.entries = {name: archive.read(name) for name in names}
        self.names = names

    @property
    def payload(self):
        return self.entries["records.json"]

    @property
    def records(self):
        return json.loads(self.payload)["data"]

    @property
    def timestamp(self):
        return int(json.loads(self.payload)["last_modified"])

    @property
    def metadata(self):
        return json.loads(self.entries["metadata.json"])

    @property
    def chain(self):
        return self.entries["chain.pem"]

    @property
    def signatures(self):
        metadata = self.metadata
        return metadata.get("signatures") or [metadata["signature"]]

    @property
    def attachments(self):
        """The packaged attachments: bytes by hash."""
        prefix = "attachments/"
        return {n.removeprefix(prefix): data for n, data in self.entries.items() if n.startswith(prefix)}


class Dumps:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    @property
    def config(self):
        return self.path / "dumps.yaml"

    @property
    def lock(self):
        return json.loads((self.path / "dumps.lock.json").read_bytes())

    def bundle_path(self, name):
        return self.path / f"{name}.zip"

    def bundle(self, name):
        return Bundle(self.bundle_path(name))

    @property
    def names(self):
        """The collections with a bundle."""
        return sorted(f"{path.parent.name}/{path.stem}" for path in self.path.glob("*/*.zip"))

    def files(self):
        """All files below the directory except hidden ones: content hash by relative path."""
        return {
            path.relative_to(self.path).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.path.rglob("*")) if path.is_file() and not self._is_hidden(path)
        }

    def stats(self):
        """What a write would change: inode, modification time and size of every file and folder."""
        found = {}
        for path in [self.path, *sorted(self.path.rglob("*"))]:
            if not self._is_hidden(path):
                status = path.stat()
                found[str(path.relative_to(self.path))] = (status.st_ino, status.st_mtime_ns, status.st_size)
        return found

    def _is_hidden(self, path):
        return any(part.startswith(".") for part in path.relative_to(self.path).parts)

    def copy(self, target):
        shutil.copytree(self.path, target)
        return Dumps(target)

    def edit_bundle(self, name, entry, find, put):
        """Edits an entry like an attacker who updates the manifest and lock file to match but cannot sign."""
        entries = self.bundle(name).entries
        old, new = entries[entry], entries[entry].replace(find, put, 1)
        assert old != new and len(old) == len(new)
        entries[entry] = new
        before, after = (hashlib.sha256(each).hexdigest().encode() for each in (old, new))
        if entry == "records.json":
            entries["manifest.json"] = entries["manifest.json"].replace(before, after)
        self.rewrite(name, entries)

    def rewrite(self, name, entries, **compression):
        """Writes a bundle with these entries, optionally compresses its records, and updates the lock file to match."""
        path = self.bundle_path(name)
        with zipfile.ZipFile(path, "w") as archive:
            for filename, content in entries.items():
                info = zipfile.ZipInfo(filename, (1980, 1, 1, 0, 0, 0))
                info.create_system, info.external_attr = 3, 0o100644 << 16
                archive.writestr(info, content, **(compression if filename == "records.json" else {}))
        lock, content = self.lock, path.read_bytes()
        locked = lock["collections"][name]
        locked["content"] = hashlib.sha256(entries["manifest.json"]).hexdigest()
        locked["bundle"] |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        (self.path / "dumps.lock.json").write_text(json.dumps(lock, indent=2))

    # Runs rsdump on this directory

    def add(self, server, *names, root=None, url=None, attachments="all", **options):
        return rsdump.run(
            "add", *names, "--dumps", self.path, "--server", url or server.url, "--trust-root", root or server.root,
            "--attachments", attachments, **options)

    def remove(self, *names):
        return rsdump.run("remove", *names, "--dumps", self.path)

    def refresh(self, *arguments, **options):
        return rsdump.run("refresh", *arguments, "--dumps", self.path, **options)

    def status(self, *arguments, **options):
        return rsdump.run("status", *arguments, "--dumps", self.path, **options)

    def verify(self, *arguments, **options):
        return rsdump.run("verify", *arguments, "--dumps", self.path, **options)
