// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import Cxattr

/// The access to a file and its attributes: owner, group, mode, access list and user attributes.
package struct FileAttributes: Sendable {
    /// An attribute that a file could not be given.
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
    private let accessLists: [ExtendedAttribute: [UInt8]]
    private let attributes: [ExtendedAttribute: [UInt8]]

    private static let accessListNames = ["system.posix_acl_access", "system.nfs4_acl"].map {
        ExtendedAttribute(Array($0.utf8))
    }

    /// Reads them from an open file.
    package init(of descriptor: Int32) throws(SystemError) {
        let status = try SystemCall.status(of: descriptor)
        (owner, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
        var accessLists: [ExtendedAttribute: [UInt8]] = [:]
        var attributes: [ExtendedAttribute: [UInt8]] = [:]
        for attribute in try ExtendedAttribute.all(of: descriptor) {
            if Self.accessListNames.contains(attribute) {
                accessLists[attribute] = try attribute.value(of: descriptor)
            } else if attribute.isOfUsers {
                attributes[attribute] = try attribute.value(of: descriptor)
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
        for (attribute, value) in attributes.sorted(by: { $0.key.name.lexicographicallyPrecedes($1.key.name) })
        where !attribute.set(value, of: descriptor) { losses.append(.attribute(attribute.shown)) }
        if status.st_gid != group, fchown(descriptor, uid_t.max, group) != 0 { losses.append(.group(group)) }
        if status.st_uid != owner, fchown(descriptor, owner, gid_t.max) != 0 { losses.append(.owner(owner)) }
        for name in Self.accessListNames {
            guard let value = accessLists[name] else {
                name.remove(of: descriptor)
                continue
            }
            if !name.set(value, of: descriptor) { losses.append(.accessList) }
        }
        if try !Self.hasNoOther(accessLists, descriptor) { losses.append(.accessList) }
        if fchmod(descriptor, mode) != 0, try SystemCall.status(of: descriptor).st_mode & 0o777 != mode {
            losses.append(.mode)
        }
        return losses
    }

    /// Whether a file has no access list beside these, by which others could read it.
    private static func hasNoOther(_ lists: [ExtendedAttribute: [UInt8]], _ descriptor: Int32) throws(SystemError)
        -> Bool
    {
        try ExtendedAttribute.all(of: descriptor)
            .allSatisfy { !accessListNames.contains($0) || lists[$0] != nil }
    }
}

/// An extended attribute of an open file. Its name is bytes.
private struct ExtendedAttribute: Hashable, Sendable {
    let name: [UInt8]

    init(_ name: [UInt8]) { self.name = name }

    /// The name, to be shown.
    var shown: String { String(decoding: name, as: UTF8.self) }

    /// Whether users set it, and not the system.
    var isOfUsers: Bool {
        #if canImport(Darwin)
            return true
        #else
            return name.starts(with: "user.".utf8)
        #endif
    }

    /// All of a file; none where the file system has no attributes.
    static func all(of descriptor: Int32) throws(SystemError) -> [ExtendedAttribute] {
        let names: [UInt8]
        do throws(SystemError) {
            names = try bytes { list(descriptor, $0, $1) }
        } catch {
            guard [ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
            return []
        }
        return names.split(separator: 0).map { ExtendedAttribute(Array($0)) }
    }

    func value(of descriptor: Int32) throws(SystemError) -> [UInt8] {
        try Self.bytes { (memory, size) in
            withName { name in
                #if canImport(Darwin)
                    fgetxattr(descriptor, name, memory, size, 0, 0)
                #else
                    fgetxattr(descriptor, name, memory, size)
                #endif
            }
        }
    }

    func set(_ value: [UInt8], of descriptor: Int32) -> Bool {
        withName { name in
            #if canImport(Darwin)
                fsetxattr(descriptor, name, value, value.count, 0, 0) == 0
            #else
                fsetxattr(descriptor, name, value, value.count, 0) == 0
            #endif
        }
    }

    func remove(of descriptor: Int32) {
        withName { name in
            #if canImport(Darwin)
                _ = fremovexattr(descriptor, name, 0)
            #else
                _ = fremovexattr(descriptor, name)
            #endif
        }
    }

    private func withName<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        body(name.map { CChar(truncatingIfNeeded: $0) } + [0])
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
}
