# SPDX-License-Identifier: BSD-3-Clause
"""Every file of lib/ that orders memory, itself or by a protocol of lib/sync/protocols.h, is in docs/memory-order.md, which
names the acquire of each release; and every file that the page names does."""
import re

PAGE = "docs/memory-order.md"
ORDERS = re.compile(r"\bmemory_order\b|\bmemory_order_\w+|\bsync::(post|seen|is_posted|ask|is_wanted|clear_wanted)\b"
                    r"|\b(ring_for_sleepers|sleep_unless)\b")


def faults(root):
    page = root / PAGE
    if not page.is_file():
        return
    text = page.read_text()
    named = set(re.findall(r"`(lib/[\w/]+\.(?:cc|h))`", text))
    using = {str(path.relative_to(root)) for path in sorted((root / "lib").rglob("*"))
             if path.suffix in (".cc", ".h") and ORDERS.search(path.read_text(errors="replace"))}
    for path in sorted(using - named):
        yield path, 1, f"orders memory, but {PAGE} does not name it: add what is released and acquired there"
    for path in sorted(named - using):
        yield PAGE, 1, f"names {path}, which orders no memory"
