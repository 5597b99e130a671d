# SPDX-License-Identifier: Apache-2.0
"""SPEC §7 to §7.4: keys, cards, chains, safety numbers. identity.json."""
import hashlib
import re

from verify.sections.conventions import H, ZERO, equal, require, u32, u64
from verify.sections.encoding import Reader, opaque16, preamble
from verify.sections.suite import check_kem_key, ed25519_public, sign, verify_label, xwing_public
from verify.sections.tc1 import derive


class Keys:
    """What one seed S_g gives."""

    def __init__(self, seed):
        self.seed = seed
        self.sign_seed = derive(seed, "tresor/v1/identity-sign")
        self.kem_seed = derive(seed, "tresor/v1/identity-kem")
        self.previous_key = derive(seed, "tresor/v1/identity-previous")
        self.tag_key = derive(seed, "tresor/v1/identity-file")
        self.home_key = derive(seed, "tresor/v1/home-key")
        self.state_key = derive(seed, "tresor/v1/home-cache")
        self.signing_key = ed25519_public(self.sign_seed)
        self.kem_key = xwing_public(self.kem_seed)


# 7.1 Card

class Card:
    pass


def read_card(reader):
    card, start = Card(), reader.at
    reader.preamble(b"tresorC1")
    card.handle = reader.name(1)
    card.generation = reader.u32()
    card.user, card.previous = reader.digest(), reader.digest()
    card.signing_key, card.kem_key = reader.digest(), reader.take(1216)
    card.time = reader.time()
    card.body = reader.data[start:reader.at]
    first = card.generation == 0
    require(card.generation <= 255 and first == (card.user == ZERO) and first == (card.previous == ZERO))
    card.self_signature = reader.take(64)
    card.succession = b"" if first else reader.take(64)
    card.bytes = reader.data[start:reader.at]
    card.hash = H("tresor/v1/card-hash", card.bytes)
    verify_label(card.signing_key, "tresor/v1/card-signature", card.body, card.self_signature)
    check_kem_key(card.kem_key)
    return card


def make_card(keys, handle, generation, user, previous, time_, predecessor=None):
    body = preamble(b"tresorC1") + opaque16(handle) + u32(generation) + user + previous + keys.signing_key + keys.kem_key + u64(time_)
    card = body + sign(keys.sign_seed, "tresor/v1/card-signature", body)
    return card + (sign(predecessor.sign_seed, "tresor/v1/card-succession", body) if predecessor else b"")


# 7.2, 7.3 User id, chain

class Chain:
    def __init__(self, cards):
        self.cards = cards
        self.user = H("tresor/v1/user-id", cards[0].bytes)
        self.bytes = b"".join(card.bytes for card in cards)
        self.newest = cards[-1]
        self.handle = cards[0].handle

    def extends(self, other):
        return self.user == other.user and [c.bytes for c in self.cards[:len(other.cards)]] == [c.bytes for c in other.cards]

    def card(self, generation):
        return self.cards[generation] if generation < len(self.cards) else None


CHAINS = {}


def read_chain(data):
    key = hashlib.sha256(data).digest()
    if key not in CHAINS:
        CHAINS[key] = parse_chain(data)
    return CHAINS[key]


def parse_chain(data):
    require(len(data) <= 524288)
    reader = Reader(data)
    cards = [read_card(reader)]
    require(cards[0].generation == 0)
    user = H("tresor/v1/user-id", cards[0].bytes)
    while reader.left():
        card = read_card(reader)
        check_succeeds(card, cards[-1], user)
        cards.append(card)
    return Chain(cards)


def check_succeeds(card, before, user):
    require(card.generation == before.generation + 1 and card.previous == before.hash and card.user == user and card.handle == before.handle)
    verify_label(before.signing_key, "tresor/v1/card-succession", card.body, card.succession)


# 7.4 Number

def thirty_digits(hash_):
    return format(int.from_bytes(hash_, "big") % 10 ** 30, "030d")


def number(chain):
    digits = thirty_digits(H("tresor/v1/number", chain.user + chain.newest.hash))
    return " ".join(digits[i:i + 5] for i in range(0, 30, 5))


def read_number(typed):
    digits = typed.replace(" ", "")
    require(re.fullmatch(r"[0-9]{30}", digits) is not None and digits.isascii(), "usage")
    return digits


def compare_number(chain, typed):
    require(equal(read_number(typed), number(chain).replace(" ", "")), "unverified")


def encode_card(card):
    body = preamble(b"tresorC1") + opaque16(card.handle) + u32(card.generation) + card.user + card.previous
    return body + card.signing_key + card.kem_key + u64(card.time) + card.self_signature + card.succession


def encode_chain(chain):
    return b"".join(encode_card(card) for card in chain.cards)
