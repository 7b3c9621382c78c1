"""measure.py RESULT COMMAND ...: runs a command and writes its wall and CPU seconds, peak memory in bytes and exit code
as JSON to the file RESULT. The command's streams are unchanged.

It is a separate process because a child starts with the peak memory of its parent: 9 MB here, 100 MB in a test runner.
"""
import json
import os
import sys
import time

result, command = sys.argv[1], sys.argv[2:]
began = time.monotonic()
pid = os.fork()
if pid == 0:
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"{command[0]}: {problem}", file=sys.stderr)
        os._exit(127)
_, status, usage = os.wait4(pid, 0)
measured = {
    "wall": time.monotonic() - began,
    "cpu": usage.ru_utime + usage.ru_stime,
    "peak": usage.ru_maxrss * 1024,
    "code": os.waitstatus_to_exitcode(status),
}
with open(result, "w", encoding="utf-8") as file:
    json.dump(measured, file)
sys.exit(max(0, measured["code"]) or (1 if measured["code"] < 0 else 0))
