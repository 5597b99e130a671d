# SPDX-License-Identifier: Apache-2.0
"""SPEC §18.4, §18.5: the messages of each operation, and refusals. service.json."""
from verify.sections.conventions import ZERO, require, u16, u32, u64, u8
from verify.sections.encoding import Reader, opaque16, preamble
from verify.sections.registries import EXIT_CODES
from verify.sections.service import FIRST_ERA, Fields, encode_server, read_server_fields


# 18.4 Operations: whether it changes something, and its longest body

SHORT, MEDIUM, LONG = 64 << 10, 4 << 20, 16 << 20
CHANGES_AT_A_SERVICE = set("put-card append put-wraps put-blob delete-blobs put-server-share delete-server-shares put-kit-copy delete-kit-copy register "
                           "finish end-sessions admit invite delete-tresor delete-account".split())
TARGETS = {
    name.encode(): (name in CHANGES_AT_A_SERVICE, longest) for longest, names in [
        (SHORT, "server card cards users entries wraps tresors news put-server-share server-share delete-server-shares kit-copy "
                "delete-kit-copy account end-sessions inbox admit invite delete-tresor delete-account blob blobs delete-blobs "
                "put-offer login finish-login"),
        (MEDIUM, "put-card put-kit-copy register finish put-blob"), (LONG, "append put-wraps")] for name in names.split()}


# Messages: how each field is read, and how its value is written.
class Field:
    def __init__(self, read, write):
        self.read, self.write = read, write


def sized(width, least, most):
    """opaque8, opaque16 or opaque32."""
    def read(reader):
        length = reader.number(width)
        require(least <= length <= most)
        return reader.take(length)
    return Field(read, lambda value: len(value).to_bytes(width, "big") + value)


def read_login_or_none(reader):
    """opaque8 of a LoginStatement, or of none."""
    data = none_or(222).read(reader)
    return read_login_fields(Reader(data)) if data else None


def none_or(size):
    """opaque8 of one size, or of none."""
    def read(reader):
        length = reader.u8()
        require(length in (0, size))
        return reader.take(length)
    return Field(read, lambda value: u8(len(value)) + value)


def among(*values):
    def read(reader):
        value = reader.u8()
        require(value in values)
        return value
    return Field(read, u8)


def raw(size): return Field(lambda reader: reader.take(size), lambda value: value)
def integer(width): return Field(lambda reader: reader.number(width), lambda value: value.to_bytes(width, "big"))


def counted(width, element, least=0, most=None, rising=False):
    """A count and that many elements."""
    def read(reader):
        count = reader.number(width)
        require(count >= least and (most is None or count <= most) and count <= reader.left() + (count == 0))
        values = [element.read(reader) for _ in range(count)]
        require(not rising or all(a < b for a, b in zip(values, values[1:])))
        return values
    return Field(read, lambda values: len(values).to_bytes(width, "big") + b"".join(map(element.write, values)))


def several(*fields):
    """A struct."""
    return Field(lambda reader: [field.read(reader) for field in fields],
                 lambda values: b"".join(field.write(value) for field, value in zip(fields, values)))


def read_login_fields(reader):
    reader = Reader(reader.take(222))
    reader.preamble(b"tresorQ1")
    login = Fields()
    login.server, login.user, login.generation, login.revision = reader.digest(), reader.digest(), reader.u32(), reader.u64()
    login.record, login.copy, login.time = reader.digest(), reader.digest(), reader.time()
    require(login.revision > 0 and (login.record == ZERO) == (login.copy == ZERO))
    login.signature = reader.take(64)
    return login


def encode_login(login):
    head = preamble(b"tresorQ1") + login.server + login.user + u32(login.generation) + u64(login.revision)
    return head + login.record + login.copy + u64(login.time) + login.signature


def more_has_something(values):
    """A page that goes on is not empty: more is the first field, the elements are the last."""
    require(values[0] == 0 or values[-1])


def finish_is_whole(values):
    record, login, copy = values
    require((not record) == (not copy) and (not record) == (login.record == ZERO))


def record_is_of_a_statement(values):
    _, login, has_record = values[:3]
    require(not has_record or login is not None and login.record != ZERO)


def blobs_have_their_sizes(values):
    for _, size, data in values[-1]:
        require(not data or len(data) == size)


LOGIN_FIELD = Field(read_login_fields, encode_login)
LOGIN_OR_NONE = Field(read_login_or_none, lambda login: u8(222) + encode_login(login) if login else u8(0))
DIGEST, FLAG, TIME_FIELD = raw(32), among(0, 1), Field(Reader.time, u64)
CHAIN, CHAIN_OR_NONE = sized(4, 1, 524288), sized(4, 0, 524288)
COPY, COPY_OR_NONE = sized(4, 1, 1 << 20), sized(4, 0, 1 << 20)
ENTRY, NAME = sized(4, 1, 1 << 20), Field(lambda reader: reader.name(), opaque16)
WRAP, STATE_FIELD, CURSOR = sized(2, 1, 1359), among(1, 2, 3, 4), sized(1, 0, 64)
MANY_WRAPS = counted(4, WRAP, most=10000)
MANY_BLOBS = counted(4, DIGEST, least=1, most=1024)
SECONDS = Field(lambda reader: reader.u16(), u16)


def at_most(field, most):
    def read(reader):
        value = field.read(reader)
        require(value <= most)
        return value
    return Field(read, field.write)


