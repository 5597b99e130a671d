// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "TresorFuzz",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "tresor", path: "..")],
    targets: [
        .target(name: "CFuzzDriver"),
        .executableTarget(
            name: "TresorFuzz",
            dependencies: [
                "CFuzzDriver", .product(name: "Tresor", package: "tresor"),
                .product(name: "TresorCore", package: "tresor"), .product(name: "TresorCrypto", package: "tresor"),
            ],
            swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]
        ),
    ],
    swiftLanguageModes: [.v6]
)
