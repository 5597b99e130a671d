# SPDX-License-Identifier: Apache-2.0
"""The operations of identity.json."""
from verify.sections.conventions import H, Refused, note, require, u32
from verify.sections.encoding import Reader
from verify.sections.identity import Keys, compare_number, number, read_chain
from verify.sections.pins import counting, encode_pins, founder_trust, give_up, put_pin, read_pins, trust
from verify.sections.identity_file import read_identity_file
from verify.sections.fold import fold
from verify.sections.heads import encode_heads, read_head, read_heads
from verify.sections.own_tresors import known_news, read_statement, take_heads, take_known
from verify.operations.operation import number_in, operation


def trace_keys(keys, trace):
    note(trace, S=keys.seed, signing_key=keys.signing_key, kem_key=keys.kem_key)
    trace["identity-sign"], trace["identity-kem"] = keys.sign_seed, keys.kem_seed
    trace["identity-previous"], trace["identity-file"] = keys.previous_key, keys.tag_key


@operation("readChain")
def test_read_chain(i, trace):
    chain = read_chain(i["chain"])
    newest = chain.newest
    note(trace, body=newest.body, card=newest.bytes, number_hash=H("tresor/v1/number", chain.user + newest.hash))
    if "S" in trace:
        keys = Keys(trace["S"])
        trace_keys(keys, trace)
        assert (keys.signing_key, keys.kem_key) == (newest.signing_key, newest.kem_key), "S is not the seed of this card"
    digits = number(chain).replace(" ", "").encode()
    return {"user": chain.user, "handle": chain.handle, "generation": u32(newest.generation), "card hash": newest.hash, "number": digits}


@operation("compareNumber")
def test_compare_number(i, trace):
    chain = read_chain(i["chain"])
    try:
        compare_number(chain, i["typed"].decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("usage") from None
    return {"number": number(chain).replace(" ", "").encode()}


@operation("trust")
def test_trust(i, trace):
    own = read_identity_file(i["identity file"]).chain if "identity file" in i else None
    result = trust(own, counting(read_pins(i["pins"]), own), read_chain(i["chain"]))
    require(result in ("me", "verified"), "unverified")
    return {"trust": result.encode()}


@operation("founderTrust")
def test_founder_trust(i, trace):
    state = fold(i["tresor"], i["log"])
    own = read_identity_file(i["identity file"]).chain
    return {"trust": founder_trust(own, counting(read_pins(i["pins"]), own), state).encode()}


@operation("pin")
def test_pin(i, trace):
    pins = put_pin(read_pins(i["pins"]), read_chain(i["chain"]), i["replacing"] == b"\1", i.get("beside") == b"\1", number_in(i["now"]))
    return {"pins": encode_pins(pins)}


@operation("takeKnown")
def test_take_known(i, trace):
    statements = [read_statement(user, content) for user, content in zip(i["users"], i["contents"])]
    pins, conflicts, ended = take_known(read_pins(i["pins"]), statements, read_chain(i["chain"]), number_in(i["now"]))
    return {"pins": encode_pins(pins), "conflicts": conflicts, "ended": ended,
            "news": [pin.chain.user for pin in known_news(pins, statements)]}


@operation("takeHeads")
def test_take_heads(i, trace):
    statements = []
    for tresor, content in zip(i["tresors"], i["contents"]):
        reader = Reader(content)
        statements.append((tresor, read_head(reader)))
        reader.end()
    own_time, heads = read_heads(i["heads"])
    return {"heads": encode_heads(own_time, take_heads(heads, statements))}


@operation("giveUp")
def test_give_up(i, trace):
    return {"pins": encode_pins(give_up(read_pins(i["pins"]), i["user"], number_in(i["now"])))}
