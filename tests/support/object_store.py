"""An object store, a real one on the loopback."""

from __future__ import annotations

import pytest


class Server:
    """An object store of the same content whenever it runs."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        from moto.server import ThreadedMotoServer

        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]

    def stop(self) -> None:
        self.server.stop()


def running(monkeypatch):
    """The store with an empty bucket, for a fixture."""
    pytest.importorskip("moto", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    server = Server()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
    store = bucket()
    if store.exists("bucket"):  # the stores of a process share their content
        store.rm("bucket", recursive=True)
    store.mkdir("bucket")
    yield server
    server.stop()


def bucket():
    """fsspec's file system of the store of this moment."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    return S3FileSystem(use_listings_cache=False)


def send(folder, address):
    store = bucket()
    for path in folder.rglob("*"):
        if path.is_file():
            store.pipe_file(f"{address}/{path.relative_to(folder).as_posix()}", path.read_bytes())
