#!/usr/bin/env python3
"""What starting the program costs beside curl, which loads much the same libraries: medians over alternating runs.

Usage: startup.py PROGRAM"""
import statistics
import subprocess
import sys
import time

PAIRS = 40


def measure(command):
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


ours, peer = [], []
for _ in range(PAIRS):
    ours.append(measure([sys.argv[1], "--version"]))
    peer.append(measure(["curl", "--version"]))
a, b = statistics.median(ours) * 1e3, statistics.median(peer) * 1e3
print(f"fathom --version {a:.1f} ms; curl --version {b:.1f} ms; ratio {a / b:.2f} (aim: at most 1.5)")
