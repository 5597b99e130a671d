# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.1, §9.2: entries and their bodies. log.json."""
from verify.sections.conventions import H, note, require, u16, u32, u64, u8
from verify.sections.encoding import Reader, check_name, opaque16, opaque32, preamble
from verify.sections.tc1 import tc1_open, tc1_opened_size, tc1_seal
from verify.sections.identity import encode_card, encode_chain, read_card, read_chain


# 9.1 Entries, ids, hashes; 9.2 Bodies

GENESIS, GRANT, APPROVE, REFUSE, REMOVE, LEAVE, RENEW, EPOCH, ROLE, RENAME, APPROVERS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13
ADDITIVE = 128                                                                                      # from there on
COMMIT, CHECKPOINT = 128, 129
OWNER, WRITER, READER = 1, 2, 3


class Entry:
    pass


class Epoch:
    def __init__(self, number_, content_commitment, history_commitment, back_link, sequence=None):
        self.number, self.content_commitment, self.history_commitment = number_, content_commitment, history_commitment
        self.back_link, self.sequence = back_link, sequence

    def encode(self):
        return u64(self.number) + self.content_commitment + self.history_commitment + opaque32(self.back_link)


def read_epoch(reader):
    epoch = Epoch(reader.u64(), reader.digest(), reader.digest(), reader.opaque32(0, 295048))
    if epoch.back_link:
        size = tc1_opened_size(len(epoch.back_link))
        require(size % 72 == 0 and size // 72 <= 4096)
    return epoch


def read_root(reader):
    root, start = Entry(), reader.at
    reader.suite()
    root.founder, root.card_hash, root.random = reader.digest(), reader.digest(), reader.digest()
    root.bytes = reader.data[start:reader.at]
    return root


def read_user(reader):
    require(reader.u8() == 1, "unsupported")
    return reader.digest()


def read_user_chain(reader):
    require(reader.u8() == 1, "unsupported")
    return read_chain(reader.opaque32(1, 524288))


def read_approver(reader):
    require(reader.u8() == 3, "unsupported")
    return read_chain(reader.opaque32(1, 524288))


def encode_approvers(chains):
    return u16(len(chains)) + b"".join(u8(3) + opaque32(encode_chain(chain)) for chain in chains)


def read_role(reader):
    role = reader.u8()
    require(role in (OWNER, WRITER, READER))
    return role


def read_count(reader):
    n = reader.u16()
    require(n <= 10000)
    return n


def read_people(reader, read_one):
    return [read_one(reader) for _ in range(read_count(reader))]


def encode_people(encoded):
    return u16(len(encoded)) + b"".join(u8(1) + one for one in encoded)


def read_genesis(body, reader):
    body.root = read_root(reader)
    body.chain = read_chain(reader.opaque32(1, 524288))
    body.approvers = read_people(reader, read_approver)
    body.name = reader.take(588)
    body.epoch = read_epoch(reader)


def encode_genesis(body):
    root = u8(1) + body.root.founder + body.root.card_hash + body.root.random
    return root + opaque32(encode_chain(body.chain)) + encode_approvers(body.approvers) + body.name + body.epoch.encode()


def read_grant(body, reader):
    body.people = read_people(reader, read_user_chain)
    body.role, body.not_after, body.from_now = read_role(reader), reader.time(), reader.mark()
    if body.from_now:
        body.epoch = read_epoch(reader)
        body.name = reader.take(588)


def encode_grant(body):
    people = encode_people([opaque32(encode_chain(chain)) for chain in body.people])
    tail = body.epoch.encode() + body.name if body.from_now else b""
    return people + u8(body.role) + u64(body.not_after) + u8(body.from_now) + tail


class Release:
    def __init__(self, user, generation, enc, ct):
        self.user, self.generation, self.enc, self.ct = user, generation, enc, ct

    def encode(self):
        return u8(1) + self.user + u32(self.generation) + self.enc + opaque16(self.ct)


def read_release(reader):
    return Release(read_user(reader), reader.u32(), reader.take(1120), reader.opaque16(48, 65535))


def read_approve(body, reader):
    body.grant, body.approved_epoch = reader.digest(), reader.u64()
    body.releases = read_people(reader, read_release)


def encode_approve(body):
    return body.grant + u64(body.approved_epoch) + u16(len(body.releases)) + b"".join(release.encode() for release in body.releases)


def read_refuse(body, reader):
    body.grant = reader.digest()


def read_approvers(body, reader):
    body.approvers = read_people(reader, read_approver)


def read_remove(body, reader):
    body.users = read_people(reader, read_user)
    body.epoch = read_epoch(reader)


def read_renew(body, reader):
    one = Reader(reader.opaque32(1, 524288))
    body.card = read_card(one)
    one.end()


def read_epoch_body(body, reader):
    body.epoch = read_epoch(reader)


def read_role_body(body, reader):
    body.user, body.role, body.not_after = read_user(reader), read_role(reader), reader.time()


def read_rename(body, reader):
    body.name = reader.take(588)


def read_additive(body, reader):
    body.additive = reader.take(reader.left())


def read_blobs(reader):
    n = reader.u16()
    require(reader.left() >= 40 * n)
    return [(reader.digest(), reader.u64()) for _ in range(n)]


def read_commit(data):
    body, reader = Entry(), Reader(data)
    body.epoch, body.blobs = reader.u64(), read_blobs(reader)
    reader.end()
    return body


def read_checkpoint(data):
    body, reader = Entry(), Reader(data)
    body.upto, body.epoch, body.blobs = reader.u64(), reader.u64(), read_blobs(reader)
    reader.end()
    return body


def by_owner(state, entry, author):
    return author is not None and author.role == OWNER


class Kind:
    """A type of body: how its fields are read and written, and who may write it (R15: the last column of §9.2). The author is none for
    who is no member, or waits."""
    def __init__(self, read, encode, permits=by_owner):
        self.read, self.encode, self.permits = read, encode, permits


KINDS = {
    GENESIS: Kind(read_genesis, encode_genesis),
    GRANT: Kind(read_grant, encode_grant),
    APPROVE: Kind(read_approve, encode_approve, lambda state, entry, author: entry.author in state.approvers),
    REFUSE: Kind(read_refuse, lambda body: body.grant, lambda state, entry, author: entry.author in state.approvers),
    REMOVE: Kind(read_remove, lambda body: encode_people(body.users) + body.epoch.encode()),
    LEAVE: Kind(lambda body, reader: None, lambda body: b"", lambda state, entry, author: True),
    RENEW: Kind(read_renew, lambda body: opaque32(encode_card(body.card)),
                lambda state, entry, author: by_owner(state, entry, author) or entry.body.card.user == entry.author),
    EPOCH: Kind(read_epoch_body, lambda body: body.epoch.encode(),
                lambda state, entry, author: author.role == OWNER
                or (state.rekey_pending and author.role == WRITER and author.history == 0)),
    ROLE: Kind(read_role_body, lambda body: u8(1) + body.user + u8(body.role) + u64(body.not_after)),
    RENAME: Kind(read_rename, lambda body: body.name),
    APPROVERS: Kind(read_approvers, lambda body: encode_approvers(body.approvers)),
    ADDITIVE: Kind(read_additive, lambda body: body.additive, lambda state, entry, author: author.role in (OWNER, WRITER)),
}


def kind_of(type_):
    return KINDS.get(min(type_, ADDITIVE))


def read_body(type_, data):
    body, reader = Entry(), Reader(data)
    body.epoch = body.name = None
    kind = kind_of(type_)                                                                           # 1
    require(kind is not None, "unsupported")                                                        # 2
    kind.read(body, reader)                                                                         # 3
    reader.end()
    return body


def encode_body(type_, body):
    return kind_of(type_).encode(body)


def read_entry(data):
    """The body stays a vector of bytes: §9.3 says when it is read."""
    require(len(data) <= 1048576)
    entry, reader = Entry(), Reader(data)
    reader.preamble(b"tresorE1")
    entry.tresor, entry.sequence, entry.previous = reader.digest(), reader.u64(), reader.digest()
    entry.author, entry.generation, entry.time = reader.digest(), reader.u32(), reader.time()
    entry.type = reader.u16()
    entry.body_bytes, entry.body = reader.opaque32(0, 1048576), None
    entry.signed = reader.data[:reader.at]
    entry.signature = reader.take(64)
    reader.end()
    entry.bytes = bytes(data)
    entry.hash = H("tresor/v1/entry-hash", entry.bytes)
    return entry


def tresor_id(root_bytes):
    return H("tresor/v1/tresor-id", root_bytes)


def sealed_name_context(tresor, epoch, sequence):
    return tresor + u64(epoch) + u64(sequence)


def padded_name(data):
    return u16(len(data)) + data + bytes(256 - len(data))


def seal_name(TK, tresor, epoch, sequence, name, kind, salt=None):
    return tc1_seal(TK, "tresor/v1/name-seal", sealed_name_context(tresor, epoch, sequence), padded_name(name) + padded_name(kind), salt)


def open_name(TK, tresor, epoch, sequence, sealed, trace=None):
    require(len(sealed) == 588)
    context = sealed_name_context(tresor, epoch, sequence)
    plaintext = tc1_open(TK, "tresor/v1/name-seal", context, sealed, trace)
    note(trace, context=context, plaintext=plaintext)
    reader, parts = Reader(plaintext), []
    for _ in range(2):
        length = reader.u16()
        require(length <= 256)
        parts.append(reader.take(length))
        check_name(parts[-1])
        require(not any(reader.take(256 - length)))
    require(parts[0] != b"")
    return tuple(parts)


LEAST_BLOB, GREATEST_PACK, GREATEST_BLOB = 674, 1081762, 2 ** 40


def encode_entry(entry):
    signed = preamble(b"tresorE1") + entry.tresor + u64(entry.sequence) + entry.previous + entry.author + u32(entry.generation)
    return signed + u64(entry.time) + u16(entry.type) + opaque32(entry.body_bytes) + entry.signature
