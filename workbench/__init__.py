"""The workbench: runs a lab's stack, records it on the wire, and judges what it recorded.

The modules follow the data, each importing only those before it:
console, lab, engine, stack, recording, packets, connections, oracle, plots, exercise, gate, ledger, notebooks, report,
matrix, learner, room, classroom, interviews, reliability, bench,
template, __main__ (the command line).
"""
