# SPDX-License-Identifier: Apache-2.0
"""SPEC §19.1: items and packs. pack.json."""
from verify.sections.conventions import require
from verify.sections.encoding import Reader


# 19.1 Items and packs

class Item:
    """What a revision says: record, replaces, time, kind, type, content, blob; `bytes` is its encoding."""


GREATEST_CONTENT = 1048576


def read_item(reader, limit, blobs=None):
    """`limit` is the greatest revision that can be replaced, `blobs` how many the commit names, if that is known."""
    item, start = Item(), reader.at
    item.record, item.type, item.content, item.blob = reader.name(1), None, None, None
    n = reader.u8()
    require(n <= 16)
    item.replaces = [reader.u64() for _ in range(n)]
    require(all(a < b for a, b in zip(item.replaces, item.replaces[1:])) and all(r <= limit for r in item.replaces))
    item.time, item.kind = reader.time(), reader.u8()
    require(item.kind <= 2, "unsupported")
    if item.kind != 0:
        item.type = reader.name()
    if item.kind == 1:
        item.content = reader.opaque32(0, 65536)
    if item.kind == 2:
        item.blob = reader.u16()
        require(item.blob >= 1 and (blobs is None or item.blob < blobs))
    item.bytes = reader.data[start:reader.at]
    return item


def read_pack(data, head, blobs):
    require(len(data) <= GREATEST_CONTENT)
    reader = Reader(data)
    require(reader.u8() == 0, "unsupported")
    n = reader.u16()
    require(n >= 1)
    items = [read_item(reader, head, blobs) for _ in range(n)]
    require(all(a.record < b.record for a, b in zip(items, items[1:])))
    reader.end()
    return items
