"""Interviews: a recorded run under a mask, questions about it, and their grading by evidence.

Modules follow the data, each importing only those before it: mask, sessions, wire, evidence, sheet, asking, making, live,
archives, grading, commands.
"""
