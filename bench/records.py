# SPDX-License-Identifier: MIT
"""The data sets of records: *mail*, a mail spool, *table*, CSV files and a database, and *dumps*.

mail   three folders of mbox format and one of a file for each message; threads of messages that
quote each other, headers with random identifiers and signatures, some attachments in base64, of
       which a few were sent several times
table  measurements, customers and orders as CSV, and the same rows in one SQLite database with
       indices
dumps  six days of a table of orders, each as SQL statements and as an SQLite database: from one day
       to the next a seventh of the rows have another price and time, a few go, and others come

Made-up words and values; the same seed gives the same bytes, but for the version of SQLite.
"""
from __future__ import annotations

import base64
import os
import sqlite3
from collections.abc import Iterator

from generate import Dice, vocabulary

MESSAGES = 22000
ATTACHED = 0.045  # of the messages
DAY = 86400
START = 1_700_000_000


def noise(dice: Dice, count: int) -> bytes:
    """Bytes that do not compress."""
    return bytes(dice.below(256) for _ in range(count))


def token(dice: Dice, count: int) -> str:
    return base64.b64encode(noise(dice, count)).decode()


def date(seconds: int) -> str:
    """A date in the format of mail; all months have 28 days, as only its format matters."""
    day, rest = divmod(seconds - START, DAY)
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    return (f"{'Mon Tue Wed Thu Fri Sat Sun'.split()[day % 7]}, {day % 28 + 1:02} "
            f"{names[day // 28 % 12]} {2023 + day // 336} {rest // 3600:02}:{rest // 60 % 60:02}:"
            f"{rest % 60:02} +0000")


