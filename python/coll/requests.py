# SPDX-License-Identifier: BSD-3-Clause
"""Collectives in the background."""
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._abi import check, library

if TYPE_CHECKING:
    from .calls import Prepared

R = TypeVar("R")

# Requests that the program dropped while they were active: libcoll may still use their buffers.
_dropped: list[tuple[c_void_p, "Prepared[Any]"]] = []


def _free_dropped() -> None:
    for entry in list(_dropped):
        done = c_int()
        library.coll_test(byref(entry[0]), byref(done))
        if done.value:
            _dropped.remove(entry)
            entry[1].release()


def progress() -> None:
    """Advances the active requests of all communicators of the process, as far as they get without waiting. A program
    that computes calls it periodically; wait() or test() still has to find each request complete."""
    check(library.coll_progress())
    if _dropped:
        _free_dropped()


class Request(Generic[R]):
    """A collective that Communicator.i*() has started. Its buffers stay in use until wait() returns, or test()
    returns True. A request that is dropped earlier completes all the same: progress() and later starts release its
    buffers."""

    def __init__(self, handle: c_void_p, prepared: "Prepared[R]") -> None:
        self._handle = handle
        self._prepared = prepared

    @property
    def result(self) -> R:
        """The receive buffer; its contents are valid once the request is complete."""
        return self._prepared.result

    def wait(self) -> R:
        """Waits until the collective is complete and returns the receive buffer."""
        status = library.coll_wait(byref(self._handle))
        self._completed()
        self._prepared.finish(status)
        return self._prepared.result

    def test(self) -> bool:
        """Makes progress, without waiting. True if the collective is complete."""
        done = c_int()
        status = library.coll_test(byref(self._handle), byref(done))
        if done.value:
            self._completed()
            self._prepared.finish(status)
        else:
            check(status)
        return bool(done.value)

    def _completed(self) -> None:
        if not self._handle:
            self._prepared.release()

    def __del__(self) -> None:
        if self._handle:
            _dropped.append((self._handle, self._prepared))


class PersistentRequest(Generic[R]):
    """A collective that Communicator.*_init() has prepared. Each start() runs it once, on what the buffers hold
    then."""

    def __init__(self, handle: c_void_p, prepared: "Prepared[R]") -> None:
        self._handle = handle
        self._prepared = prepared

    @property
    def result(self) -> R:
        """The receive buffer."""
        return self._prepared.result

    def start(self) -> None:
        """Starts the collective. All ranks start requests, and call other collectives, in the same order."""
        check(library.coll_start(self._handle))

    def wait(self) -> R:
        """Waits until the started collective is complete and returns the receive buffer."""
        self._prepared.finish(library.coll_wait(byref(self._handle)))
        return self._prepared.result

    def test(self) -> bool:
        """Makes progress, without waiting. True if the collective is complete, or was not started."""
        done = c_int()
        status = library.coll_test(byref(self._handle), byref(done))
        if done.value:
            self._prepared.finish(status)
        else:
            check(status)
        return bool(done.value)

    def free(self) -> None:
        """Frees the request, which must not be active, and lets go of its buffers."""
        check(library.coll_request_free(self._handle))
        self._handle = c_void_p()
        self._prepared.release()

    def __del__(self) -> None:
        # An active one stays, with its buffers: no later call could report when they are no longer in use.
        if self._handle and library.coll_request_free(self._handle) != 0:
            _dropped_persistent.append(self._prepared)


_dropped_persistent: list[Any] = []


def started(handle: c_void_p, prepared: "Prepared[R]") -> Request[R]:
    """The request of a collective that was just started."""
    if _dropped:
        _free_dropped()
    return Request(handle, prepared)
