"""A shopping cart: the bug is a discount that is given below its threshold, and twice."""
import json
import os


class Cart:
    def __init__(self, limit=10):
        self.lines = {}
        self.limit = limit

    def add(self, name, price, count=1):
        if count <= 0:
            raise ValueError("count must be positive")
        if price < 0:
            raise ValueError("price must not be negative")
        if len(self.lines) >= self.limit and name not in self.lines:
            raise OverflowError("the cart is full")
        _, old = self.lines.get(name, (price, 0))
        self.lines[name] = (price, count)

    def remove(self, name):
        if name not in self.lines:
            raise KeyError(name)
        del self.lines[name]

    def total(self):
        return sum(price * count for price, count in self.lines.values())

    def names(self):
        return set(self.lines)

    def summary(self):
        return {"total": self.total(), "lines": len(self.lines)}


def discounted(total):
    """A tenth less from 100 on."""
    if total < 0:
        raise ValueError("total must not be negative")
    if total >= 50:
        return total - total // 10
    return total


def save(cart, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({name: list(line) for name, line in cart.lines.items()}, file)


def load(path):
    cart = Cart()
    if not os.path.exists(path):
        return cart
    with open(path, encoding="utf-8") as file:
        for name, (price, count) in json.load(file).items():
            cart.add(name, price, count)
    return cart
