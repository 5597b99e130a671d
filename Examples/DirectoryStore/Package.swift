// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "directory-store",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "tresor", path: "../..")],
    targets: [
        .target(name: "DirectoryStore", dependencies: [.product(name: "TresorCore", package: "tresor")]),
        .executableTarget(
            name: "CheckDirectoryStore",
            dependencies: ["DirectoryStore", .product(name: "TresorTesting", package: "tresor")]),
    ]
)
