// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Cxattr

/// Who may use a file, and what others noted at it: owner, group, mode, access list and user attributes.
package struct FileAttributes: Sendable {
    /// What a file could not be given.
    package enum Loss: Hashable, Sendable {
        case owner(UInt32)
        case group(UInt32)
        case mode
        case accessList
        case attribute(String)
    }

    private let owner: uid_t
    private let group: gid_t
    private let mode: mode_t
    private let accessLists: [String: [UInt8]]
    private let attributes: [String: [UInt8]]

    private static let accessListNames = ["system.posix_acl_access", "system.nfs4_acl"]

    /// Reads them from an open file.
    package init(of descriptor: Int32) throws(SystemError) {
        let status = try SystemCall.status(of: descriptor)
        (owner, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
        var accessLists: [String: [UInt8]] = [:]
        var attributes: [String: [UInt8]] = [:]
        for name in try ExtendedAttribute.names(of: descriptor) {
            if Self.accessListNames.contains(name) {
                accessLists[name] = try ExtendedAttribute.value(name, of: descriptor)
            } else if ExtendedAttribute.isOfUsers(name) {
                attributes[name] = try ExtendedAttribute.value(name, of: descriptor)
            }
        }
        self.accessLists = accessLists
        self.attributes = attributes
    }

    /// Gives them to another open file, and takes from it an access list that this one does not have: a new file may have
    /// that of its directory.
    ///
    /// - Returns: what this caller may not give it, or its file system does not hold.
    package func give(to descriptor: Int32) throws(SystemError) -> [Loss] {
        let status = try SystemCall.status(of: descriptor)
        var losses: [Loss] = []
        // User attributes need the right to write, and the group its present owner, so the owner comes after both.
        for (name, value) in attributes.sorted(by: { $0.key < $1.key })
        where !ExtendedAttribute.set(name, value, of: descriptor) { losses.append(.attribute(name)) }
        if status.st_gid != group, fchown(descriptor, uid_t.max, group) != 0 { losses.append(.group(group)) }
        if status.st_uid != owner, fchown(descriptor, owner, gid_t.max) != 0 { losses.append(.owner(owner)) }
        for name in Self.accessListNames {
            guard let value = accessLists[name] else {
                ExtendedAttribute.remove(name, of: descriptor)
                continue
            }
            if !ExtendedAttribute.set(name, value, of: descriptor) { losses.append(.accessList) }
        }
        if try !Self.hasNoOther(accessLists, descriptor) { losses.append(.accessList) }
        if fchmod(descriptor, mode) != 0 { losses.append(.mode) }
        return losses
    }

    /// Whether a file has no access list beside these, by which others could read it.
    private static func hasNoOther(_ lists: [String: [UInt8]], _ descriptor: Int32) throws(SystemError) -> Bool {
        try ExtendedAttribute.names(of: descriptor)
            .allSatisfy { !accessListNames.contains($0) || lists[$0] != nil }
    }
}

/// The calls for extended attributes of an open file.
private enum ExtendedAttribute {
    /// Whether users set an attribute, and not the system.
    static func isOfUsers(_ name: String) -> Bool {
        #if canImport(Darwin)
            return true
        #else
            return name.hasPrefix("user.")
        #endif
    }

    /// The names of all; none where the file system has no attributes.
    static func names(of descriptor: Int32) throws(SystemError) -> [String] {
        let names: [UInt8]
        do throws(SystemError) {
            names = try bytes { list(descriptor, $0, $1) }
        } catch {
            guard [ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
            return []
        }
        return names.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    static func value(_ name: String, of descriptor: Int32) throws(SystemError) -> [UInt8] {
        try bytes { get(descriptor, name, $0, $1) }
    }

    static func set(_ name: String, _ value: [UInt8], of descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            return fsetxattr(descriptor, name, value, value.count, 0, 0) == 0
        #else
            return fsetxattr(descriptor, name, value, value.count, 0) == 0
        #endif
    }

    static func remove(_ name: String, of descriptor: Int32) {
        #if canImport(Darwin)
            _ = fremovexattr(descriptor, name, 0)
        #else
            _ = fremovexattr(descriptor, name)
        #endif
    }

    /// Asks a call for the size of its answer, then for the answer.
    private static func bytes(_ call: (UnsafeMutableRawPointer?, Int) -> Int) throws(SystemError) -> [UInt8] {
        let size = try SystemError.retrying { call(nil, 0) }
        guard size > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = try SystemError.retrying { bytes.withUnsafeMutableBytes { call($0.baseAddress, $0.count) } }
        return Array(bytes.prefix(count))
    }

    private static func list(_ descriptor: Int32, _ memory: UnsafeMutableRawPointer?, _ size: Int) -> Int {
        let names = memory?.assumingMemoryBound(to: CChar.self)
        #if canImport(Darwin)
            return flistxattr(descriptor, names, size, 0)
        #else
            return flistxattr(descriptor, names, size)
        #endif
    }

    private static func get(
        _ descriptor: Int32, _ name: String, _ memory: UnsafeMutableRawPointer?, _ size: Int
    ) -> Int {
        #if canImport(Darwin)
            return fgetxattr(descriptor, name, memory, size, 0, 0)
        #else
            return fgetxattr(descriptor, name, memory, size)
        #endif
    }
}