class Mail:
    """Messages of some hundred people, in threads."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.words = vocabulary(self.dice, 9000)
        self.hosts = [f"{self.dice.pick(self.words)}.example" for _ in range(40)]
        self.people = [(f"{self.word().capitalize()} {self.dice.pick(self.words).capitalize()}",
                        f"{self.dice.pick(self.words)}@{self.dice.pick(self.hosts)}")
                       for _ in range(300)]
        self.feet = [[" ".join(self.word() for _ in range(3 + self.dice.below(8)))
                      for _ in range(1 + self.dice.below(5))] for _ in self.people]
        self.threads: list[tuple[str, str, list[str]]] = []  # subject, last identifier, last body
        self.sent: list[str] = []  # attachments

    def word(self) -> str:
        return self.dice.common(self.words)

    def paragraph(self) -> list[str]:
        lines, line = [], ""
        for _ in range(8 + self.dice.below(90)):
            line += self.word() + (". " if self.dice.below(11) == 0 else " ")
            if len(line) > 66:
                lines.append(line.rstrip())
                line = ""
        return [*lines, line.rstrip(), ""]

    def attachment(self) -> str:
        if self.sent and self.dice.below(4) == 0:
            return self.dice.pick(self.sent)
        text = token(self.dice, 3000 + self.dice.below(1 + self.dice.below(190000)))
        self.sent.append("\n".join(text[at:at + 76] for at in range(0, len(text), 76)))
        return self.sent[-1]

    def head(self, number: int, sender: int, subject: str, answers: str) -> list[str]:
        dice, (name, address) = self.dice, self.people[sender]
        host, when = address.partition("@")[2], date(START + number * 1867 + dice.below(1800))
        to = self.people[dice.below(len(self.people))]
        lines = [f"Received: from {host} ([10.{number % 7}.{sender % 200}.{dice.below(250)}])",
                 f"\tby mx{dice.below(3)}.example.org (Postfix) with ESMTPS id "
                 f"{noise(dice, 6).hex().upper()}",
                 f"\tfor <{to[1]}>; {when}",
                 "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;",
                 f"\td={host}; s=mail; h=from:to:subject:date:message-id;",
                 f"\tbh={token(dice, 32)};"]
        sign = token(dice, 256)
        lines += ["\tb=" + sign[:69]] + ["\t " + sign[at:at + 70] for at in range(69, 344, 70)]
        lines += [f"From: {name} <{address}>", f"To: {to[0]} <{to[1]}>", f"Date: {when}",
                  f"Subject: {subject}", f"Message-ID: <{noise(dice, 12).hex()}@{host}>"]
        if answers:
            lines += [f"In-Reply-To: {answers}", f"References: {answers}"]
        return [*lines, "MIME-Version: 1.0"]

    def message(self, number: int) -> str:
        dice = self.dice
        sender = dice.below(1 + dice.below(len(self.people)))
        if self.threads and dice.below(3):
            at = len(self.threads) - 1 - dice.below(min(400, len(self.threads)))
            subject, answers, quoted = self.threads[at]
            kept = quoted if dice.below(3) else quoted[:10]
            body = [f"On {date(START + number * 1867)}, somebody wrote:",
                    *("> " + line for line in kept), ""]
            if not subject.startswith("Re: "):
                subject = "Re: " + subject
        else:
            subject = " ".join(self.word() for _ in range(2 + dice.below(6))).capitalize()
            at, answers, body = len(self.threads), "", []
            self.threads.append((subject, "", []))
        for _ in range(1 + dice.below(5)):
            body += self.paragraph()
        body += ["-- ", *self.feet[sender], ""]
        head = self.head(number, sender, subject, answers)
        identifier = next(line for line in head if line.startswith("Message-ID"))[12:]
        self.threads[at] = (subject, identifier, body[:120])
        return "\n".join(head + self.parts(body)) + "\n"

    def parts(self, body: list[str]) -> list[str]:
        plain = ["Content-Type: text/plain; charset=utf-8", "", *body]
        if self.dice.random() >= ATTACHED:
            return plain
        mark = "=_" + noise(self.dice, 10).hex()
        return [f'Content-Type: multipart/mixed; boundary="{mark}"', "", "--" + mark, *plain,
                "--" + mark, "Content-Type: application/pdf",
                "Content-Transfer-Encoding: base64", "", self.attachment(), f"--{mark}--", ""]


def make_mail(directory: str, _top: str) -> None:
    mail = Mail(1)
    os.makedirs(os.path.join(directory, "Maildir", "cur"))
    files = [open(os.path.join(directory, name), "w", encoding="ascii", newline="\n")
             for name in ("inbox", "sent", "list")]
    for number in range(MESSAGES):
        text = mail.message(number)
        folder = number * 7 % 5
        if folder < 3:
            files[folder].write(f"From sender {date(START + number * 1867)}\n{text}\n")
            continue
        name = f"{START + number * 1867}.{number}.host:2,S"
        with open(os.path.join(directory, "Maildir", "cur", name), "w", encoding="ascii",
                  newline="\n") as out:
            out.write(text)
    for file in files:
        file.close()


class Tables:
    """Rows of three tables."""

    SHAPES = {"measurements": "id, station, taken, celsius, pressure, humidity, status",
              "customers": "id, uuid, name, mail, city, since",
              "orders": "id, customer, article, count, price, paid, note"}
    ROWS = {"measurements": 1_130_000, "customers": 110_000, "orders": 530_000}

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.words = vocabulary(self.dice, 4000)
        self.articles = [(f"{self.dice.pick(self.words)}-{number:05}",
                          99 + self.dice.below(90000)) for number in range(3000)]

    def measurements(self, count: int) -> Iterator[tuple[int | float | str, ...]]:
        dice, stations = self.dice, 64
        state = [[dice.below(300), 9800 + dice.below(500), dice.below(1000)]
                 for _ in range(stations)]
        for number in range(count):
            station = number % stations
            now = state[station]
            now[0] += dice.below(5) - 2
            now[1] += dice.below(3) - 1
            now[2] = max(0, min(1000, now[2] + dice.below(9) - 4))
            yield (number + 1, f"S{station:03}", START + number // stations * 60 + dice.below(3),
                   now[0] / 10, now[1] / 10, now[2] / 10,
                   "OK" if dice.below(50) else dice.pick(["LATE", "LOW BATTERY", "RETRY"]))

    def customers(self, count: int) -> Iterator[tuple[int | float | str, ...]]:
        dice = self.dice
        for number in range(count):
            first, last = dice.common(self.words), dice.common(self.words)
            raw = noise(dice, 16).hex()
            yield (number + 1, f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}",
                   f"{first.capitalize()} {last.capitalize()}", f"{first}.{last}@example.org",
                   dice.common(self.words).capitalize(), START - dice.below(10**8))

    def orders(self, count: int) -> Iterator[tuple[int | float | str, ...]]:
        dice = self.dice
        for number in range(count):
            article, price = dice.common(self.articles)
            many = 1 + dice.below(1 + dice.below(12))
            note = " ".join(dice.common(self.words) for _ in range(dice.below(14)))
            yield (number + 1, 1 + dice.below(1 + dice.below(110_000)), article, many,
                   many * price / 100, START + number * 37 + dice.below(400),
                   note if dice.below(3) == 0 else "")


def make_table(directory: str, _top: str) -> None:
    tables = Tables(2)
    os.makedirs(directory)
    database = sqlite3.connect(os.path.join(directory, "all.sqlite"), isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("BEGIN")
    for name, columns in tables.SHAPES.items():
        rows = list(getattr(tables, name)(tables.ROWS[name]))
        keyed = columns.replace("id,", "id INTEGER PRIMARY KEY,", 1)
        database.execute(f"CREATE TABLE {name} ({keyed})")
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        with open(os.path.join(directory, name + ".csv"), "w", encoding="ascii",
                  newline="\n") as out:
            out.write(columns.replace(" ", "") + "\n")
            for row in rows:
                out.write(",".join(str(value) for value in row) + "\n")
    database.execute("CREATE INDEX by_customer ON orders (customer, paid)")
    database.execute("CREATE INDEX by_uuid ON customers (uuid)")
    database.execute("COMMIT")
    database.close()


class Dumps:
    """The rows of a table on several days."""

    DAYS, ROWS, GONE, NEW = 6, 24_000, 5, 60

    def __init__(self, seed: int, rows: int = ROWS) -> None:
        self.tables = Tables(seed)
        self.rows = [list(row) for row in self.tables.orders(rows + self.NEW * self.DAYS)]
        self.coming = self.rows[rows:]
        del self.rows[rows:]

    def next_day(self) -> None:
        dice = self.tables.dice
        for row in self.rows:
            if dice.below(7) == 0:
                row[4] = round(row[4] * (0.9 + dice.below(20) / 100), 2)
                row[5] += DAY + dice.below(DAY)
        for _ in range(self.GONE):
            del self.rows[dice.below(len(self.rows))]
        self.rows += self.coming[:self.NEW]
        del self.coming[:self.NEW]

    def statements(self) -> Iterator[str]:
        yield f"CREATE TABLE orders ({Tables.SHAPES['orders']});\n"
        for first in range(0, len(self.rows), 100):
            texts = ("(" + ",".join(f"'{value}'" if isinstance(value, str) else str(value)
                                    for value in row) + ")"
                     for row in self.rows[first:first + 100])
            yield "INSERT INTO orders VALUES " + ",".join(texts) + ";\n"


def make_dumps(directory: str, _top: str) -> None:
    dumps = Dumps(4)
    for day in range(1, dumps.DAYS + 1):
        folder = os.path.join(directory, f"2024-01-{day:02}")
        os.makedirs(folder)
        with open(os.path.join(folder, "orders.sql"), "w", encoding="ascii", newline="\n") as out:
            out.writelines(dumps.statements())
        database = sqlite3.connect(os.path.join(folder, "orders.sqlite"), isolation_level=None)
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("BEGIN")
        for statement in dumps.statements():
            database.execute(statement.replace("(id,", "(id INTEGER PRIMARY KEY,", 1))
        database.execute("CREATE INDEX by_customer ON orders (customer, paid)")
        database.execute("COMMIT")
        database.close()
        dumps.next_day()
