# SPDX-License-Identifier: MIT
"""Functions that workers call, again if a worker is lost."""
from __future__ import annotations

import collections
from typing import Any, Callable, Iterator


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """By a worker: an exception is a result, unlike the loss of the worker."""
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, error


class Tasks:
    """Functions that an executor calls from when they are added. Its length is the number of those
    whose results were not taken."""

    def __init__(self, executor: Any, retries: int) -> None:
        self._executor, self._retries = executor, retries
        self._tasks: collections.deque[tuple[Any, tuple[Any, ...]]] = collections.deque()

    def __enter__(self) -> Tasks:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Do not begin what is not begun when there was an error."""
        for future, _task in self._tasks if kind else ():
            if future is not None and hasattr(future, "cancel"):
                future.cancel()

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, *task: Any) -> None:
        """Add a function and its arguments."""
        self._tasks.append((_submit(self._executor, task), task))

    def results(self) -> Iterator[Any]:
        """Take what the functions return, in the order in which they were added."""
        while self._tasks:
            yield self.take()

    def take(self) -> Any:
        """What the function returns that was added first, and forget it."""
        future, task = self._tasks.popleft()
        for attempt in range(self._retries + 1):
            try:
                good, value = _call(task[0], task[1:]) if future is None else future.result()
                break
            except Exception:
                if attempt == self._retries:
                    raise
                future = _submit(self._executor, task)
        if not good:
            raise value
        return value


def _submit(executor: Any, task: tuple[Any, ...]) -> Any:
    """A future, or None if the executor takes no more work."""
    try:
        return executor.submit(_call, task[0], task[1:])
    except RuntimeError:  # BrokenExecutor is one, too
        return None
