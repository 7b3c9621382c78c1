"""The key names in rsdump's JSON documents and the lock file, in one place."""


def lock_entries(lock):
    """The lock file's entry for each collection, by name."""
    return lock["collections"]


def without_verification_time(lock):
    """The lock file without verification times, the only values that depend on the time of writing."""
    if isinstance(lock, dict):
        return {key: without_verification_time(value) for key, value in lock.items() if key != "verifiedAt"}
    if isinstance(lock, list):
        return [without_verification_time(value) for value in lock]
    return lock


def of(report, name):
    return next(each for each in report["collections"] if each["collection"] == name)
