"""`manage.py whatif quota`: what a tree of quotas gives, and which requests it would admit.

The same pure code decides here and over REST. Documented field by field in docs/operator/whatif.md.
"""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from quota.domain.admission import Admissions
from quota.domain.batch import AdmissionRequest, Block, Holding, PoolState, Verdict
from quota.domain.shares import borrowed_share
from quota.domain.tree import NO_PARENT, QuotaTree, Shape, Standing, evaluate
from quota.domain.values import RECLAIM_SECONDS_MAX, Pool, Quota
from quota.whatif_document import NO_CELL, NodeLine, Question, read

_NO_CLOCK = datetime(1970, 1, 1, tzinfo=UTC)
"""The answer holds no instant; admissions ask for one."""


def answer(document: bytes) -> dict[str, Any]:
    """Question in JSON to answer as JSON-friendly values.

    Raises:
        Invalid: `whatif_invalid`, with the place of the fault in `field`.
    """
    question = read(document)
    tree, standing = _stand(question)
    resources = [pool.resource for pool in question.pools.values()]
    return {
        "nodes": [
            {
                "name": node.name,
                "parent": node.parent,
                "weight": _number(node.weight),
                "pools": {
                    pool: _cell(tree, standing, row, at, node, pool)
                    for at, pool in enumerate(question.pools)
                },
                **_share(tree, standing, row, resources, node.weight),
            }
            for row, node in enumerate(question.nodes)
        ],
        "requests": _verdicts(question, tree, standing),
    }


def _stand(question: Question) -> tuple[QuotaTree, Standing]:
    row_of = {node.name: row for row, node in enumerate(question.nodes)}
    parents = [NO_PARENT if n.parent is None else row_of[n.parent] for n in question.nodes]
    cells = [[n.cells.get(pool, NO_CELL) for pool in question.pools] for n in question.nodes]
    tree = QuotaTree.build(
        Shape.build(parents),
        guaranteed=[[cell.guaranteed for cell in row] for row in cells],
        borrowing=[[cell.borrowing_limit for cell in row] for row in cells],
        lending=[[cell.lending_limit for cell in row] for row in cells],
    )
    return tree, evaluate(tree, [[cell.used for cell in row] for row in cells])


def _cell(
    tree: QuotaTree, standing: Standing, row: int, at: int, node: NodeLine, pool: str
) -> dict[str, Any]:
    given = node.cells.get(pool, NO_CELL)
    return {
        "guaranteed": given.guaranteed,
        "borrowing_limit": given.borrowing_limit,
        "lending_limit": given.lending_limit,
        "subtree": int(tree.subtree[row, at]),
        "local": int(tree.local[row, at]),
        "used": int(standing.used[row, at]),
        "available": int(standing.available[row, at]),
        "potential": int(tree.potential[row, at]),
        "headroom": int(standing.headroom[row, at]),
        "borrowed": int(standing.borrowed[row, at]),
        "overshoot": int(standing.overshoot[row, at]),
    }


def _share(
    tree: QuotaTree, standing: Standing, row: int, resources: list[str], weight: Fraction
) -> dict[str, Any]:
    share = borrowed_share(tree, standing, row, resources=resources, weight=weight)
    return {
        "borrowing": share.borrowing,
        "dominant_resource": share.resource,
        "dominant_share": float(share.share),
        "weighted_share": _or_infinite(share.weighted),
        "rounded_weighted_share": "inf" if share.rounded is None else share.rounded,
    }


def _or_infinite(share: Fraction | None) -> float | str:
    """JSON has no infinity: the text "inf"."""
    return "inf" if share is None else float(share)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _verdicts(question: Question, tree: QuotaTree, standing: Standing) -> list[dict[str, Any]]:
    if not question.requests:
        return []
    batch = Admissions(
        accounts={node.name: node.parent for node in question.nodes},
        pools={
            pool: _pool_state(question, pool, _deficit(tree, standing, at))
            for at, pool in enumerate(question.pools)
        },
        now=_NO_CLOCK,
    )
    found = []
    for request in question.requests:
        verdict = batch.decide(request)
        shown = replace(verdict, blocks=_blocks_of_given(question, verdict.blocks))
        found.append({**_verdict(request, shown), "state": _state(question, batch, request)})
    return found


