# SPDX-License-Identifier: Apache-2.0
"""The libraries that requirements.txt names. MISSING says why they are not there; then only --tables works."""

try:
    import cryptography
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives import hashes, hpke as library_hpke, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
    import nacl.bindings
    import nacl.exceptions
    XWING_SUITE = library_hpke.Suite(library_hpke.KEM.MLKEM768_X25519, library_hpke.KDF.HKDF_SHA256, library_hpke.AEAD.CHACHA20_POLY1305)
    MISSING = None
except (ImportError, AttributeError) as missing:
    MISSING = missing
    cryptography = x509 = InvalidSignature = InvalidTag = hashes = library_hpke = serialization = ec = Ed25519PrivateKey = None
    Ed25519PublicKey = MLKEM768PrivateKey = X25519PrivateKey = X25519PublicKey = ChaCha20Poly1305 = Argon2id = nacl = XWING_SUITE = None
