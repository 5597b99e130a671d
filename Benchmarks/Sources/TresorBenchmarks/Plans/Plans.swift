// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// The records of tresors, as people have them: whole commands, a store, a service, and ten years of a patient.
enum Plans {
    static func figures(_ program: String, in directory: String) async throws -> [Figure] {
        let commands = try await PlanCommands(program, in: directory).figures()
        let decade = try await Decade(program, in: directory).figures()
        guard let server = ProcessInfo.processInfo.environment["BENCHMARK_SERVER"] else {
            note("plans: what a service does is left out, BENCHMARK_SERVER names no program")
            return commands + decade
        }
        return try await commands + decade + PlanService(program, server: server, in: directory).figures()
    }
}
