// SPDX-License-Identifier: Apache-2.0
// The modules of the C libraries leave this header out.
#include <sys/xattr.h>
