"""Lessons: small worked examples whose every number is computed by pincite's own functions when they are shown.

One file a lesson, each with a function that returns a `pincite.lab.record.Lesson`. The inputs of an example are the
function's arguments, so that it can be worked with other numbers. `pincite.lab.catalogue` lists them.
"""
