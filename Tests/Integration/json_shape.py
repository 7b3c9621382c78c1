"""The names inside rsdump's JSON documents and the lock, in one place."""


def lock_entries(lock):
    """The lock's entry of each collection, by name."""
    return lock["collections"]


def without_verification_time(lock):
    """The lock as it would be whenever it had been written."""
    if isinstance(lock, dict):
        return {key: without_verification_time(value) for key, value in lock.items() if key != "verifiedAt"}
    if isinstance(lock, list):
        return [without_verification_time(value) for value in lock]
    return lock


def of(report, name):
    return next(each for each in report["collections"] if each["collection"] == name)
