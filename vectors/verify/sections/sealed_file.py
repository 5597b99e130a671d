# SPDX-License-Identifier: Apache-2.0
"""SPEC §10: the sealed file. file.json, testkit/."""
from verify.sections.conventions import Refused, blake2b, note, require, u32, u64, u8, use
from verify.sections.encoding import FILE_ARMOUR, Reader, dearmour, is_armour, opaque16, preamble
from verify.sections.suite import sign, verify_label
from verify.sections.tc1 import MOST, tc1_open, tc1_opened_size, tc1_seal
from verify.sections.bodies import OWNER, READER, WRITER
from verify.sections.fold import GRANTED, LEFT, REFUSED, REMOVED


class Header:
    pass


def read_header(reader):
    header, start = Header(), reader.at
    reader.preamble(b"tresorF1")
    header.tresor, header.epoch, header.head_sequence, header.head_hash = reader.digest(), reader.u64(), reader.u64(), reader.digest()
    header.bytes = reader.data[start:reader.at]
    return header


def encode_header(tresor, epoch, head_sequence, head_hash):
    return preamble(b"tresorF1") + tresor + u64(epoch) + u64(head_sequence) + head_hash


class Statement:
    """Who says it: header, author, generation, time, signature, and the Fields that are signed."""


def read_fields(reader):
    fields, start = Statement(), reader.at
    fields.author, fields.generation, fields.time = reader.digest(), reader.u32(), reader.time()
    fields.type, fields.record = reader.name(), reader.name()
    fields.origin = None
    if reader.mark():
        origin = Statement()
        try:
            origin.header = read_header(reader)
        except Refused:
            raise Refused("altered") from None
        origin.author, origin.generation, origin.time, origin.signature = reader.digest(), reader.u32(), reader.time(), reader.take(64)
        origin.fields = encode_fields(origin.author, origin.generation, origin.time, fields.type, fields.record)
        fields.origin = origin
    fields.fields = reader.data[start:reader.at]
    return fields


def encode_fields(author, generation, time_, type_, record, origin=None):
    fields = author + u32(generation) + u64(time_) + opaque16(type_) + opaque16(record)
    if origin is None:
        return fields + u8(0)
    return fields + u8(1) + encode_origin(*origin)


def encode_origin(header, author, generation, time_, signature):
    return header + author + u32(generation) + u64(time_) + signature


# 10.3 Padding

def padded_size(unpadded):
    size = max(unpadded, 512)
    E = size.bit_length() - 1
    S = E.bit_length()
    m = 2 ** (E - S) - 1
    return (size + m) & ~m


# 10.4 Signature and sealing

def content_hash(content, trace=None):
    parts = [content[i:i + 65536] for i in range(0, len(content), 65536)]
    d = [blake2b(use("tresor/v1/content-part", "hash") + u64(i) + part) for i, part in enumerate(parts)]
    D = blake2b(use("tresor/v1/content-hash", "hash") + u64(len(content)) + b"".join(d), 64)
    note(trace, d=d, D=D)
    return D


def seal_payload(keys, TK, header, fields, content, salt=None):
    signature = sign(keys.sign_seed, "tresor/v1/file-signature", header + fields + content_hash(content))
    size = padded_size(len(fields) + len(content) + 72)
    padding = bytes(size - len(fields) - len(content) - 72)
    payload = fields + content + padding + u64(len(content)) + signature
    return header + tc1_seal(TK, "tresor/v1/file-seal", header, payload, salt)


# 10.5 Reading

