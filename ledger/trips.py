"""Statements that go to the server together and are answered together: one round trip.

A cursor of psycopg waits for each statement, and takes as long in Python as most of them take in
the server. What every command does is said here through libpq's pipeline instead: the first
statement of a transaction brings its BEGIN along, the last one its COMMIT. It is Django's
connection, and Django's transaction: the two never disagree about its state.

Texts of statements write each parameter with its type, `%b::uuid` (`ledger.parameters`).
"""

import select
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg
from django.db import connection
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, PGconn, PGresult, TransactionStatus

from ledger.parameters import Statement, statement

LOST = "26000"
"""SQLSTATE of a statement that is not prepared any more: somebody has made the server forget it."""

_GIVEN = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class _Asked(NamedTuple):
    """A statement with its parameters, on its way."""

    statement: Statement
    values: list[bytes | None]
    kept: bool


def _plain(sql: bytes) -> _Asked:
    return _Asked(Statement(sql, (), ()), [], kept=True)


_BEGIN, _ROLLBACK = _plain(b"BEGIN"), _plain(b"ROLLBACK")

_COMMIT_DURABLY = (
    _plain(b"SET LOCAL synchronous_commit = off"),
    _plain(b"COMMIT"),
    _plain(b"SELECT pg_logical_emit_message(true, 'apportion', '')"),
)
"""A commit frees its locks only when it is durable: whoever comes next to a busy pool would wait
for the disk, too. So it does not wait; behind it goes a transaction of its own, which is answered
when it is durable in the way the server is set up for, and with it all that was written before."""


@dataclass(slots=True)
class _Line:
    """What is known of a connection: what is prepared on it, and what waits to be sent."""

    loader: Transformer
    prepared: dict[bytes, bytes] = field(default_factory=dict)
    names: int = 0
    waiting: list[_Asked] = field(default_factory=list)
    gathering: bool = False

    def named(self, sql: bytes) -> bytes:
        """A new name for a statement that is about to be prepared."""
        self.names += 1
        name = self.prepared[sql] = b"trip_%d" % self.names
        return name


_lines: weakref.WeakKeyDictionary[psycopg.Connection, _Line] = weakref.WeakKeyDictionary()


def send(sql: str, values: Sequence[Any] = (), *, kept: bool = True) -> None:
    """Run a statement whose answer nobody waits for. Inside `gathered` it goes out with the next
    one that is asked, otherwise at once.

    Args:
        kept: it is planned once for the connection. Not for many rows, whose plan depends on
            how many there are.
    """
    raw, line = _line()
    line.waiting.append(_asked(sql, values, kept))
    if not line.gathering:
        _travel(raw, line)


def ask(
    sql: str, values: Sequence[Any] = (), *, kept: bool = True, commit: bool = False
) -> list[tuple]:
    """The rows of a statement, after everything that waits to be sent.

    Args:
        kept: as for `send`.
        commit: the transaction ends with it, durably. (Inside another one, as in a test, it is
            that one's to end.)
    """
    raw, line = _line()
    line.waiting.append(_asked(sql, values, kept))
    ends = commit and _is_outermost()
    if ends:
        line.waiting += _COMMIT_DURABLY
    results = _travel(raw, line)
    return _rows(raw, results[-1 - len(_COMMIT_DURABLY) if ends else -1])


def ask_both(
    first: tuple[str, Sequence[Any]], second: tuple[str, Sequence[Any]]
) -> tuple[list[tuple], list[tuple]]:
    """The rows of two statements, in one trip."""
    raw, line = _line()
    line.waiting += (_asked(*first, True), _asked(*second, True))
    results = _travel(raw, line)
    return _rows(raw, results[-2]), _rows(raw, results[-1])


def row(sql: bytes, value: bytes) -> tuple | None:
    """The first row of a read with one parameter, `$1`, outside any transaction. No pipeline:
    nothing goes with it.

    Raises:
        psycopg.Error: of the statement, or because the connection is gone.
    """
    raw, line = _line()
    result = _run(raw, line, sql, value)
    if result.status not in _GIVEN:
        error = error_from_result(result, encoding=raw.info.encoding)
        if error.sqlstate != LOST:
            raise error
        line.prepared.clear()
        result = _run(raw, line, sql, value)
    rows = _rows(raw, result)
    return rows[0] if rows else None


def _run(raw: psycopg.Connection, line: _Line, sql: bytes, value: bytes) -> PGresult:
    pgconn = raw.pgconn
    if raw.prepare_threshold is None:
        return pgconn.exec_params(sql, [value], result_format=1)
    name = line.prepared.get(sql)
    if name is None:
        name = line.named(sql)
        result = pgconn.prepare(name, sql)
        if result.status not in _GIVEN:
            del line.prepared[sql]
            return result
    return pgconn.exec_prepared(name, [value], result_format=1)


@contextmanager
def gathered() -> Iterator[None]:
    """What is sent inside waits for the next question; at the end, nothing waits any more."""
    raw, line = _line()
    line.gathering = True
    try:
        yield
        if line.waiting:
            _travel(raw, line)
    finally:
        line.gathering = False
        line.waiting.clear()


def catch_up() -> None:
    """Send what waits, for those who look at the database another way."""
    raw = connection.connection
    line = None if raw is None else _lines.get(raw)
    if line is not None and line.waiting:
        _travel(raw, line)


