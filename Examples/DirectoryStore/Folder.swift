// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A directory whose files are whole or absent, also after a power cut.
struct Folder {
    let path: String

    /// Opens a directory, and makes it if it is missing.
    init(at path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// The names of the files, sorted.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Reads a file; `nil` if there is none.
    func read(_ name: String) throws -> Data? {
        let file = "\(path)/\(name)"
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try Data(contentsOf: URL(fileURLWithPath: file))
    }

    /// Replaces a file durably, then overwrites the bytes of the old one.
    func replace(_ name: String, with data: Data) throws {
        let (file, temporary) = ("\(path)/\(name)", "\(path)/.\(name)")
        let old = try Descriptor.existing(file)
        let new = try Descriptor(temporary, O_WRONLY | O_CREAT | O_TRUNC)
        try new.write(data)
        try new.synchronize()
        guard rename(temporary, file) == 0 else { throw Descriptor.Failure(number: errno) }
        try Descriptor(path, O_RDONLY).synchronize()
        try old?.overwrite()
    }

    /// Overwrites and deletes a file durably; succeeds if there is none.
    func delete(_ name: String) throws {
        let file = "\(path)/\(name)"
        guard let old = try Descriptor.existing(file) else { return }
        guard unlink(file) == 0 else { throw Descriptor.Failure(number: errno) }
        try Descriptor(path, O_RDONLY).synchronize()
        try old.overwrite()
    }
}

/// An open file, closed with the value.
struct Descriptor: ~Copyable {
    /// The error number of a failed call.
    struct Failure: Error {
        let number: Int32
    }

    private let number: Int32

    init(_ path: String, _ flags: Int32) throws {
        number = open(path, flags | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw Failure(number: errno) }
    }

    deinit { close(number) }

    static func existing(_ path: String) throws -> Descriptor? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try Descriptor(path, O_RDWR)
    }

    func write(_ data: Data) throws {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(number, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw Failure(number: errno) }
            rest = rest.dropFirst(max(0, count))
        }
    }

    func synchronize() throws {
        guard fsync(number) == 0 else { throw Failure(number: errno) }
    }

    func overwrite() throws {
        let count = lseek(number, 0, SEEK_END)
        guard count >= 0, lseek(number, 0, SEEK_SET) == 0 else { throw Failure(number: errno) }
        try write(Data(count: Int(count)))
        try synchronize()
    }

    /// Waits until no other store at this place works.
    func lock() throws {
        while flock(number, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(number: errno) }
        }
    }

    func unlock() { flock(number, LOCK_UN) }
}

private func systemWrite(_ number: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, start, count)
}
