import re

LINE = re.compile(r"(\w+) -> (\w+): (\d+)$")


def fee(amount):
    """One in a hundred, rounded up, five at most."""
    if amount <= 0:
        return 0
    return min(5, (amount + 99) // 100)


def parse(line):
    found = LINE.match(line)
    if not found:
        raise ValueError(f"not a transfer: {line}")
    return found[1], found[2], int(found[3])
