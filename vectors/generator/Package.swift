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

// The generator of the vectors. A build of the libraries or of their tests does not compile it.
let package = Package(
    name: "generator",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "tresor", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .systemLibrary(
            name: "Csodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .executableTarget(
            name: "tresor-vectors",
            dependencies: [
                "Csodium", .product(name: "Tresor", package: "tresor"),
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "GeneratorTests", dependencies: ["tresor-vectors"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
