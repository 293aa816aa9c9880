"""Exports as FOCUS has them: the specification's rules hold in every row, sums are the statement's,
and a row that breaks a rule is found."""

import csv
import io
import json
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from focus_data_toolkit.model.validator import lint_focus_1_4_structure, load_model

from accounting.domain.exports import FOCUS_VERSIONS
from accounting.exports import making
from accounting.exports.extent import extent
from accounting.exports.focus import columns, measures, rows, rules
from accounting.exports.lines import Lines
from ledger import scope
from ledger.errors import Refused
from tests.accounting.exports.conftest import HOSTILE, close, made, request, row
from tests.accounting.exports.test_files import statement
from tests.accounting.statements.test_rating import DAY, END, LATER, START
from tests.world import NOW, record

PRICES = {"ListCost": "ListUnitPrice", "ContractedCost": "ContractedUnitPrice"}
VERSIONS = pytest.mark.parametrize("version", FOCUS_VERSIONS)


def in_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def values(place, version="1.4") -> list[dict]:
    """Rows as the writers get them."""
    export_id = request(place, "focus", "csv", focus_version=version)
    with scope.snapshot(place.id):
        found = row(place, export_id)
        table = rows.table(Lines(extent(place.id, found.spec, asked_at=found.requested_at)))
        names = [one.name for one in table.columns]
        return [dict(zip(names, one, strict=True)) for block in table.blocks() for one in block]


@VERSIONS
@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize("account", ["root", "nlp"])
def test_billed_costs_are_the_statement_to_the_cent(place, version, state, account):
    if state == "closed":
        close(place)
    options = {"focus_version": version, "account": account}
    found = in_csv(made(place, "focus", "csv", **options)[0])
    shown = statement(place, account).total.amount
    assert sum(Decimal(one["BilledCost"]) for one in found) == shown
    parquet = pq.read_table(io.BytesIO(made(place, "focus", "parquet", **options)[0]))
    assert sum(parquet["BilledCost"].to_pylist()) == shown
    assert parquet.num_rows == len(found) > 5
    assert parquet.column_names == list(found[0])
    sums: dict = {}
    for one in found:
        sums[one["InvoiceId"]] = sums.get(one["InvoiceId"], 0) + Decimal(one["BilledCost"])
    if state == "open":
        assert set(sums) == {""}
    elif account == "root":
        names = {str(id_): name for name, id_ in place.accounts.items()}
        assert {names[key.split("/")[1]]: total for key, total in sums.items()} == {
            name: statement(place, name).total.amount for name in ("research", "production")
        }


@VERSIONS
def test_every_row_keeps_the_rules(place, version):
    close(place)
    found = values(place, version)
    assert [problem for one in found for problem in rules.broken(one, version)] == []
    for one in found:
        for cost, price in PRICES.items():
            if one[price] is not None:
                assert one[cost] == one[price] * one["PricingQuantity"], "to the last digit"
    assert {one["ChargeCategory"] for one in found} == {"Usage", "Credit", "Adjustment"}
    assert {one["PricingCategory"] for one in found} == {None, "Standard", "Dynamic"}
    assert [one["ChargePeriodStart"] for one in found] == sorted(
        one["ChargePeriodStart"] for one in found
    )


def test_what_we_have_is_mapped_as_documented(place):
    close(place)
    found = values(place)
    by_kind: dict = {}
    for one in found:
        by_kind.setdefault(one["x_LineKind"], []).append(one)
    assert set(by_kind) == {
        *("usage", "idle", "lending", "discount", "credit", "commitment", "adjustment"),
    }
    idle = by_kind["idle"][0]
    assert idle["CapacityReservationStatus"] == "Unused"
    assert idle["ResourceId"] == idle["CapacityReservationId"] is not None
    late = by_kind["adjustment"][0]
    assert (late["ChargeClass"], late["ChargeCategory"]) == ("Correction", "Usage")
    assert late["ChargePeriodEnd"] == START and late["BillingPeriodStart"] == START
    assert late["BillingPeriodEnd"] == END and late["SkuPriceId"] is None
    given = by_kind["credit"][0]
    assert given["BilledCost"] == given["ListCost"] == Decimal("-12.34")
    days = [one for one in by_kind["usage"] if one["SubAccountName"] == "vision"]
    assert len(days) == 30 and all(
        one["ChargePeriodEnd"] - one["ChargePeriodStart"] <= timedelta(hours=25) for one in days
    )
    assert days[0]["BillingAccountName"] == "research"
    assert json.loads(days[0]["Tags"])["apportion/team"] == "vision"
    spot = [one for one in by_kind["usage"] if one["x_Tier"] == "spot"]
    assert {one["PricingCategory"] for one in spot} == {"Dynamic"}


