// SPDX-License-Identifier: Apache-2.0

#if Server
    // What people may do.
#endif
