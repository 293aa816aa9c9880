"""Laws of the quota tree, and the arrays against the formulas written out plainly."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quota.domain.book import Accounts
from quota.domain.tree import NO_PARENT, QuotaTree, Shape, Standing, evaluate
from quota.domain.values import Quota
from tests.quota.columns import column_of

AMOUNT = st.one_of(st.integers(0, 12), st.integers(0, 2**53))
LIMIT = st.one_of(st.none(), AMOUNT)
POOLS = 2


@dataclass(frozen=True, slots=True)
class Node:
    """One cell of the design's formulas; `children` and `parent` by row."""

    parent: int
    g: int
    borrowing: int | None
    lending: int | None
    use: int


class Plain:
    """The design's formulas, one recursion each, for one pool."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def children(self, n: int) -> list[int]:
        return [row for row, node in enumerate(self.nodes) if node.parent == n]

    def subtree(self, n: int) -> int:
        return self.nodes[n].g + sum(self.subtree(c) - self.local(c) for c in self.children(n))

    def local(self, n: int) -> int:
        lending = self.nodes[n].lending
        if lending is None or self.nodes[n].parent == NO_PARENT:
            return 0
        return max(0, self.subtree(n) - lending)

    def used(self, n: int) -> int:
        flowing = (max(0, self.used(c) - self.local(c)) for c in self.children(n))
        return self.nodes[n].use + sum(flowing)

    def available(self, n: int) -> int:
        node = self.nodes[n]
        if node.parent == NO_PARENT:
            return self.subtree(n) - self.used(n)
        local, used = self.local(n), self.used(n)
        p = self.available(node.parent)
        if node.borrowing is not None:
            p = min(p, (self.subtree(n) - local) - max(0, used - local) + node.borrowing)
        return max(0, local - used) + p

    def potential(self, n: int) -> int:
        return Plain([replace(node, use=0) for node in self.nodes]).available(n)


@st.composite
def pools(draw: st.DrawFn) -> list[list[Node]]:
    """A tree of up to 7 nodes, several roots at times, with other quotas in each pool."""
    count = draw(st.integers(1, 7))
    parents = [NO_PARENT]
    parents += [
        draw(st.sampled_from([NO_PARENT, *range(at), *range(at)])) for at in range(1, count)
    ]
    node = st.builds(lambda g, b, lending, use: (g, b, lending, use), AMOUNT, LIMIT, LIMIT, AMOUNT)
    return [[Node(parent, *draw(node)) for parent in parents] for _ in range(POOLS)]


def arrays(given_pools: list[list[Node]]) -> tuple[QuotaTree, Standing]:
    rows = list(zip(*given_pools, strict=True))
    tree = QuotaTree.build(
        Shape.build([row[0].parent for row in rows]),
        guaranteed=[[node.g for node in row] for row in rows],
        borrowing=[[node.borrowing for node in row] for row in rows],
        lending=[[node.lending for node in row] for row in rows],
    )
    return tree, evaluate(tree, [[node.use for node in row] for row in rows])


@settings(max_examples=200, deadline=None)
@given(pools())
def test_arrays_agree_with_the_formulas(given_pools: list[list[Node]]) -> None:
    tree, standing = arrays(given_pools)
    for pool, nodes in enumerate(given_pools):
        plain = Plain(nodes)
        for row in range(len(nodes)):
            assert tree.subtree[row, pool] == plain.subtree(row)
            assert tree.local[row, pool] == plain.local(row)
            assert standing.used[row, pool] == plain.used(row)
            assert standing.headroom[row, pool] == plain.available(row)
            assert tree.potential[row, pool] == plain.potential(row)
            assert standing.available[row, pool] == max(0, plain.available(row))


@settings(max_examples=100, deadline=None)
@given(pools())
def test_native_and_exact_integers_agree(given_pools: list[list[Node]]) -> None:
    tree, standing = arrays(given_pools)
    factor = 2**70
    scaled = [
        [
            Node(
                node.parent,
                node.g * factor,
                None if node.borrowing is None else node.borrowing * factor,
                None if node.lending is None else node.lending * factor,
                node.use * factor,
            )
            for node in nodes
        ]
        for nodes in given_pools
    ]
    exact_tree, exact_standing = arrays(scaled)
    assert (tree.potential.astype(object) * factor == exact_tree.potential).all()
    assert (standing.headroom.astype(object) * factor == exact_standing.headroom).all()


@settings(max_examples=150, deadline=None)
@given(pools(), st.data())
def test_more_guarantee_never_lowers_anybody_s_potential(
    given_pools: list[list[Node]], data: st.DataObject
) -> None:
    tree, standing = arrays(given_pools)
    row = data.draw(st.integers(0, len(given_pools[0]) - 1))
    more = data.draw(st.integers(1, 2**53))
    nodes = list(given_pools[0])
    nodes[row] = replace(nodes[row], g=nodes[row].g + more)
    raised, raised_standing = arrays([nodes, given_pools[1]])
    assert (raised.potential >= tree.potential).all()
    assert (raised_standing.headroom >= standing.headroom).all()


@settings(max_examples=150, deadline=None)
@given(pools())
def test_potential_covers_the_own_subtree_and_what_is_available(
    given_pools: list[list[Node]],
) -> None:
    tree, standing = arrays(given_pools)
    assert (tree.potential >= tree.subtree).all()
    assert (standing.headroom <= tree.potential).all()
    beyond = np.maximum(0, standing.used - tree.subtree)
    assert (standing.borrowed + standing.overshoot == beyond).all()
    assert (standing.borrowed >= 0).all()


@settings(max_examples=150, deadline=None)
@given(pools(), st.randoms(use_true_random=False))
def test_the_order_of_siblings_does_not_matter(
    given_pools: list[list[Node]], random: object
) -> None:
    tree, standing = arrays(given_pools)
    order = list(range(len(given_pools[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    place = {row: at for at, row in enumerate(order)}
    shuffled = [
        [replace(nodes[row], parent=place.get(nodes[row].parent, NO_PARENT)) for row in order]
        for nodes in given_pools
    ]
    other_tree, other = arrays(shuffled)
    assert (other_tree.potential == tree.potential[order]).all()
    assert (other.headroom == standing.headroom[order]).all()
    assert (other.used == standing.used[order]).all()


@settings(max_examples=150, deadline=None)
@given(pools(), st.data())
def test_use_added_step_by_step_is_use_recomputed(
    given_pools: list[list[Node]], data: st.DataObject
) -> None:
    tree, standing = arrays(given_pools)
    column = column_of(tree, standing, 0)
    uses = [node.use for node in given_pools[0]]
    for _ in range(data.draw(st.integers(0, 6))):
        row = data.draw(st.integers(0, len(uses) - 1))
        units = data.draw(st.integers(-min(uses[row], 20), 20))
        uses[row] += units
        column.add(row, units)
    now = evaluate(tree, [[use, node.use] for use, node in zip(uses, given_pools[1], strict=True)])
    assert column.used == now.used[:, 0].tolist()
    rows = range(len(uses))
    assert [column.headroom(row) for row in rows] == now.headroom[:, 0].tolist()
    for row in rows:
        assert column.headroom(row) == min(bound.units for bound in column.bounds(row))


@given(pools(), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_a_column_of_its_own_amounts_is_the_tree_s_column(
    given_pools: list[list[Node]], random
) -> None:
    nodes = given_pools[0]
    tree, standing = arrays(given_pools)
    names = list(range(len(nodes)))
    random.shuffle(names)
    accounts = Accounts(
        {row: None if nodes[row].parent == NO_PARENT else nodes[row].parent for row in names}
    )
    quotas = {
        key: Quota(guaranteed=node.g, borrowing_limit=node.borrowing, lending_limit=node.lending)
        for key, node in enumerate(nodes)
        # Who has no quota has nothing, like who is not named.
        if (node.g, node.borrowing, node.lending) != (0, None, None)
    }
    own = accounts.pool_tree(quotas)
    use = [nodes[key].use for key in accounts.keys]
    for made in (own.entitled(use), own.lasting()):
        made.add(0, 7)  # somebody else's: the tree is shared
    column = own.entitled(use)
    assert own.promised == sum(node.g for node in nodes)
    for row, key in enumerate(accounts.keys):
        assert column.used[row] == standing.used[key, 0]
        assert column.headroom(row) == standing.headroom[key, 0]
        assert own.subtree[row] == tree.subtree[key, 0]
        assert own.local[row] == tree.local[key, 0]
        assert own.guaranteed[row] == nodes[key].g
