# SPDX-License-Identifier: MIT
"""Functions that workers call, again if a worker is lost."""
from __future__ import annotations

from typing import Any, Callable


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """By a worker: an exception is a result, unlike the loss of the worker."""
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, error


class Tasks:
    """Functions that an executor calls from when they are added."""

    def __init__(self, executor: Any, retries: int) -> None:
        self._executor, self._retries = executor, retries
        self._tasks: list[tuple[Any, ...]] = []
        self._futures: list[Any] = []

    def __enter__(self) -> Tasks:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Do not begin what is not begun when there was an error."""
        for future in self._futures if kind else []:
            if future is not None and hasattr(future, "cancel"):
                future.cancel()

    def add(self, *task: Any) -> None:
        """Add a function and its arguments."""
        self._tasks.append(task)
        self._futures.append(_submit(self._executor, task))

    def results(self) -> list[Any]:
        """What the functions return, in the order in which they were added."""
        return [self._result(number) for number in range(len(self._tasks))]

    def _result(self, number: int) -> Any:
        task = self._tasks[number]
        for attempt in range(self._retries + 1):
            future = self._futures[number]
            try:
                good, value = _call(task[0], task[1:]) if future is None else future.result()
                break
            except Exception:
                if attempt == self._retries:
                    raise
                self._futures[number] = _submit(self._executor, task)
        if not good:
            raise value
        return value


def _submit(executor: Any, task: tuple[Any, ...]) -> Any:
    """A future, or None if the executor takes no more work."""
    try:
        return executor.submit(_call, task[0], task[1:])
    except RuntimeError:  # BrokenExecutor is one, too
        return None
