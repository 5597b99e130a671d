// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "client-alone",
    platforms: [.macOS(.v26)],
    // Without traits, neither GRDB nor ArgumentParser is fetched or compiled.
    dependencies: [.package(name: "tresor", path: "../..", traits: [])],
    targets: [
        .executableTarget(name: "ClientAlone", dependencies: [.product(name: "Tresor", package: "tresor")])
    ]
)