def _blocks_of_given(question: Question, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without the capacity that nobody gave, where the tree says no anyway."""
    in_tree = {block.pool for block in blocks if block.account is not None}
    return tuple(
        block
        for block in blocks
        if block.account is not None
        or block.pool not in in_tree
        or question.pools[str(block.pool)].capacity is not None
    )


def _deficit(tree: QuotaTree, standing: Standing, at: int) -> int:
    """Use above what the roots have, in one pool."""
    roots = tree.shape.levels[0] if tree.shape.levels else ()
    return sum(max(0, -int(standing.headroom[root, at])) for root in roots)


def _pool_state(question: Question, name: str, deficit: int) -> PoolState:
    """Use that is given has no tier: up to the own guarantee it is guaranteed, above borrowed."""
    cells = {node.name: node.cells[name] for node in question.nodes if name in node.cells}
    line = question.pools[name]
    capacity = line.capacity
    if capacity is None:
        # What is promised, and what is in use beyond it, so that only the tree decides.
        capacity = sum(cell.guaranteed for cell in cells.values()) + deficit
    target = line.reclaim_target_seconds
    return PoolState(
        pool=Pool(
            name=name,
            capacity=capacity,
            unavailable=line.unavailable,
            safety_margin=line.safety_margin,
            reclaim_target_seconds=RECLAIM_SECONDS_MAX if target is None else target,
        ),
        quotas={
            account: Quota(
                guaranteed=cell.guaranteed,
                borrowing_limit=cell.borrowing_limit,
                lending_limit=cell.lending_limit,
            )
            for account, cell in cells.items()
        },
        holdings={
            account: Holding(
                guaranteed=min(cell.used, cell.guaranteed),
                borrowed=max(0, cell.used - cell.guaranteed),
            )
            for account, cell in cells.items()
            if cell.used
        },
    )


def _verdict(request: AdmissionRequest, verdict: Verdict) -> dict[str, Any]:
    """`tier` and `units` are those of the first pool asked; `grants` holds every pool."""
    first = verdict.grants[0] if verdict.grants else None
    asked = request.needs[0].pool
    granted = first if first is not None and first.pool == asked else None
    return {
        "key": request.key,
        "account": request.account,
        "pool": asked,
        "verdict": "admitted" if verdict.admitted else "denied",
        "tier": granted.tier if granted else None,
        "units": granted.units if granted else 0,
        "grants": [
            {
                "pool": grant.pool,
                "tier": grant.tier,
                "units": grant.units,
                "duration_seconds": grant.duration_seconds,
            }
            for grant in verdict.grants
        ],
        "blocking": [
            {
                "pool": block.pool,
                "node": block.account,
                "limit": block.limit,
                "available": block.available,
                "short_by": block.short_by,
            }
            for block in verdict.blocks
        ],
    }


def _state(question: Question, batch: Admissions, request: AdmissionRequest) -> dict[str, Any]:
    """The pools of a request after it: free units, and use and availability of nodes."""
    if question.states == "none":
        return {}
    found = {}
    for need in request.needs:
        book = batch.books[need.pool]
        rows = (
            range(len(question.nodes))
            if question.states == "all"
            else batch.accounts.shape.path(batch.accounts.row_of[request.account])
        )
        headrooms = (
            book.headrooms()
            if question.states == "all"
            else {row: book.column.headroom(row) for row in rows}
        )
        found[need.pool] = {
            "free": max(0, book.free),
            "nodes": {
                question.nodes[row].name: {
                    "used": book.column.used[row],
                    "available": max(0, headrooms[row]),
                }
                for row in rows
            },
        }
    return found
