// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The refusal to replace a file by one that lacks something of it.
enum AttributeLoss {
    /// Names what would be lost, and the commands that give it up first or have its owner do the work.
    static func failure(_ losses: [FileAttributes.Loss], _ path: String) -> CommandFailure {
        let words = losses.map { loss in
            switch loss {
            case .owner(let user): "its owner \(SystemName.of(user: user))"
            case .group(let group): "its group \(SystemName.of(group: group))"
            case .mode: "its mode"
            case .accessList: "its access list"
            case .attribute(let name): "its attribute \(DisplayText.quoted(name))"
            }
        }
        return CommandFailure(
            .failed(.permissions),
            "\(DisplayText.quoted(path)) stays as it is: sealed again by you it would lose "
                + words.joined(separator: ", "),
            hints: losses.map { hint($0, Shell.path(path)) }, file: path)
    }

    private static func hint(_ loss: FileAttributes.Loss, _ path: String) -> String {
        switch loss {
        case .owner(let user): "ask \(SystemName.of(user: user)) to run: tresor reseal \(path)"
        case .group: "chgrp \(SystemName.of(group: getegid())) \(path)"
        case .mode: "chmod 600 \(path)"
        case .accessList: "setfacl -b \(path)"
        case .attribute(let name): "setfattr -x \(Shell.word(name)) \(path)"
        }
    }
}

/// The names by which people know the users and groups of the system.
enum SystemName {
    static func of(user: uid_t) -> String {
        guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return String(user) }
        return String(cString: name)
    }

    static func of(group: gid_t) -> String {
        guard let entry = getgrgid(group), let name = entry.pointee.gr_name else { return String(group) }
        return String(cString: name)
    }
}
