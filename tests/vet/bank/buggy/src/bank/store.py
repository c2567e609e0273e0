import sqlite3


class Store:
    def __init__(self, path=":memory:"):
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS account(name TEXT PRIMARY KEY, amount INTEGER NOT NULL)")
        self.db.commit()

    def open_account(self, name, amount=0):
        if amount < 0:
            raise ValueError("amount must not be negative")
        with self.db:
            self.db.execute("INSERT INTO account VALUES(?, ?)", (name, amount))

    def balance(self, name):
        row = self.db.execute("SELECT amount FROM account WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise KeyError(name)
        return row[0]

    def _change(self, name, amount):
        done = self.db.execute("UPDATE account SET amount = amount + ? WHERE name = ?", (amount, name))
        if done.rowcount == 0:
            raise KeyError(name)

    def transfer(self, source, target, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        if self.balance(source) < amount:
            raise ValueError("not enough")
        try:
            self._change(source, -amount)
            self._change(target, amount)
        except KeyError:
            self.db.commit()
            raise
        self.db.commit()

    def owners(self):
        return {name for name, in self.db.execute("SELECT name FROM account")}

    def report(self):
        rows = self.db.execute("SELECT count(*), total(amount) FROM account").fetchone()
        return {"accounts": rows[0], "total": int(rows[1])}

    def close(self):
        self.db.close()