def open_file(data, state_of, keys, expected=None, trace=None, member=None, admitted=None, believed=None, compared=None):
    """`state_of(tresor)` is step 3, `member()` the membership of step 4, `admitted(header)` is step 5, `keys(epoch)` is step 6 and gives
    TK, `believed(statement)` is step 14a, `compared(user)` the chain that step 16 asks for. The content, the Fields and the state."""
    expected = expected or {}
    if is_armour(data):                                                                             # 1
        data = dearmour(data, FILE_ARMOUR)
    header = read_header(Reader(data[:90]))
    require(len(data) <= MOST and tc1_opened_size(len(data) - 90) >= 512)                           # 2
    state = state_of(header.tresor)                                                                 # 3
    if member is not None:                                                                          # 4
        member()
    if header.head_sequence > state.sequence:
        raise Refused("store" if header.epoch >= state.epoch else "altered")
    require(header.epoch <= state.epoch, "no_access")
    if admitted is not None:                                                                        # 5
        admitted(header)
    require(header.epoch >= 1, "no_access")                                                         # 6, keysOf step 1
    TK = keys(header.epoch)
    payload = tc1_open(TK, "tresor/v1/file-seal", header.bytes, data[90:], trace)                   # 7
    reader = Reader(payload)                                                                        # 8
    fields = read_fields(reader)
    fields.header = header
    require(reader.left() >= 72)
    length, fields.signature = int.from_bytes(payload[-72:-64], "big"), payload[-64:]
    padding_size = reader.left() - 72 - length
    require(padding_size >= 0)
    content = reader.take(length)
    require(len(payload) == padded_size(len(fields.fields) + length + 72))
    require(not any(payload[reader.at:-72]))
    D = content_hash(content, trace)
    note(trace, header=header.bytes, fields=fields.fields, M=header.bytes + fields.fields + D, signature=fields.signature,
         padding_size=u64(padding_size))
    judge_statement(state, fields, D)
    if fields.origin is not None:                                                                   # 14
        require(fields.origin.header.tresor == header.tresor and fields.origin.header.head_sequence <= header.head_sequence)
        judge_statement(state, fields.origin, D)
    if believed is not None:                                                                        # 14a
        believed(fields)
        if fields.origin is not None:
            believed(fields.origin)
    first = fields.origin or fields
    require("tresor" not in expected or expected["tresor"] == header.tresor)                        # 15
    require("record" not in expected or expected["record"] == fields.record)
    require("author" not in expected or expected["author"] == first.author)
    require(not fields.type.startswith(b"tresor/"), "usage")
    if expected.get("current"):                                                                     # 16
        chain = None if compared is None else compared(first.author)
        require(standing(state, first.author, first.generation, first.header.head_sequence, chain)[0] == "current", "no_access")
    return content, fields, state


def judge_statement(state, said, D):
    """§10.5 steps 9 to 13."""
    header = said.header
    card = state.card(said.author, said.generation)
    require(card is not None, "no_access")                                                          # 9
    verify_label(card.signing_key, "tresor/v1/file-signature", header.bytes + said.fields + D, said.signature)   # 10
    if not state.contains(header.head_sequence, header.head_hash):                                  # 11
        raise Refused("forked" if state.ever_wrote(said.author) else "no_access")
    at = header.head_sequence
    require(state.generation_at(said.author, at) == said.generation, "no_access")                   # 12
    require(state.role_at(said.author, at) in (OWNER, WRITER), "no_access")
    require(not state.rekey_pending_at(at), "no_access")
    not_after = state.change_at(said.author, at).not_after
    require(not_after == 0 or not_after >= said.time, "no_access")
    require(state.epoch_at(at) == header.epoch)                                                     # 13


# 10.6 Author status

def compared_chain(own, pins, user):
    """What this home has compared of somebody, or none."""
    if own is not None and own.user == user:
        return own
    return next((pin.chain for pin in pins if pin.chain.user == user and not pin.replaced), None)


def ends_writing(change):
    return change.change in (REMOVED, LEFT) or change.role == READER


def standing(state, user, generation, h, compared=None):
    """("current",) or ("former", why, when). `h` is the head's sequence, `compared` the chain this home has compared of the user."""
    changes = [change for change in state.changes[user] if change.change not in (GRANTED, REFUSED)]
    ending = [i for i, change in enumerate(changes) if ends_writing(change)]
    if ending:
        last = changes[ending[-1]]
        why = "role changed" if last.role == READER else last.change
        if last is changes[-1] or changes[ending[-1] + 1].sequence > h:
            return "former", why, last.time
    newest = state.chains[user].newest.generation
    if newest != generation:
        return "former", "key renewed", next(when for _, when, g in state.generations[user] if g == newest)
    if compared is not None and compared.newest.generation > generation:
        return "former", "key renewed", compared.card(generation + 1).time
    return ("current",)
