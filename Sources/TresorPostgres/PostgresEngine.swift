// SPDX-License-Identifier: Apache-2.0

#if Server
    // The engine over libpq.
#endif
