"""The page of operations in a real browser: everything comes from the service, and examples can be tried."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
LEASE = "#operations-judging-lease_pairs"


@pytest.mark.parametrize("assessor", ["ann"])  # as in the examples
def test_after_signing_in_an_operation_is_tried_with_its_example_as_it_stands(browse, invited, watch):
    watch.expected.append("401 (Unauthorized)")
    page = browse("/docs", viewport={"width": 360, "height": 740})
    page.locator("#token:focus").wait_for()
    assert page.locator(".opblock").count() == 0
    page.fill("#token", invited[1])
    page.click("#entrance-form button")
    page.click(f"{LEASE} .opblock-summary")
    page.click(f"{LEASE} .execute")
    expect(page.locator(f"{LEASE} .live-responses-table td.response-col_status").last).to_have_text("200")
    expect(page.locator(f"{LEASE} .live-responses-table")).to_contain_text('"assessor": "ann"')
    assert page.evaluate("document.documentElement.scrollWidth") == 360
