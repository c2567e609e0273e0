"""How a published gate judges a test, made again after its description: to be compared with, not to be used.

It executes the text of the test in a thread and never calls the functions in it, takes a failed assertion for a
sign of life, goes on when the thread does not end in time, and changes the text of the test in place of the code:
whatever then raises, a SyntaxError as well, is a kill. The score is 0.4 of coverage and 0.6 of kills.
"""
import threading

CHANGES = (("==", "!="), (" + ", " - "), ("True", "False"), (" > ", " < "), ("assertEqual", "assertNotEqual"))
PATIENCE = 0.5  # seconds; the original waits 5


def execute(source):
    """The name of what it raises, None, or "late"."""
    ended = []

    def body():
        try:
            exec(compile(source, "test", "exec"), {"__name__": "test"})
            ended.append(None)
        except BaseException as error:
            ended.append(type(error).__name__)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return ended[0] if ended else "late"


def accepts(source):
    if execute(source) not in (None, "AssertionError", "late"):
        return False
    changed = [source.replace(old, new) for old, new in CHANGES if old in source]
    killed = sum(execute(text) not in (None, "late") for text in changed)
    return 0.4 + 0.6 * (killed / len(changed) if changed else 0) >= 0.7
