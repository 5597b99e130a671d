# SPDX-License-Identifier: Apache-2.0
"""SPEC §12, §16: errors and labels. labels.json."""

EXIT_CODES = {"failed": 1, "not_found": 10, "busy": 11, "wrong_password": 12, "no_access": 13, "altered": 14, "forked": 15,
              "unverified": 16, "waiting": 17, "store": 18, "unsupported": 19, "usage": 64, "interrupted": 130}

# 16.1 Labels: use and bytes of output (none: the size follows from the input).

REGISTRY = {
    b"tresor/v1/" + name.encode(): (how, size) for name, how, size in [
        ("seal", "derive", 64), ("derive", "derive", 32), ("user-id", "hash", 32), ("card-hash", "hash", 32), ("card-signature", "sign", 64),
        ("card-succession", "sign", 64), ("number", "hash", 32), ("identity-sign", "derive", 32), ("identity-kem", "derive", 32),
        ("identity-previous", "derive", 32), ("identity-file", "derive", 32), ("identity-tag", "derive", 32), ("previous-seal", "seal", 104),
        ("home-key", "derive", 32), ("names-seal", "seal", None), ("marks-seal", "seal", None), ("outbox-seal", "seal", None),
        ("home-cache", "derive", 32), ("state-tag", "derive", 32),
        ("slot-seal", "seal", 104), ("slot-device", "derive", 32), ("slot-login", "derive", 32), ("kit-slot", "derive", 32), ("kit-locator", "derive", 32),
        ("device-code", "hash", 32), ("device-locator", "derive", 32), ("device-tag", "derive", 32), ("device-wrap", "wrap", None),
        ("device-answer", "derive", 32), ("device-number", "derive", 32), ("device-receipt", "derive", 32),
        ("tresor-id", "hash", 32), ("entry-hash", "hash", 32), ("entry-signature", "sign", 64), ("name-seal", "seal", 588),
        ("commit-tk", "hash", 32), ("commit-hk", "hash", 32), ("backlink-seal", "seal", None), ("epoch-wrap", "wrap", None),
        ("approval-key", "derive", 32), ("approval-member", "derive", 32), ("approval-seal", "seal", None), ("approval-wrap", "wrap", None),
        ("approval-release", "wrap", None),
        ("evidence-hash", "hash", 32), ("file-seal", "seal", None), ("file-signature", "sign", 64), ("content-hash", "hash", 64),
        ("content-part", "hash", 32), ("blob-hash", "hash", 32), ("volume-key", "derive", 32), ("volume-seal", "seal", None),
        ("server-id", "hash", 32), ("audience", "hash", 32), ("session-signature", "sign", 64), ("session-hash", "hash", 32),
        ("device-sign", "derive", 32), ("request-body", "hash", 32), ("request-signature", "sign", 64), ("login-signature", "sign", 64),
        ("login-record", "hash", 32), ("login-copy", "hash", 32), ("invitation", "hash", 32)]}
