// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let coreSettings: [SwiftSetting] =
    settings + [
        .strictMemorySafety(),
        .enableExperimentalFeature("Lifetimes"),
    ]

/// The service and what it alone needs.
let server = TargetDependencyCondition.when(traits: ["Server"])

let package = Package(
    name: "tresor",
    platforms: [.macOS(.v26), .iOS(.v26)],
    products: [
        .library(name: "TresorCrypto", targets: ["TresorCrypto"]),
        .library(name: "TresorCore", targets: ["TresorCore"]),
        .library(name: "Tresor", targets: ["Tresor"]),
        .library(name: "TresorRecords", targets: ["TresorRecords"]),
        .library(name: "TresorStore", targets: ["TresorStore"]),
        .library(name: "TresorSQLite", targets: ["TresorSQLite"]),
        .library(name: "TresorTesting", targets: ["TresorTesting"]),
        .library(name: "TresorRemote", targets: ["TresorRemote"]),
        .executable(name: "tresor", targets: ["TresorCommand"]),
        .executable(name: "tresor-server", targets: ["TresorServer"]),
        .executable(name: "tresor-selftest", targets: ["TresorConformance"]),
    ],
    traits: [
        .default(enabledTraits: ["Command", "SQLite"]),
        .trait(name: "Command", description: "The command tresor.", enabledTraits: ["SQLite"]),
        .trait(name: "SQLite", description: "The store in an SQLite file."),
        .trait(name: "Server", description: "The service tresor-server.", enabledTraits: ["Command", "SQLite"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .systemLibrary(
            name: "Clibsodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .target(
            name: "TresorCrypto",
            dependencies: ["Clibsodium", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: coreSettings
        ),
        .target(name: "TresorCore", dependencies: ["TresorCrypto"], swiftSettings: coreSettings),
        .target(
            name: "Tresor", dependencies: ["TresorCore", "TresorCrypto", "TresorStore"], swiftSettings: coreSettings),
        .target(
            name: "TresorRecords", dependencies: ["Tresor", "TresorCore", "TresorCrypto"], swiftSettings: settings),
        .target(name: "Cvariadic"),
        .systemLibrary(name: "Cxattr"),
        .target(name: "Cerasure"),
        .target(
            name: "TresorStore",
            dependencies: ["Cxattr", "TresorCore", "TresorCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "TresorTesting", dependencies: ["Tresor", "TresorCore", "TresorCrypto", "TresorStore"],
            swiftSettings: settings),
        .target(
            name: "TresorSQLite",
            dependencies: [
                "Cvariadic", "TresorCore", "TresorCrypto", "TresorStore",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(
            name: "Copenssl", pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        // On macOS it is empty without the service. A condition cannot say "on Linux, or with the service".
        .target(
            name: "TresorTLS",
            dependencies: [
                .target(name: "Copenssl", condition: .when(platforms: [.linux, .macOS])), "TresorCrypto",
            ],
            swiftSettings: settings),
        .target(
            name: "TresorRemote",
            dependencies: [
                .target(name: "Copenssl", condition: .when(platforms: [.linux])), "TresorCore", "TresorCrypto",
                "TresorStore", .target(name: "TresorTLS", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: settings),
        .target(
            name: "TresorService",
            dependencies: [
                "TresorCore", "TresorCrypto", .target(name: "TresorSQLite", condition: server),
                .target(name: "TresorStore", condition: server),
                .product(name: "GRDB", package: "GRDB.swift", condition: server),
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "Clibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "TresorPostgres",
            dependencies: [
                "TresorCore", "TresorCrypto", "TresorService", .target(name: "Clibpq", condition: server),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "TresorServer",
            dependencies: [
                .target(name: "Copenssl", condition: server), "Cvariadic", "TresorCore", "TresorCrypto",
                "TresorPostgres", "TresorService", "TresorSQLite", "TresorStore",
                .target(name: "TresorTLS", condition: server),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: server),
                .product(name: "NIOPosix", package: "swift-nio", condition: server),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "TresorCommand",
            dependencies: [
                "Cerasure", "Cvariadic", "Tresor", "TresorCore", "TresorCrypto", "TresorRecords", "TresorRemote",
                "TresorSQLite", "TresorStore",
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Command"])),
            ],
            swiftSettings: settings
        ),
        // What reviewers run: no other product contains it, and a build of the product does not compile it.
        .executableTarget(
            name: "TresorConformance",
            dependencies: [
                "Tresor", "TresorCore", "TresorCrypto", "TresorRecords",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Conformance", swiftSettings: settings),
        .testTarget(
            name: "TresorCryptoTests",
            dependencies: [
                "CProbe", "TestSupport", "Tresor", "TresorCore", "TresorCrypto", "TresorSQLite", "TresorStore",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TresorTests",
            dependencies: [
                "CProbe", "TestSupport", "Tresor", "TresorCommand", "TresorCore", "TresorRecords", "TresorRemote",
                "TresorSQLite",
                "TresorStore", "TresorTesting",
                .target(name: "TresorPostgres", condition: server), .target(name: "TresorServer", condition: server),
                .target(name: "TresorService", condition: server),
            ],
            exclude: ["stores.txt"],
            swiftSettings: settings),
        .testTarget(
            name: "TresorStoreTests",
            dependencies: ["TestSupport", "Tresor", "TresorCore", "TresorSQLite", "TresorStore", "TresorTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "CLITests",
            dependencies: [
                "PasswordMemo", "TestSupport", "TresorCommand", "Tresor", "TresorCore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["help", "hints.txt", "scripts"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "VectorTests",
            dependencies: [
                "TestSupport", "TresorCommand", "Tresor", "TresorConformance", "TresorCore", "TresorCrypto",
                "TresorSQLite", "TresorStore", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TresorServiceTests",
            dependencies: [
                "TestSupport", "Tresor", "TresorCommand", "TresorCore", "TresorCrypto", "TresorPostgres",
                "TresorRemote",
                "TresorServer", "TresorService", "TresorSQLite", "TresorStore", "TresorTesting",
                .target(name: "Copenssl", condition: server), .target(name: "TresorTLS", condition: server),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: server),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: server),
            ],
            swiftSettings: settings),
        .target(name: "CProbe", path: "Tests/CProbe"),
        .target(name: "TestSupport", path: "Tests/Support", exclude: ["allowed.txt"], swiftSettings: settings),
        .target(name: "PasswordMemo", path: "Tests/PasswordMemo", swiftSettings: settings),
        .executableTarget(
            name: "ConstantTimeProbe", dependencies: ["CProbe", "Tresor", "TresorCore", "TresorCrypto"],
            path: "Tests/ConstantTimeProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "AttackTests",
            dependencies: [
                "ConstantTimeProbe", "CProbe", "PasswordMemo", "Tresor", "TresorConformance", "TresorCore",
                "TestSupport", "TresorCommand", "TresorCrypto", "TresorRecords", "TresorSQLite", "TresorStore",
                "TresorTesting",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
