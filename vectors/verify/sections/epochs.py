# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.5, §9.6: epochs and wraps. epoch.json, wrap.json."""
from verify.sections.conventions import H, Refused, equal, note, require, u32, u64, u8, use
from verify.sections.encoding import Reader, opaque16
from verify.sections.suite import hpke_unwrap, hpke_wrap
from verify.sections.tc1 import tc1_open, tc1_seal


# 9.5 Epochs

def commitments(tresor, TK, HK):
    return H("tresor/v1/commit-tk", tresor + TK), None if HK is None else H("tresor/v1/commit-hk", tresor + HK)


def check_keys(tresor, epoch, TK, HK):
    """`epoch` is the state's Epoch."""
    content, history = commitments(tresor, TK, HK)
    require(equal(content, epoch.content_commitment))
    require(HK is None or equal(history, epoch.history_commitment))


def back_link_context(tresor, epoch):
    return tresor + u64(epoch)


def open_back_link(tresor, epochs, number_, HK, trace=None):
    """`epochs`: number → Epoch, of the state. The list of (epoch, TK, HK)."""
    epoch, context = epochs[number_], back_link_context(tresor, number_)
    plaintext = tc1_open(HK, "tresor/v1/backlink-seal", context, epoch.back_link, trace)
    note(trace, context=context, plaintext=plaintext)
    require(len(plaintext) % 72 == 0)                                                               # 2
    links = []
    for i in range(0, len(plaintext), 72):
        links.append((int.from_bytes(plaintext[i:i + 8], "big"), plaintext[i + 8:i + 40], plaintext[i + 40:i + 72]))
    numbers = [number_] + [link[0] for link in links]                                               # 3
    require(0 not in numbers and all(a > b for a, b in zip(numbers, numbers[1:])))
    held = []                                                                                       # 4
    for link in links:
        try:
            require(link[0] in epochs)
            check_keys(tresor, epochs[link[0]], link[1], link[2])
        except Refused:
            if not held:
                raise
            break                                           # nothing behind a link that does not hold is believed
        held.append(link)
    return held


def seal_back_link(tresor, number_, HK, links, salt=None):
    plaintext = b"".join(u64(e) + TK + HK_ for e, TK, HK_ in links)
    return tc1_seal(HK, "tresor/v1/backlink-seal", back_link_context(tresor, number_), plaintext, salt)


# 9.6 Wraps

class Wrap:
    pass


def read_wrap(data):
    wrap, reader = Wrap(), Reader(data)
    reader.magic(b"tresorW1")
    reader.suite()
    wrap.tresor, wrap.epoch, wrap.user, wrap.generation = reader.digest(), reader.u64(), reader.digest(), reader.u32()
    wrap.enc, wrap.ct = reader.take(1120), reader.opaque16(0, 152)
    require(len(wrap.ct) in (48, 80, 120, 152))
    reader.end()
    return wrap


def encode_wrap(tresor, epoch, user, generation, enc, ct):
    return b"tresorW1" + u8(1) + tresor + u64(epoch) + user + u32(generation) + enc + opaque16(ct)


def wrap_info(tresor, epoch, user, card):
    return use("tresor/v1/epoch-wrap", "wrap") + tresor + u64(epoch) + user + card.hash


def fitting_wrap(data, tresor, epoch, chain, identity):
    """Steps 1 to 4 of openWrap: the wrap and the card it is made for."""
    wrap = read_wrap(data)
    require(wrap.tresor == tresor and wrap.epoch == epoch.number and wrap.user == identity.user)
    card = chain.card(wrap.generation)
    require(card is not None)
    require(wrap.generation < len(identity.keys), "no_access")
    return wrap, card


def open_wrap(data, tresor, epoch, chain, history, identity, trace=None):
    """`epoch` is the state's Epoch, `chain` the state's chain of me, `history` mine. The keys (TK, HK or none)."""
    wrap, card = fitting_wrap(data, tresor, epoch, chain, identity)
    require(len(wrap.ct) in (48, 80))
    info = wrap_info(tresor, epoch.number, wrap.user, card)
    note(trace, info=info, enc=wrap.enc, ct=wrap.ct)
    plaintext = hpke_unwrap(identity.keys[wrap.generation].kem_seed, info, wrap.enc, wrap.ct, trace)
    TK, HK = plaintext[:32], plaintext[32:] or None
    require((HK is not None) == (history == 0))
    check_keys(tresor, epoch, TK, HK)
    return TK, HK


def make_wrap(tresor, epoch, user, card, plaintext, eseed=None):
    enc, ct = hpke_wrap(card.kem_key, wrap_info(tresor, epoch, user, card), plaintext, eseed)
    return encode_wrap(tresor, epoch, user, card.generation, enc, ct)
