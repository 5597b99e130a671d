// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The care plan that README and the demonstration use, against the parts of FHIR R4 that it has.
@Suite struct ExampleTests {
    private static let fields: [String: Set<String>] = [
        "": [
            "resourceType", "id", "status", "intent", "title", "subject", "period", "author", "addresses", "activity",
            "note",
        ],
        "subject": ["reference", "display"], "author": ["reference", "display"], "addresses": ["reference", "display"],
        "period": ["start", "end"], "activity": ["detail"], "note": ["text"], "code": ["text"],
        "detail": ["kind", "code", "status", "scheduledTiming"], "scheduledTiming": ["repeat"],
        "repeat": ["frequency", "period", "periodUnit", "when"],
    ]
    private static let codes: [String: Set<String>] = [
        "intent": ["proposal", "plan", "order", "option"],
        "kind": [
            "Appointment", "CommunicationRequest", "DeviceRequest", "MedicationRequest", "NutritionOrder", "Task",
            "ServiceRequest",
            "VisionPrescription",
        ],
        "status": [
            "draft", "active", "on-hold", "revoked", "completed", "entered-in-error", "unknown", "not-started",
            "scheduled",
            "in-progress", "cancelled", "stopped",
        ],
        "periodUnit": ["s", "min", "h", "d", "wk", "mo", "a"], "resourceType": ["CarePlan"],
    ]
    private static let lists: Set<String> = ["addresses", "activity", "note", "when"]

    @Test func theCarePlanIsOneOfR4() throws {
        let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Examples/care-plan.json")
            .standardized
        let plan = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        for needed in ["resourceType", "status", "intent", "subject"] { #expect(plan[needed] != nil, "\(needed)") }
        expectForm(plan, of: "")
    }

    private func expectForm(_ object: [String: Any], of name: String) {
        #expect(Set(object.keys).isSubset(of: Self.fields[name] ?? []), "\(name): \(object.keys)")
        for (key, value) in object {
            #expect(Self.lists.contains(key) == (value is [Any]), "\(key)")
            for value in value as? [Any] ?? [value] {
                if let inner = value as? [String: Any] {
                    // A reference of R4 is a text; a text has no fields.
                    #expect(Self.fields[key] != nil && !(name != "scheduledTiming" && key == "repeat"), "\(key)")
                    expectForm(inner, of: key)
                } else if let codes = Self.codes[key] {
                    #expect((value as? String).map(codes.contains) == true, "\(key): \(value)")
                } else {
                    #expect(value is String || value is NSNumber, "\(key)")
                }
            }
        }
    }
}