def test_the_file_is_as_the_formats_say(place):
    close(place)
    content, _ = made(place, "focus", "csv")
    head = content.split(b"\n", 1)[0].decode().split(",")
    assert head == [one.name for one in columns.columns("1.4")]
    first = in_csv(content)[0]
    assert first["BillingPeriodStart"] == "2026-09-30T22:00:00Z"
    assert all("." in one["BilledCost"] for one in in_csv(content))
    assert b"\r" not in content and HOSTILE.encode() not in content
    schema = columns.schema("1.4")
    assert [one["ColumnName"] for one in schema["ColumnDefinition"]] == head
    assert columns.schema("1.2")["SchemaId"] != schema["SchemaId"]


@VERSIONS
def test_it_is_the_same_bytes_whenever_it_is_made(place, version):
    close(place)
    for suffix in ("csv", "parquet"):
        first, _ = made(place, "focus", suffix, focus_version=version)
        assert made(place, "focus", suffix, focus_version=version)[0] == first


def test_another_validator_agrees_and_so_does_its_model(place):
    close(place)
    report = lint_focus_1_4_structure(
        "cost and usage",
        in_csv(made(place, "focus", "csv")[0]),
        supported_conditions=["SupportsMultiplePricingCategories", "SupportsUnitPricing"],
    )
    assert report.row_count > 50 and report.messages() == []
    model = load_model()["datasets"]["Cost and Usage"]["columns"]
    ours = {one.name: one for one in columns.columns("1.4") if not one.name.startswith("x_")}
    for name, theirs in model.items():
        if theirs["feature_level"] == "Mandatory":
            assert name in ours
        if name in ours:
            mine = ours[name]
            wanted = (theirs["feature_level"], theirs["allows_nulls"])
            assert (mine.level, mine.null) == wanted, name
            assert (
                theirs["allowed_values"] is None
                or mine.allowed is None
                or (set(mine.allowed) == set(theirs["allowed_values"]))
            )
    assert set(ours) <= set(model)


BREAKS = {
    "null": {"BilledCost": None},
    "null of a name": {"ServiceName": None},
    "form: a text that says null": {"ChargeDescription": "N/A"},
    "form: empty": {"SubAccountName": ""},
    "form: no decimal": {"BilledCost": 1.5},
    "form: too fine": {"EffectiveCost": Decimal(1).scaleb(-13)},
    "form: negative price": {"ListUnitPrice": Decimal(-1)},
    "form: no zone": {"ChargePeriodStart": START.replace(tzinfo=None)},
    "form: fraction": {"ChargePeriodStart": START.replace(microsecond=1)},
    "form: currency": {"BillingCurrency": "euro"},
    "form: unit": {"PricingUnit": "hours of GPUs"},
    "form: tags": {"Tags": "[1]"},
    "form: nested tags": {"Tags": '{"a": {"b": 1}}'},
    "allowed": {"ChargeCategory": "Use"},
    "allowed frequency": {"ChargeFrequency": "Sometimes"},
    "period": {"ChargePeriodEnd": START},
    "period_outside": {"ChargePeriodStart": START - timedelta(days=1)},
    "required_for_use": {"SkuId": None},
    "null_for_tax": {"ChargeCategory": "Tax"},
    "consumption": {"ConsumedQuantity": None},
    "consumption of a credit": {"ChargeCategory": "Credit"},
    "unit": {"PricingUnit": None},
    "sku_price": {"SkuPriceId": None},
    "sku_price without price": {"ContractedUnitPrice": None},
    "product": {"ListCost": Decimal("0.01")},
    "product of contracted": {"ContractedCost": Decimal("0.01")},
    "equal_costs": {"ChargeCategory": "Adjustment"},
    "frequency": {"ChargeCategory": "Purchase"},
    "reservation": {"CapacityReservationId": None},
    "reservation without status": {"CapacityReservationStatus": None},
    "subcategory": {"ServiceCategory": "Storage"},
    "issuer": {"InvoiceIssuerName": "somebody else"},
    "account_type": {"SubAccountId": None},
    "column_missing": {},
}


@VERSIONS
@pytest.mark.parametrize("name", BREAKS)
def test_a_row_that_breaks_a_rule_is_found(place, name, version):
    good = next(
        one
        for one in values(place, version)
        if one["CapacityReservationStatus"] == "Used" and one["BilledCost"]
    )
    assert list(rules.broken(good, version)) == []
    bad = good | BREAKS[name]
    if not BREAKS[name]:
        del bad["ListCost"]
    rule = name.split(" ")[0].rstrip(":")
    assert rule in {one.rule for one in rules.broken(bad, version)}


