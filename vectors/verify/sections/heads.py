# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.8, §11.1: heads, evidence, exports. encoding.json, text.json."""
from verify.sections.conventions import H, require, u32, u64, u8
from verify.sections.encoding import Reader, opaque16, opaque32, preamble
from verify.sections.identity import encode_chain, read_chain
from verify.sections.epochs import encode_wrap, read_wrap


# 9.8 Heads, forks, evidence

def read_heads(data):
    reader, heads = Reader(data), []
    reader.preamble(b"tresorH2")
    own_time = reader.time()
    while reader.left():
        tresor, kinds = reader.digest(), reader.u8()
        require(1 <= kinds <= 3)
        pinned = read_head(reader) if kinds & 1 else None
        heads.append((tresor, pinned, read_head(reader) if kinds & 2 else None))
    require(all(a[0] < b[0] for a, b in zip(heads, heads[1:])))
    return own_time, heads


def read_head(reader):
    return reader.u64(), reader.digest()


def encode_heads(own_time, heads):
    """Of each tresor the pinned head and the told one; none for one that is not there."""
    rows = b""
    for tresor, pinned, told in heads:
        rows += tresor + u8((pinned is not None) + 2 * (told is not None))
        rows += b"".join(u64(head[0]) + head[1] for head in (pinned, told) if head is not None)
    return preamble(b"tresorH2") + u64(own_time) + rows


def read_kept_log(data):
    reader, entries = Reader(data), []
    reader.preamble(b"tresorL1")
    while reader.left():
        entries.append(reader.opaque32(1, 1048576))
    return entries


def encode_kept_log(entries):
    return preamble(b"tresorL1") + b"".join(opaque32(entry) for entry in entries)


# 11.1 Exports

def read_export(data):
    """The tresor, its entries, the chains by rising user, the wraps by rising user and epoch, the blobs by rising hash."""
    require(len(data) <= 1 << 28)
    reader = Reader(data)
    reader.preamble(b"tresorx1")
    tresor, entries, cards, wraps, blobs = reader.digest(), [], [], [], []
    count = reader.u32()
    require(count >= 1)
    for _ in range(count):
        entries.append(reader.opaque32(1, 1048576))
    for _ in range(reader.u32()):
        cards.append(read_chain(reader.opaque32(1, 524288)))
        require(len(cards) == 1 or cards[-2].user < cards[-1].user)
    for _ in range(reader.u32()):
        wraps.append(read_wrap(reader.opaque16(1, 65535)))
        require(wraps[-1].tresor == tresor)
        require(len(wraps) == 1 or (wraps[-2].user, wraps[-2].epoch) < (wraps[-1].user, wraps[-1].epoch))
    for _ in range(reader.u32()):
        blobs.append(reader.opaque32(1, 2 ** 28))
        require(len(blobs) == 1 or H("tresor/v1/blob-hash", blobs[-2]) < H("tresor/v1/blob-hash", blobs[-1]))
    reader.end()
    return tresor, entries, cards, wraps, blobs


def encode_export(tresor, entries, cards, wraps, blobs):
    parts = [[opaque32(entry) for entry in entries], [opaque32(encode_chain(chain)) for chain in cards]]
    parts.append([opaque16(encode_wrap(w.tresor, w.epoch, w.user, w.generation, w.enc, w.ct)) for w in wraps])
    parts.append([opaque32(blob) for blob in blobs])
    return preamble(b"tresorx1") + tresor + b"".join(u32(len(part)) + b"".join(part) for part in parts)


def read_evidence(data):
    reader = Reader(data)
    reader.preamble(b"tresorV1")
    evidence = (reader.digest(), reader.u64(), reader.digest(), reader.opaque32(0, 1048576), reader.opaque32(0, 1048576))
    reader.end()
    return evidence


def encode_evidence(tresor, sequence, hash_, verified, shown):
    return preamble(b"tresorV1") + tresor + u64(sequence) + hash_ + opaque32(verified) + opaque32(shown)


def evidence_name(data):
    return H("tresor/v1/evidence-hash", data)
