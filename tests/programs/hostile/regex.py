"""A regular expression that takes for ever: the test that hangs in C code, deaf to signals of Python."""
import re

print("ready", flush=True)
re.match(r"(a+)+$", "a" * 40 + "b")
print("escaped: the match ended")
