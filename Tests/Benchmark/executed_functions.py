"""executed_functions.py PROGRAM PROFILE...: the functions of PROGRAM that profiles of callgrind say were executed, in the
order of the profiles, one a line: what lld takes by --symbol-ordering-file. The profiled program must have its symbols.
"""
import pathlib
import re
import sys

program = str(pathlib.Path(sys.argv[1]).resolve())
executed = {}
for profile in sys.argv[2:]:
    # A name is spelled out once, with its number, which stands for it afterwards.
    objects, functions, current = {}, {}, None
    for line in open(profile, encoding="utf-8", errors="replace"):
        match = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
        if not match:
            continue
        called, kind, number, name = match.groups()
        names = objects if kind == "ob" else functions
        if name:
            names[number] = name if kind == "ob" else re.sub(r"'\d+$", "", name)
        if called:
            continue
        if kind == "ob":
            current = names[number]
        elif current == program:
            executed[names[number]] = None
print("\n".join(executed))
