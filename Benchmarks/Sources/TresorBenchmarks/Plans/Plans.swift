// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// The records of tresors, as people have them: whole commands, a store, a service, and ten years of a patient.
enum Plans {
    static func measure(_ program: String, in directory: String, for report: Report) async throws {
        try await PlanCommands(program, in: directory).measure(for: report)
        try await Decade(program, in: directory).measure(for: report)
        guard let server = ProcessInfo.processInfo.environment["BENCHMARK_SERVER"] else {
            return note("plans: what a service does is left out, BENCHMARK_SERVER names no program")
        }
        try await PlanService(program, server: server, in: directory).measure(for: report)
    }
}
