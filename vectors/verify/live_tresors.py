# SPDX-License-Identifier: Apache-2.0
"""Questions of members, devices and strangers about tresors, devices and kits."""
import os
import time

from verify.sections.conventions import H, ZERO, u16, u64, u8
from verify.sections.encoding import opaque32
from verify.sections.suite import ed25519_public
from verify.sections.second_machine import encode_mailbox
from verify.sections.bodies import ADDITIVE, COMMIT, GRANT, LEAVE, READER, REMOVE, read_entry
from verify.sections.fold import fold, make_entry
from verify.sections.epochs import make_wrap
from verify.sections.keys import keys_of
from verify.sections.service import device_key_seed
from verify.sections.messages import encode_refusal
from verify.own_log import OwnLog
from verify.live_program import same
from verify.live_service import ACTIVE, Spoken, mark_of, refused


class TresorChecks:
    """Questions about tresors, devices and kits."""

    def a_tresor(self):
        anna, ask = self.anna, self.ask
        self.log = log = OwnLog(anna, self.now)
        first, wrap, id_ = log.entries[0], log.wrap(anna, 1)[1], os.urandom(16)
        for _ in range(2):
            same(ask(anna, "append", log.tresor, 0, ZERO, first, [wrap], [], id_=id_), [0], "outcome")
        refused("failed", 400, ask, anna, "append", log.tresor, 0, ZERO, first, [], [], id_=id_)
        refused("failed", 400, ask, anna, "delete-tresor", log.tresor, id_=id_)
        same(ask(anna, "append", log.tresor, 0, ZERO, first, [wrap], []), [1], "outcome")
        same(ask(anna, "entries", log.tresor, 0, 10), [0, [first]], "log")
        same(ask(anna, "entries", log.tresor, 1, 10), [0, []], "log behind its end")
        same(ask(anna, "entries", log.tresor, 2**64 - 1, 2**32 - 1), [0, []], "log far behind its end")
        same(ask(anna, "entries", log.tresor, 0, 0), [0, []], "no entries")
        same(ask(anna, "tresors", ZERO), [0, [log.tresor]], "tresors")
        same(ask(anna, "tresors", log.tresor), [0, []], "tresors after the last")
        same(ask(anna, "wraps", log.tresor, 1, 0, [anna.user]), [[[wrap]]], "wraps")
        same(ask(anna, "wraps", log.tresor, 0, 1, [self.bert.user, anna.user]), [[[], [wrap]]], "wraps")
        for epoch in (2, 2**63, 2**64 - 1):
            same(ask(anna, "wraps", log.tresor, 0, epoch, [anna.user]), [[[]]], "wraps of an epoch that has not begun")
        state, _, _, _, _, tresors, used, *limits = ask(anna, "account")
        same((state, tresors, used >= len(first) + len(wrap), all(limits)), (ACTIVE, 1, True, True), "account")

    def wrong_entries(self):
        """Each is refused, and the log stays as it is."""
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        grant = u16(1) + u8(1) + opaque32(bert.chain.bytes) + u8(READER) + u64(0) + u8(0)
        entry = lambda author, type_, body, n=1: make_entry(
            author.keys[-1], log.tresor, n, log.state.hash, author.user, 0, self.now, type_, body)
        good, wrap = entry(anna, GRANT, grant), make_wrap(log.tresor, 1, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        history = make_wrap(log.tresor, 1, bert.user, bert.chain.newest, log.keys[1][0])
        elsewhere = make_wrap(mark_of(log.tresor), 1, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        own = log.wrap(anna, 1)[1]
        for person, error, status, sequence, previous, data, wraps, removing in [
                (anna, "altered", 400, 1, log.state.hash, good, [], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap, wrap], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap, own], []),
                (anna, "altered", 400, 1, log.state.hash, good, [history], []),
                (anna, "altered", 400, 1, log.state.hash, good, [elsewhere], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap], [anna.user]),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap], [self.carl.user]),
                (anna, "altered", 400, 2, log.state.hash, good, [wrap], []),
                (anna, "altered", 400, 1, ZERO, good, [wrap], []),
                (anna, "altered", 400, 1, log.state.hash, good[:-1] + bytes([good[-1] ^ 1]), [wrap], []),
                (anna, "unsupported", 400, 1, log.state.hash, good, [wrap[:8] + b"\2" + wrap[9:]], []),
                (anna, "unsupported", 400, 1, log.state.hash, entry(anna, 11, bytes(32)), [], []),
                (anna, "no_access", 403, 1, log.state.hash, entry(bert, LEAVE, b""), [], [bert.user]),
                (bert, "no_access", 403, 1, log.state.hash, entry(bert, GRANT, grant), [wrap], []),
                (bert, "no_access", 403, 2, ZERO, make_entry(bert.keys[0], log.tresor, 2, ZERO, bert.user, 0, self.now, LEAVE, b""), [], []),
                (bert, "no_access", 403, 0, ZERO, log.entries[0], [own], [])]:
            refused(error, status, ask, person, "append", log.tresor, sequence, previous, data, wraps, removing)
        same(ask(anna, "entries", log.tresor, 0, 10), [0, log.entries], "log")

    def what_is_not_there(self):
        """What is not allowed and what is not there have the same answer, byte for byte."""
        bert, log = self.bert, self.log

        def tries(tresor):
            leave = make_entry(bert.keys[0], tresor, 1, log.state.hash, bert.user, 0, self.now, LEAVE, b"")
            for name, values in [("entries", [0, 10]), ("wraps", [1, 0, [self.anna.user]]), ("put-wraps", [[]]), ("delete-tresor", []),
                                 ("append", [1, log.state.hash, leave, [], []]), ("put-blob", [ZERO, 0, b"1"]), ("blob", [ZERO, 0]),
                                 ("blobs", [[ZERO]]), ("delete-blobs", [[ZERO]])]:
                yield refused("no_access", 403, self.ask, bert, name, tresor, *values)
        same(set(tries(log.tresor)) | set(tries(mark_of(log.tresor))), {encode_refusal("no_access")}, "refusal")

    def append(self, person, wraps=(), removing=()):
        """Sends the newest entry of the log."""
        entry = read_entry(self.log.entries[-1])
        return self.ask(person, "append", self.log.tresor, entry.sequence, entry.previous, self.log.entries[-1], list(wraps), list(removing))

    def a_share(self):
        anna, bert, log = self.anna, self.bert, self.log
        self.cursor = self.ask(bert, "news", b"", 0)[1]
        log.grant(anna, self.now, [bert], READER)
        wrap = log.wrap(bert, 1)[1]
        # The new member sends what the owner wrote, and may bring no wrap.
        refused("no_access", 403, self.append, bert, [wrap])
        same(self.append(anna, [wrap]), [0], "outcome")
        more, entries = self.ask(bert, "entries", log.tresor, 0, 10)
        state = fold(log.tresor, entries)
        same((more, state.hash), (0, log.state.hash), "head")
        same(self.ask(bert, "entries", log.tresor, 0, 1), [1, entries[:1]], "first page")
        [[found]] = self.ask(bert, "wraps", log.tresor, 1, 0, [bert.user])[0]
        same(keys_of(state, bert, lambda: [(1, found)], [], 1), log.keys[1], "keys")
        same(self.append(bert), [1], "outcome for an entry that is there")

    def news(self):
        anna, bert, log = self.anna, self.bert, self.log
        same(self.ask(bert, "news", self.cursor, 55)[2], [log.tresor], "news of a share")
        more, cursor, tresors = self.ask(anna, "news", b"", 55)
        same((more, tresors), (0, []), "news of the first request")
        begin = time.monotonic()
        more, cursor, tresors = self.ask(anna, "news", cursor, 1)
        same((more, tresors, 0.9 < time.monotonic() - begin < 20), (0, [], True), "news of nothing")
        refused("altered", 400, self.ask, anna, "news", b"\xff", 1)
        refused("altered", 400, self.ask, anna, "news", cursor, 56)
        log.say(anna, self.now, ADDITIVE, b"news")
        same(self.append(anna), [0], "outcome")
        same(self.ask(anna, "news", cursor, 55)[2], [log.tresor], "news of an entry")

    def wraps(self):
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        new, old = log.wrap(bert, 1)[1], ask(anna, "wraps", log.tresor, 0, 1, [bert.user])[0][0]
        ask(anna, "put-wraps", log.tresor, [new])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old]], "wrap that stays, since its receiver may open it")
        ask(bert, "put-wraps", log.tresor, [new])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old + [new]]], "wrap of one's own beside it")
        newer = log.wrap(bert, 1)[1]
        ask(bert, "put-wraps", log.tresor, [newer])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old + [newer]]], "wrap in place of one's own")
        refused("no_access", 403, ask, bert, "put-wraps", log.tresor, [log.wrap(anna, 1)[1]])
        ask(bert, "put-wraps", log.tresor, ask(bert, "wraps", log.tresor, 0, 1, [anna.user])[0][0])
        early = make_wrap(log.tresor, 2, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        for wrong in (early, make_wrap(log.tresor, 1, self.carl.user, self.carl.chain.newest, b"".join(log.keys[1])),
                      make_wrap(log.tresor, 1, bert.user, bert.chain.newest, log.keys[1][0]), new[:-1], new + b"\0"):
            refused("altered", 400, ask, anna, "put-wraps", log.tresor, [wrong])

    def blobs(self):
        """18.7: blobs with an entry and before it; who may put, read and delete them."""
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        pack, large = os.urandom(700), os.urandom(262144 + 5)
        named = [[H("tresor/v1/blob-hash", data), len(data), data] for data in (pack, large)]
        body = u64(log.state.epoch) + u16(2) + b"".join(hash_ + u64(size) for hash_, size, _ in named)
        entries = list(log.entries)
        log.say(anna, self.now, COMMIT, body)
        entry = read_entry(log.entries[-1])
        send = lambda person, blobs: ask(person, "append", log.tresor, entry.sequence, entry.previous, log.entries[-1], [], [], blobs)
        (hash_, size, _), (large_hash, large_size, _) = named
        put_before = [large_hash, large_size, b""]
        refused("no_access", 403, send, bert, named)
        for wrong in ([named[0]], [named[1], named[0]], [[ZERO, size, pack], named[1]], [[hash_, size, pack[:-1] + b"!"], named[1]]):
            refused("altered", 400, send, anna, wrong)
        same(send(anna, [named[0], put_before]), [1], "outcome without a blob")
        refused("no_access", 403, ask, bert, "put-blob", log.tresor, large_hash, 0, large[:262144])
        ask(anna, "put-blob", log.tresor, large_hash, 0, large[:262144])
        same(send(anna, [named[0], put_before]), [1], "outcome without a part of a blob")
        same(ask(anna, "entries", log.tresor, 0, 100), [0, entries], "log")
        ask(anna, "put-blob", log.tresor, large_hash, 1, large[262144:])
        same(send(anna, [named[0], put_before]), [0], "outcome")
        same(ask(bert, "blobs", log.tresor, [large_hash, ZERO, hash_]), [[large, b"", pack]], "blobs")
        same(ask(bert, "blob", log.tresor, large_hash, 1), [large[262144:]], "part of a blob")
        same(ask(bert, "blob", log.tresor, large_hash, 2), [b""], "part behind the last")
        refused("no_access", 403, ask, bert, "delete-blobs", log.tresor, [hash_])
        refused("altered", 400, ask, anna, "delete-blobs", log.tresor, [ZERO, hash_])
        ask(anna, "put-blob", log.tresor, ZERO, 0, b"orphan")
        ask(anna, "delete-blobs", log.tresor, [ZERO])
        same(ask(anna, "blobs", log.tresor, [ZERO, hash_]), [[b"", pack]], "blobs after a deletion")
        same(ask(anna, "account")[6] >= len(pack) + len(large), True, "bytes of an account")

    def a_removal(self):
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        number_ = log.state.epoch + 1
        epoch = log.epoch_of(number_, *log.new_keys(number_), links=[(1,) + log.keys[1]])
        log.say(anna, self.now, REMOVE, u16(1) + u8(1) + bert.user + epoch)
        wrap = log.wrap(anna, number_)[1]
        refused("altered", 400, self.append, anna, [wrap])
        refused("altered", 400, self.append, anna, [], [bert.user])
        same(self.append(anna, [wrap], [bert.user]), [0], "outcome")
        same(ask(anna, "wraps", log.tresor, 1, 0, [anna.user, bert.user])[0][1], [], "wraps of a removed member")
        log.say(anna, self.now, ADDITIVE, b"later")
        same(self.append(anna), [0], "outcome")
        same(ask(bert, "entries", log.tresor, 0, 10), [0, log.entries[:-1]], "log of a removed member")
        same(ask(bert, "tresors", ZERO), [0, []], "tresors of a removed member")
        for name, values in [("wraps", [1, 0, [bert.user]]), ("put-wraps", [[]]), ("delete-tresor", []), ("put-blob", [ZERO, 0, b"1"]),
                             ("blob", [ZERO, 0]), ("blobs", [[ZERO]]), ("delete-blobs", [[ZERO]])]:
            refused("no_access", 403, ask, bert, name, log.tresor, *values)
        refused("no_access", 403, self.append, bert)

    def a_device(self):
        anna, speaks, ask = self.anna, self.speaks, self.ask
        device, other, share, T = os.urandom(16), os.urandom(16), os.urandom(32), os.urandom(32)
        for one in (device, other):
            ask(anna, "put-server-share", one, T, ed25519_public(device_key_seed(share)))
        speaks["device"], id_ = Spoken(self.place, anna, device, share), os.urandom(16)
        same(ask("device", "server-share", device, id_=id_), [T], "server share")
        refused("no_access", 403, ask, "device", "server-share", device, id_=id_)
        refused("failed", 400, ask, "device", "server-share", other, id_=id_)
        for name, values in [("server-share", [other]), ("delete-server-shares", [[other]]), ("delete-server-shares", [[]]),
                             ("tresors", [ZERO]), ("account", []), ("inbox", [ZERO]), ("put-server-share", [device, T, T])]:
            refused("no_access", 403, ask, "device", name, *values)
        refused("no_access", 401, self.wire.ask, "server-share", [device], Spoken(self.place, anna, device, os.urandom(32)))
        same(self.wire.ask("server-share", [device], Spoken(self.place, anna, device)), [T], "server share for the person")
        ask("device", "delete-server-shares", [device])
        for name, values in [("server-share", [device]), ("delete-server-shares", [[device]])]:
            refused("no_access", 401, ask, "device", name, *values)
        refused("no_access", 401, self.wire.ask, "tresors", [ZERO], Spoken(self.place, anna, device))
        ask(anna, "delete-server-shares", [])
        same(ask(anna, "server-share", other), [b""], "server share that was deleted")

    def kit_copies(self):
        anna, bert, ask, locator = self.anna, self.bert, self.ask, os.urandom(32)
        ask(anna, "put-kit-copy", locator, b"a copy")
        ask(bert, "delete-kit-copy", locator)
        refused("no_access", 403, ask, bert, "put-kit-copy", locator, b"another")
        same(self.wire.ask("kit-copy", [locator]), [b"a copy"], "kit copy")
        ask(anna, "put-kit-copy", locator, b"a newer copy")
        same(self.wire.ask("kit-copy", [locator]), [b"a newer copy"], "kit copy")
        ask(anna, "delete-kit-copy", locator)
        same(self.wire.ask("kit-copy", [locator]), [b""], "kit copy")
        offer, other = os.urandom(1266), os.urandom(1266)
        same(self.wire.ask("put-offer", [locator, offer]), [2], "offer where nothing is")
        until = int(time.time()) + 600
        ask(anna, "put-kit-copy", locator, encode_mailbox(until, []))
        for outcome, letter in (0, offer), (0, offer), (1, other):
            same(self.wire.ask("put-offer", [locator, letter]), [outcome], "outcome of an offer")
        same(self.wire.ask("kit-copy", [locator]), [encode_mailbox(until, [offer])], "mailbox")
        refused("altered", 400, ask, anna, "put-kit-copy", locator, encode_mailbox(until + 1000, []))
        ask(anna, "delete-kit-copy", locator)
        same(self.wire.ask("put-offer", [locator, offer]), [2], "offer where nothing is any more")
