"""`rooftop top` in a pseudo-terminal of its own, and what that terminal shows, kept up to date by a thread."""
import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

import gpu

# A control sequence, another escape, or one character.
TOKEN = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78M]|[^\x1b]", re.S)


class Screen:
    """What top sends, without its colours; wide characters are not known."""

    def __init__(self, arguments=(), width=200, height=60):
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.x = self.y = 0
        self.margins = 0, height - 1
        self.last = " "
        self.rest = ""
        self.byte_count = 0
        self.watches = []
        self.lock = threading.Lock()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8")
        self.process = subprocess.Popen([gpu.ROOFTOP, "top", "--no-prefs", *arguments], stdin=slave,
                                        stdout=slave, stderr=slave, env=environment, start_new_session=True)
        os.close(slave)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        try:
            while True:
                data = os.read(self.master, 65536)
                if not data:
                    break
                now = time.monotonic()
                self.byte_count += len(data)
                with self.lock:
                    self.take(self.rest + decode(data))
                    self.look(now)
        except OSError:
            pass
        os.close(self.master)

    def take(self, text):
        end = 0
        while match := TOKEN.match(text, end):
            end = match.end()
            if match.group(3) and not match.group(1):
                self.control(match.group(3), [int(n) if n else 0 for n in match.group(2).split(";")])
            elif match.group(0) == "\x1bM":
                self.up()
            elif not match.group(0).startswith("\x1b"):
                self.put(match.group(0))
        self.rest = text[end:]

    def scroll(self, first, lines):
        """Moves the rows from `first` to the lower margin up by `lines`, or down."""
        last = self.margins[1]
        for _ in range(abs(lines)):
            self.rows.insert(last if lines > 0 else first, self.rows.pop(first if lines > 0 else last))
            self.rows[last if lines > 0 else first] = [" "] * self.width

    def up(self):
        if self.y == self.margins[0]:
            self.scroll(self.y, -1)
        else:
            self.y -= 1

    def down(self):
        if self.y == self.margins[1]:
            self.scroll(self.margins[0], 1)
        else:
            self.y += 1

    def put(self, character):
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self.down()
        elif character == "\b":
            self.x = max(self.x - 1, 0)
        elif character >= " " and self.x < self.width:
            self.rows[self.y][self.x] = self.last = character
            self.x += 1

    def control(self, kind, numbers):
        n = max(numbers[0], 1)
        row = self.rows[self.y]
        if kind in "Hf":
            self.y, self.x = n - 1, (max(numbers[1], 1) if len(numbers) > 1 else 1) - 1
        elif kind in "LM":
            self.scroll(self.y, n if kind == "M" else -n)
        elif kind in "ST":
            self.scroll(self.margins[0], n if kind == "S" else -n)
        elif kind == "r":
            self.margins = n - 1, (numbers[1] if len(numbers) > 1 else self.height) - 1
            self.x = self.y = 0
        elif kind == "G":
            self.x = n - 1
        elif kind == "d":
            self.y = n - 1
        elif kind in "ABCD":
            self.y += {"A": -n, "B": n}.get(kind, 0)
            self.x += {"C": n, "D": -n}.get(kind, 0)
        elif kind == "X":
            row[self.x : self.x + n] = " " * len(row[self.x : self.x + n])
        elif kind == "b":
            for _ in range(n):
                self.put(self.last)
        elif kind == "K":
            first, end = (0, self.x + 1) if numbers[0] == 1 else (self.x, self.width)
            row[first:end] = " " * (end - first)
        elif kind == "J":
            for y in range(0 if numbers[0] == 2 else self.y, self.height):
                first = self.x if y == self.y and numbers[0] != 2 else 0
                self.rows[y][first:] = " " * (self.width - first)
        elif kind == "@":
            row[self.x :] = (list(" " * n) + row[self.x :])[: self.width - self.x]
        elif kind == "P":
            row[self.x :] = row[self.x + n :] + list(" " * min(n, self.width - self.x))
        self.x = min(max(self.x, 0), self.width)
        self.y = min(max(self.y, 0), self.height - 1)

    def look(self, now):
        for watch in [watch for watch in self.watches if watch.test(self)]:
            watch.time = now
            self.watches.remove(watch)
            watch.event.set()

    def lines(self):
        return ["".join(row).rstrip() for row in self.rows]

    def watch(self, test):
        """For the first moment at which `test(screen)` is true, asked after each piece that was drawn."""
        watch = Watch(test)
        with self.lock:
            self.watches.append(watch)
        return watch

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        gpu.end(self.process)


class Watch:
    def __init__(self, test):
        self.test, self.time, self.event = test, None, threading.Event()

    def wait(self, seconds):
        """The monotonic time at which it was drawn, or None."""
        return self.time if self.event.wait(seconds) else None
