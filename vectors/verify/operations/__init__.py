# SPDX-License-Identifier: Apache-2.0
"""The operations of the vectors, a file for each subject. Importing a file registers its operations."""
from verify.operations import act, file, identity, labels, log, opaque, records, service, slots, tc1, text, wrap
