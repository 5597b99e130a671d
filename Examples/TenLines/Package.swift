// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "ten-lines",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "tresor", path: "../..")],
    targets: [
        .executableTarget(
            name: "TenLines",
            dependencies: [
                .product(name: "Tresor", package: "tresor"), .product(name: "TresorSQLite", package: "tresor"),
            ])
    ]
)
