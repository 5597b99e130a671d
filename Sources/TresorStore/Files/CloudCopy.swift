// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file that a program which keeps a folder the same on several machines puts beside one that two of them changed
/// (SPEC §8.5). Nothing reads it: it has another name than the one that was changed.
package struct CloudCopy: Hashable, Sendable {
    /// The path.
    package let path: String
    /// The path of the file that it is a copy of, present or not.
    package let original: String
    /// Whether it was changed after that one; `nil` where that one is absent.
    package let isNewer: Bool?

    /// The copies of some files in a directory. Links and folders are none.
    ///
    /// - Parameter isOwn: whether a name is that of one of these files.
    static func all(in directory: String, of names: [String], where isOwn: (String) -> Bool) -> [CloudCopy] {
        names.sorted().compactMap { name in
            let path = "\(directory)/\(name)"
            guard !isOwn(name), let original = original(of: name, where: isOwn), let copied = time(of: path) else {
                return nil
            }
            let kept = "\(directory)/\(original)"
            // SQLite writes to the second file first.
            let times = [kept, kept + "-wal"].map { time(of: $0) }
            let isNewer = times[0].map { $0 < copied && times[1].map { $0 < copied } != false }
            return CloudCopy(path: path, original: kept, isNewer: isNewer)
        }
    }

    /// The copies of the file of a store and of those that SQLite keeps beside it; none in a directory that cannot be read.
    package static func all(ofStore path: String) -> [CloudCopy] {
        let (directory, name) = AtomicFile.split(path)
        let own = ["", "-wal", "-shm", "-journal"].map { name + $0 }
        let names = try? FileDescriptor(directory, O_RDONLY | O_DIRECTORY).names()
        return all(in: directory, of: names ?? []) { own.contains($0) }
    }

    /// The name without the mark of such a program, which stands in front of the ending or behind all.
    static func original(of name: String, where isOwn: (String) -> Bool) -> String? {
        let ending = name.lastIndex(of: ".")
        for start in name.indices.dropFirst() where " .-_[(".contains(name[start]) {
            for end in [ending, name.endIndex].compactMap({ $0 }) where start < end && isMark(name[start..<end]) {
                let rest = String(name[..<start] + name[end...])
                if isOwn(rest) { return rest }
            }
        }
        return nil
    }

    /// `(conflicted copy …)`, `.sync-conflict-…` and their like; ` (1)`, ` 2`; `-DESKTOP-7K3M` and `-Annas-MacBook`, the
    /// names that machines get by themselves. A person may have given a file any other one.
    private static func isMark(_ mark: Substring) -> Bool {
        let small = mark.lowercased()
        if ["conflict", "conflit", "konflikt"].contains(where: { small.contains($0) }) { return true }
        let rest = mark.dropFirst()
        switch mark.first {
        case " ":
            let number = rest.first == "(" && rest.last == ")" ? rest.dropFirst().dropLast() : rest
            return !number.isEmpty && number.allSatisfy { ("0"..."9").contains($0) }
        case "-":
            return (rest.hasPrefix("DESKTOP-") || rest.hasPrefix("LAPTOP-") || rest.contains("MacBook"))
                && rest.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        default: return false
        }
    }

    /// The time at which a regular file was changed, in seconds since 1970 and nanoseconds; `nil` for anything else.
    private static func time(of path: String) -> (Int, Int)? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        return (time.tv_sec, time.tv_nsec)
    }
}