@VERSIONS
@pytest.mark.parametrize("state", ["open", "closed"])
def test_use_is_told_apart_by_its_labels_and_adds_up(place, version, state):
    start = START + 12 * DAY
    place.use(
        record("x", units=3, hours=7.7, start=start, labels={"project": "p", "workload": "=1"}),
        record("y", units=1, hours=3.1, start=start, labels={"project": "p", "model": "näve 🦙"}),
        now=START + 30 * DAY,
    )
    if state == "closed":
        close(place)
    found = [one for one in values(place, version) if one["SubAccountName"] == "nlp"]
    of_day = [one for one in found if one["ChargePeriodStart"] == start
              and one["x_LineKind"] == "usage"]  # fmt: skip
    labels = [
        {name: tag for name, tag in json.loads(one["Tags"]).items() if "/" not in name}
        for one in of_day
    ]
    assert labels == [{"project": "p", "model": "näve 🦙"}, {"project": "p", "workload": "=1"}]
    quantities = [one["ConsumedQuantity"] for one in of_day]
    assert [round(one, 3) for one in quantities] == [Decimal("3.1"), Decimal("23.1")]
    sums: dict = {}
    for one in found:
        line = one["x_LineId"]
        sums[line] = sums.get(line, 0) + one["BilledCost"]
    lines = in_lines(made(place, "lines", "csv", account="nlp")[0])
    if state == "closed":
        assert sums == lines
    assert sorted(sums.values()) == sorted(lines.values())


def in_lines(content: bytes) -> dict[str, Decimal]:
    return {one["line"]: Decimal(one["amount"]) for one in in_csv(content)}


@VERSIONS
def test_what_a_productive_hour_cost_is_in_the_file_as_of_the_close(place, version):
    measured = {"start": START + DAY, "account": "serving", "person": "alice", "tier": "spot"}
    place.use(
        record("m1", hours=10, productive_util=Decimal("0.5"), compute_util=Decimal(1), **measured),
        record("m2", hours=30, productive_util=Decimal("0.9"), **measured),
        record("m3", hours=99, **measured),
        now=START + 30 * DAY,
    )
    close(place)
    found = values(place, version)
    spot = [one for one in found if (one["x_Tier"], one["x_LineKind"]) == ("spot", "usage")]
    assert {one["x_ProductiveUtilization"] for one in spot} == {Decimal("0.8")}
    assert {one["x_ComputeUtilization"] for one in spot} == {Decimal(1)}
    assert {one["x_CostPerProductiveHour"] for one in spot} == {Decimal("0.7") / Decimal("0.8")}
    rest = [one for one in found if one not in spot]
    assert {one["x_CostPerProductiveHour"] for one in rest} == {None}, "unknown is never 0"
    before, _ = made(place, "focus", "csv", focus_version=version)
    place.use(record("m4", hours=50, productive_util=Decimal("0.1"), **measured), now=NOW)
    assert made(place, "focus", "csv", focus_version=version)[0] == before


def test_nothing_productive_has_no_price_of_a_productive_hour():
    assert measures.Measured(Fraction(1), Fraction(0)).columns(Decimal(2)) == {
        "x_CostPerProductiveHour": None,
        "x_ProductiveUtilization": Decimal(0),
        "x_ComputeUtilization": Decimal(1),
    }


COSTS = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
FILE_BREAKS = {
    "invoice_sum": lambda rows: rows[:-1],
    "order": lambda rows: [rows[1], rows[0], *rows[2:]],
    "order: twice": lambda rows: [rows[0], *rows],
    "minor_unit": lambda rows: [
        (rows[0][0], rows[0][1] | dict.fromkeys(COSTS, Decimal("0.001"))),
        *rows[1:],
    ],
    "sku_of_price": lambda rows: [
        *rows,
        (
            (END, 999, 1, 0),
            next(one for _, one in rows if one["SkuPriceId"])
            | {"SkuId": "another", "ChargePeriodStart": END - timedelta(days=1)}
            | {"ChargePeriodEnd": END},
        ),
    ],
}


@pytest.mark.parametrize("name", FILE_BREAKS)
def test_a_file_that_breaks_a_rule_is_never_offered(place, monkeypatch, name):
    close(place)
    right = rows.in_order
    monkeypatch.setattr(rows, "in_order", lambda them: FILE_BREAKS[name](list(right(them))))
    export_id = request(place, "focus", "csv")
    assert making.make(place.id, export_id, now=LATER)
    found = row(place, export_id)
    assert (found.state, found.problem, found.digest) == ("failed", "focus_invalid", None)
    assert name.split(":")[0] in found.problem_detail


def test_columns_in_another_order_are_found(place):
    names = tuple(one.name for one in columns.columns("1.4"))
    check = rules.FileCheck(version="1.4", invoices={}, places=2)
    check.head(names)
    for wrong in ((names[-1], *names[:-1]), names[1:], (*names, names[0]), (*names, "x y")):
        with pytest.raises(Refused, match="column_"):
            check.head(wrong)


def test_the_toolkit_knows_1_2_when_it_sees_it(place):
    from focus_data_toolkit.schema.detection import detect_focus_schema

    head = [one.name for one in columns.columns("1.2")]
    found = detect_focus_schema(head)
    assert (found.dataset, found.detected_version) == ("Cost and Usage", "1.2")
    assert not found.unknown_columns and not found.ambiguous_candidates
