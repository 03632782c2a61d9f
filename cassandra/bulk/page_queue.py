"""The queue of a scan's pages, without I/O: which pages to request next, and which were used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.ranges import TokenRange


class Fetch:
    """One page of one token range, from its entry into the queue until the scan takes its result.

    :param number: the index of the page's range in the queue's `ranges`.
    :param state: the paging state at which the page begins; None for the beginning of the range.
    """

    __slots__ = ("attempts", "handle", "number", "sent_at", "state")

    def __init__(self, number: int, state: bytes | None) -> None:
        self.number = number
        self.state = state
        self.attempts = 0  # the number of requests for this page that have failed
        self.handle: Any = None  # the result or future of the request in flight
        self.sent_at = 0.0  # when the request was sent, in seconds of a monotonic clock


class PageQueue:
    """Keeps track of which pages are in flight, which page the scan waits for, and which were used.

    A page is in flight from its request until the scan has taken its result. The request has the
    paging state that the previous page has returned. If a node goes down, its pages can be
    requested again with the same paging states, so no row is returned twice.

    :param ranges: the ranges of the scan.
    :param concurrency: the maximum number of pages in flight.
    :param max_bytes: the maximum number of bytes of these pages, estimated from the latest pages.
        If no page is in flight, a page is requested regardless of this limit.
    :param in_order: True reads the ranges one after another.
    """

    def __init__(
        self, ranges: Sequence[TokenRange], concurrency: int, max_bytes: int, in_order: bool
    ) -> None:
        self.ranges = ranges
        self._concurrency = concurrency
        self._max_bytes = max_bytes
        self._in_order = in_order
        # The pages that are in flight, and the pages that are not requested yet. At the beginning,
        # the latter are the first pages of all ranges.
        self._in_flight: deque[Fetch] = deque()
        self._waiting = deque(Fetch(number, state=None) for number in range(len(ranges)))
        # The expected size of a page in bytes. It rises at once when a larger page arrives, and
        # falls slowly when smaller pages arrive.
        self._page_bytes = 0.0
        # For each unfinished range, the paging state after the last used page.
        self.paging_states: dict[int, bytes] = {}
        self.finished: set[int] = set()
        self._has_pinned = False  # True if a checkpoint lacks a range's only replica

    def to_send(self) -> Iterator[Fetch]:
        """Yield the pages that the caller must request now, as far as the limits allow.

        A page counts as in flight as soon as it is yielded.
        """
        while self._waiting:
            in_flight = len(self._in_flight)
            # `_page_bytes` is the expected size of a page.
            is_full = in_flight >= self._concurrency or (
                (in_flight + 1) * self._page_bytes > self._max_bytes
            )
            # Always request the page that comes next in order, even if the queue is full. Otherwise
            # `oldest` would wait for this page forever.
            if in_flight and is_full and not self._is_next_in_order(self._waiting[0]):
                return
            fetch = self._waiting.popleft()
            self._in_flight.append(fetch)
            yield fetch

    def _is_next_in_order(self, fetch: Fetch) -> bool:
        """Return True if the scan reads in order and needs this page before all pages in flight.

        Such a page is requested regardless of the limits. Otherwise the scan would wait forever,
        because it can only take the pages in flight after this page.
        """
        return self._in_order and all(fetch.number < other.number for other in self._in_flight)

    def oldest(self) -> Fetch | None:
        """Return the page to wait for; None if no page is in flight.

        With `in_order` this is the next page of the first unfinished range, which `to_send` has
        already requested.
        """
        if not self._in_flight:
            return None
        if self._in_order:
            return min(self._in_flight, key=lambda fetch: fetch.number)
        # Without `in_order`, wait for the page that was requested first.
        return self._in_flight[0]

    def arrived(self, fetch: Fetch, state: bytes | None, size: int) -> None:
        """Record that a page has arrived, and queue the next page of its range.

        :param fetch: the page, which was in flight.
        :param state: the paging state of the next page; None for the last page of the range.
        :param size: the size of the page in bytes.
        """
        self._in_flight.remove(fetch)
        # Rise at once to the size of a larger page, and fall by an eighth of the difference.
        self._page_bytes = max(size, self._page_bytes + (size - self._page_bytes) / 8)
        if state is not None:
            # Put the next page at the front of the queue, so that this range is finished before
            # other ranges are begun.
            self._waiting.appendleft(Fetch(fetch.number, state))

    def pin(self, fetch: Fetch, address: str) -> None:
        """Record that all further pages of a range must come from the host that has sent this page.

        The host becomes the only replica of the range, also in a checkpoint.

        :param fetch: the page.
        :param address: the address of the host.
        """
        ranges = list(self.ranges)  # `Scan.ranges` keeps its list
        ranges[fetch.number] = ranges[fetch.number]._replace(replicas=(address,))
        self.ranges = ranges
        self._has_pinned = True

    def used(self, fetch: Fetch, state: bytes | None) -> None:
        """Record that the application has used the rows of a page.

        :param fetch: the page whose rows were used.
        :param state: the paging state of the next page; None for the last page of the range.
        """
        if state is None:
            self.finished.add(fetch.number)
            self.paging_states.pop(fetch.number, None)
        else:
            self.paging_states[fetch.number] = state

    def rest(self) -> list[Fetch]:
        """Return the pages that are still in flight.

        An asyncio scan that ends early cancels the requests for these pages.
        """
        return list(self._in_flight)

    # -- checkpoints -------------------------------------------------------------------------------

    def save_used(self, checkpoint: Checkpoint, fetch: Fetch, state: bytes | None) -> None:
        """Save in a checkpoint that the application has used a page. Call this after `used`.

        Usually this appends an entry, whose size does not depend on the number of ranges. From time
        to time it replaces the whole file.

        :param checkpoint: the file of this scan.
        :param fetch: the page whose rows were used.
        :param state: the paging state of the next page; None for the last page of the range.
        """
        entry = [fetch.number, None if state is None else state.hex()]
        is_last = len(self.finished) == len(self.ranges)
        if self._has_pinned or not checkpoint.append(entry, is_last):
            self.save(checkpoint)

    def save(self, checkpoint: Checkpoint) -> None:
        """Save in a checkpoint which pages the application has used.

        :param checkpoint: the file of this scan, to which the state is written.
        """
        checkpoint.save(
            ranges=[
                [token_range.start, token_range.end, list(token_range.replicas)]
                for token_range in self.ranges
            ],
            finished=sorted(self.finished),
            places={str(number): state.hex() for number, state in self.paging_states.items()},
        )
        self._has_pinned = False

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue with the ranges and paging states of a checkpoint; do nothing if it is empty.

        :param checkpoint: the file of this scan, as an earlier run has left it.
        :raises ValueError: if the checkpoint is damaged.
        """
        content = checkpoint.state
        if not content:
            return
        try:
            ranges = [
                TokenRange(start, end, tuple(replicas))
                for start, end, replicas in content["ranges"]
            ]
            finished = set(content["finished"])
            paging_states = {
                int(number): bytes.fromhex(state) for number, state in content["places"].items()
            }
            for number, state in checkpoint.entries:
                if number not in range(len(ranges)):
                    raise ValueError(f"there is no range {number!r}")
                if state is None:
                    finished.add(number)
                    paging_states.pop(number, None)
                else:
                    paging_states[number] = bytes.fromhex(state)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the checkpoint of the scan is damaged: {error!r}") from error
        # Use the ranges of the checkpoint, because its range numbers and paging states are only
        # valid for these ranges.
        self.ranges, self.finished, self.paging_states = ranges, finished, paging_states
        self._waiting = deque(
            Fetch(number, paging_states.get(number))
            for number in range(len(ranges))
            if number not in finished
        )
