// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "TresorBenchmarks",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "tresor", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .target(name: "CBaseline", linkerSettings: [.linkedLibrary("sodium"), .linkedLibrary("sqlite3")]),
        .target(name: "CWire", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(
            name: "Measuring",
            dependencies: [
                "CBaseline", .product(name: "Tresor", package: "tresor"),
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
                .product(name: "TresorStore", package: "tresor"),
            ],
            swiftSettings: settings
        ),
        .target(name: "Serving", dependencies: ["Measuring"], swiftSettings: settings),
        .executableTarget(
            name: "TresorBenchmarks",
            dependencies: [
                "CBaseline", "Measuring", "Serving", .product(name: "Tresor", package: "tresor"),
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
                .product(name: "TresorRecords", package: "tresor"), .product(name: "TresorRemote", package: "tresor"),
                .product(name: "TresorSQLite", package: "tresor"), .product(name: "TresorStore", package: "tresor"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ServiceLoad",
            dependencies: [
                "CWire", "Measuring", "Serving", .product(name: "Tresor", package: "tresor"),
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
                .product(name: "TresorRemote", package: "tresor"), .product(name: "TresorSQLite", package: "tresor"),
                .product(name: "TresorStore", package: "tresor"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
