"""stalls.py FILE: notes in FILE when this machine took its cores away, until standard input ends.

Per core a process that only wants to wake every 8 ms, before all others where that is allowed. What keeps it from that for more
than 16 ms is no work of the tests but another machine's. Lines `FROM UNTIL CORE`, seconds of CLOCK_MONOTONIC; the first
line of a core says that it is watched, no stall.
"""

import os
import sys
import time

WAKE_S = 0.008
STALL_S = 0.016


def watch(path, core, parent):
    os.sched_setaffinity(0, {core})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:  # without the right to it, other work of the tests counts too
        pass
    with open(path, "a", buffering=1) as file:
        last = time.monotonic()
        file.write(f"{last:.6f} {last:.6f} {core}\n")
        while os.getppid() == parent:
            time.sleep(WAKE_S)
            now = time.monotonic()
            if now - last > STALL_S:
                file.write(f"{last:.6f} {now:.6f} {core}\n")
            last = now


def main():
    parent = os.getpid()
    for core in os.sched_getaffinity(0):
        if os.fork() == 0:
            try:
                watch(sys.argv[1], core, parent)
            finally:
                os._exit(0)
    sys.stdin.read()


main()
