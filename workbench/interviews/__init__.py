"""Interviews: a recorded run under a mask, questions about it, and their grading by evidence."""
