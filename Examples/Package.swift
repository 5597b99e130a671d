// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Programs and a store that use the library as any other package does.
let package = Package(
    name: "examples",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "tresor", path: "..")],
    targets: [
        .executableTarget(
            name: "TenLines",
            dependencies: [
                .product(name: "Tresor", package: "tresor"), .product(name: "TresorCore", package: "tresor"),
                .product(name: "TresorSQLite", package: "tresor"),
            ],
            path: "TenLines"),
        .executableTarget(
            name: "CareModel",
            dependencies: [
                .product(name: "Tresor", package: "tresor"), .product(name: "TresorCore", package: "tresor"),
                .product(name: "TresorCrypto", package: "tresor"), .product(name: "TresorStore", package: "tresor"),
                .product(name: "TresorTesting", package: "tresor"),
            ],
            path: "CareModel"),
        .executableTarget(
            name: "Scans",
            dependencies: [
                .product(name: "Tresor", package: "tresor"), .product(name: "TresorCore", package: "tresor"),
                .product(name: "TresorRecords", package: "tresor"), .product(name: "TresorStore", package: "tresor"),
            ],
            path: "Scans"),
        .target(
            name: "DirectoryStore",
            dependencies: [
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
            ],
            path: "DirectoryStore"),
        .executableTarget(
            name: "CheckDirectoryStore",
            dependencies: ["DirectoryStore", .product(name: "TresorTesting", package: "tresor")],
            path: "CheckDirectoryStore"),
    ]
)