# name: the fields, and what must hold of them together
MESSAGES = {
    "ServerRequest": ([],),
    "ServerAnswer": ([Field(read_server_fields, encode_server), among(0, 1, 2), counted(2, CHAIN)],),
    "CardRequest": ([DIGEST],),
    "ChainAnswer": ([CHAIN_OR_NONE],),
    "CardsRequest": ([sized(2, 0, 256)],),
    "ChainsAnswer": ([counted(2, CHAIN)],),
    "UsersRequest": ([sized(1, 3, 32)],),
    "UsersAnswer": ([counted(2, DIGEST, most=64, rising=True)],),
    "PutCardRequest": ([CHAIN, CHAIN_OR_NONE],),
    "OutcomeAnswer": ([FLAG],),
    "DoneAnswer": ([],),
    "EntriesRequest": ([DIGEST, integer(8), integer(4)],),
    "EntriesAnswer": ([FLAG, counted(4, ENTRY)], more_has_something),
    "AppendRequest": ([DIGEST, integer(8), DIGEST, ENTRY, MANY_WRAPS, counted(4, DIGEST, most=10000),
                       counted(2, several(DIGEST, integer(8), sized(4, 0, 1081762)), most=10000)], blobs_have_their_sizes),
    "PutBlobRequest": ([DIGEST, DIGEST, integer(4), sized(4, 1, 262144)],),
    "BlobRequest": ([DIGEST, DIGEST, integer(4)],),
    "BlobAnswer": ([sized(4, 0, 262144)],),
    "BlobsRequest": ([DIGEST, MANY_BLOBS],),
    "BlobsAnswer": ([counted(4, sized(4, 0, 4194304), least=1, most=1024)],),
    "DeleteBlobsRequest": ([DIGEST, MANY_BLOBS],),
    "WrapsRequest": ([DIGEST, FLAG, integer(8), counted(4, DIGEST, least=1, most=2000)],),
    "WrapsAnswer": ([counted(4, counted(4, WRAP), least=1)],),
    "PutWrapsRequest": ([DIGEST, MANY_WRAPS],),
    "TresorsRequest": ([DIGEST],),
    "TresorsAnswer": ([FLAG, counted(4, DIGEST, most=4096, rising=True)], more_has_something),
    "NewsRequest": ([CURSOR, at_most(SECONDS, 55)],),
    "NewsAnswer": ([FLAG, CURSOR, counted(2, DIGEST, most=4096)], more_has_something),
    "DeleteTresorRequest": ([DIGEST],),
    "PutServerShareRequest": ([raw(16), raw(32), raw(32)],),
    "ServerShareRequest": ([raw(16)],),
    "ServerShareAnswer": ([none_or(32)],),
    "DeleteServerSharesRequest": ([counted(2, raw(16))],),
    "PutKitCopyRequest": ([DIGEST, COPY],),
    "KitCopyRequest": ([DIGEST],),
    "KitCopyAnswer": ([COPY_OR_NONE],),
    "DeleteKitCopyRequest": ([DIGEST],),
    "PutOfferRequest": ([DIGEST, raw(1266)],),
    "PutOfferAnswer": ([at_most(integer(1), 2)],),
    "RegisterRequest": ([CHAIN, none_or(16), none_or(32)],),
    "RegisterAnswer": ([STATE_FIELD, none_or(32)],),
    "FinishRequest": ([none_or(192), LOGIN_FIELD, COPY_OR_NONE], finish_is_whole),
    "FinishAnswer": ([STATE_FIELD],),
    "AccountRequest": ([],),
    "AccountAnswer": ([STATE_FIELD, LOGIN_OR_NONE, FLAG, integer(8), TIME_FIELD] + [integer(8)] * 5, record_is_of_a_statement),
    "LoginRequest": ([Field(lambda reader: reader.name(1), opaque16), raw(96)],),
    "LoginAnswer": ([raw(16), raw(320)],),
    "FinishLoginRequest": ([raw(16), raw(64)],),
    "FinishLoginAnswer": ([LOGIN_FIELD, COPY],),
    "EndSessionsRequest": ([],),
    "DeleteAccountRequest": ([],),
    "InviteRequest": ([DIGEST, NAME, TIME_FIELD],),
    "InboxRequest": ([DIGEST],),
    "InboxAnswer": ([FLAG, counted(4, several(at_most(STATE_FIELD, 2), CHAIN, NAME, TIME_FIELD))], more_has_something),
    "AdmitRequest": ([DIGEST, DIGEST, FLAG],),
}


def read_message(name, data):
    fields, *rules = MESSAGES[name]
    reader = Reader(data)
    values = [field.read(reader) for field in fields]
    for rule in rules:
        rule(values)
    reader.end()
    return values


def encode_message(name, values):
    return b"".join(field.write(value) for field, value in zip(MESSAGES[name][0], values))


# 18.5 Refusals

REFUSAL_STATUS = {"no_access": 403, "waiting": 403, "busy": 429, "store": 503}
REFUSAL_CODES = ("failed", "busy", "no_access", "altered", "unverified", "waiting", "store", "unsupported")


def read_refusal(data):
    """The error and the era."""
    reader = Reader(data)
    reader.preamble(b"tresorX1")
    code, era = reader.u8(), reader.take(16)
    names = [name for name in REFUSAL_CODES if EXIT_CODES[name] == code]
    require(names)
    reader.end()
    return names[0], era


def encode_refusal(name, era=FIRST_ERA):
    return preamble(b"tresorX1") + u8(EXIT_CODES[name]) + era


def refuse(error):
    said = error if error in REFUSAL_CODES else "failed"
    return REFUSAL_STATUS.get(said, 400), encode_refusal(said)
