"""A Remote Settings server for tests: real Kinto in one process, with signing, a v2 front, faults and a request log."""
