# SPDX-License-Identifier: Apache-2.0
"""SPEC, a file for each part. A file imports only files whose sections it builds on, never in a circle."""