def roll_back() -> None:
    """End a transaction that has failed. psycopg's own rollback would forget what is prepared."""
    raw = connection.connection
    if raw is None or raw.closed or not _is_outermost():
        return
    if raw.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        # Where even this fails the connection is closed, and the server does it.
        with suppress(psycopg.Error):
            _round(raw, _lines.get(raw) or _watched(raw), [_ROLLBACK])


def _is_outermost() -> bool:
    return len(connection.atomic_blocks) == 1


def _line() -> tuple[psycopg.Connection, _Line]:
    raw = connection.connection
    if raw is None:
        connection.ensure_connection()
        raw = connection.connection
    return raw, _lines.get(raw) or _watched(raw)


def _watched(raw: psycopg.Connection) -> _Line:
    """After a rollback or a DROP, psycopg has the server forget all that was prepared, before its
    next statement; what is prepared here is then forgotten, too."""
    line = _lines[raw] = _Line(Transformer(raw))
    deallocate, connected = type(raw)._deallocate, weakref.ref(raw)

    def forget(name: bytes | None) -> Any:
        if name is None:
            line.prepared.clear()
        return deallocate(connected(), name)

    raw._deallocate = forget
    return line


def _asked(sql: str, values: Sequence[Any], kept: bool) -> _Asked:
    found = statement(sql)
    return _Asked(found, found.encode(values), kept)


def _travel(raw: psycopg.Connection, line: _Line) -> list[PGresult]:
    """Send what waits and give the answers, one for each statement.

    Raises:
        psycopg.Error: of the first statement that failed; those behind it were not run.
    """
    asked, line.waiting = line.waiting, []
    begins = not raw.autocommit and raw.pgconn.transaction_status == TransactionStatus.IDLE
    if begins:
        asked.insert(0, _BEGIN)
    results = _round(raw, line, asked)
    error = _error(raw, results)
    if error is not None and error.sqlstate == LOST:
        line.prepared.clear()
        if begins:
            # Nothing has happened in this transaction yet.
            _round(raw, line, [_ROLLBACK])
            results = _round(raw, line, asked)
            error = _error(raw, results)
    if error is not None:
        raise error
    return results[1:] if begins else results


def _error(raw: psycopg.Connection, results: list[PGresult]) -> psycopg.Error | None:
    for result in results:
        if result.status not in _GIVEN:
            return error_from_result(result, encoding=raw.info.encoding)
    return None


def _round(raw: psycopg.Connection, line: _Line, asked: list[_Asked]) -> list[PGresult]:
    """One trip: answers by statement; after one that failed, `PIPELINE_ABORTED`."""
    pgconn = raw.pgconn
    try:
        pgconn.enter_pipeline_mode()
        fresh = _put(raw, line, asked)
        results = _answers(pgconn, len(asked) + len(fresh))
        pgconn.exit_pipeline_mode()
    except BaseException:
        # Interrupted, or the server is gone: nobody could tell which answer comes next.
        raw.close()
        raise
    return _prepared(line, results, fresh) if fresh else results


def _prepared(line: _Line, results: list[PGresult], fresh: dict[int, bytes]) -> list[PGresult]:
    """Answers by statement, when some have been prepared just before they were run. What failed to
    be is not known; its failure is the statement's."""
    given = iter(results)
    found = []
    for number in range(len(results) - len(fresh)):
        result = next(given)
        if number in fresh:
            run = next(given)
            if result.status in _GIVEN:
                result = run
            else:
                del line.prepared[fresh[number]]
        found.append(result)
    return found


def _put(raw: psycopg.Connection, line: _Line, asked: list[_Asked]) -> dict[int, bytes]:
    """Hand statements to libpq; gives the SQL of those that were prepared first, by number."""
    pgconn = raw.pgconn
    prepares = raw.prepare_threshold is not None
    fresh = {}
    for number, one in enumerate(asked):
        sql, formats = one.statement.sql, one.statement.formats
        if not (one.kept and prepares):
            pgconn.send_query_params(sql, one.values, param_formats=formats, result_format=1)
            continue
        name = line.prepared.get(sql)
        if name is None:
            name = line.named(sql)
            fresh[number] = sql
            pgconn.send_prepare(name, sql)
        pgconn.send_query_prepared(name, one.values, param_formats=formats, result_format=1)
    pgconn.pipeline_sync()
    return fresh


def _answers(pgconn: PGconn, count: int) -> list[PGresult]:
    """Wait for answers to that many messages, and for the end of the trip."""
    poll = select.poll()
    while pgconn.flush():
        poll.register(pgconn.socket, select.POLLIN | select.POLLOUT)
        poll.poll()
        pgconn.consume_input()
    poll.register(pgconn.socket, select.POLLIN)
    results = []
    while True:
        while pgconn.is_busy():
            poll.poll()
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            continue  # the end of one statement's answer
        if result.status == ExecStatus.PIPELINE_SYNC:
            break
        results.append(result)
    if len(results) != count:
        raise psycopg.OperationalError("the server did not answer every statement")
    return results


def _rows(raw: psycopg.Connection, result: PGresult) -> list[tuple]:
    if not result.ntuples:
        return []
    loader = _lines[raw].loader
    loader.set_pgresult(result)
    return loader.load_rows(0, result.ntuples, tuple)
