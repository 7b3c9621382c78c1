#if Lab
import Foundation
import RemoteSettingsModel

/// From a served changeset to the payload that is signed, against Foundation's ways to read and write sorted JSON.
struct CanonicalRows {
    let input: Input
    let runs: Int

    func table() throws -> Table {
        let bytes = input.collections.reduce(0) { $0 + $1.served.count }
        var table = Table("Canonicalise \(input.collections.count) changesets, \(bytes) bytes as served")
        try add("changesets to payloads, as served", \.served, to: &table)
        try add("changesets to payloads, in disorder and escaped", \.disordered, to: &table)
        let largest = try input.largest()
        table.add(
            "one changeset to a payload, \(largest.entry.records) records",
            try Measurement(runs: runs) { try payload(largest.served, of: largest.id) }, bytes: largest.served.count,
            goal: "≥ 200 MB/s")
        table.add(
            "`CanonicalJSON.canonicalize` of whole changesets, in disorder",
            try Measurement(runs: runs) {
                try input.collections.reduce(0) {
                    $0 + (try CanonicalJSON.canonicalize($1.disordered, limits: input.limits).count)
                }
            }, bytes: input.collections.reduce(0) { $0 + $1.disordered.count })
        let documents = input.collections.map { Data($0.served.array) }
        table.add(
            "Foundation `JSONSerialization`, read and written with sorted keys",
            try Measurement(runs: max(1, runs / 4)) {
                try documents.reduce(0) {
                    let object = try JSONSerialization.jsonObject(with: $1)
                    return $0 + (try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]).count)
                }
            }, bytes: bytes)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        table.add(
            "Foundation `JSONDecoder` and `JSONEncoder` of any JSON",
            try Measurement(runs: 1) {
                try documents.reduce(0) {
                    $0 + (try encoder.encode(JSONDecoder().decode(AnyJSON.self, from: $1)).count)
                }
            }, bytes: bytes)
        return table
    }

    private func add(_ name: String, _ body: (Input.Collection) -> Bytes, to table: inout Table) throws {
        let bodies = input.collections.map { ($0.id, body($0)) }
        table.add(
            // One after the other, as a refresh does: none of the payloads is kept.
            name, try Measurement(runs: runs) { try bodies.reduce(0) { $0 + (try payload($1.1, of: $1.0).count) } },
            bytes: bodies.reduce(0) { $0 + $1.1.count }, goal: "≥ 200 MB/s")
    }

    private func payload(_ body: Bytes, of id: CollectionID) throws -> Bytes {
        try Changeset(parsing: body, limits: input.limits).snapshot(of: id, onto: nil).payload.bytes
    }
}

/// Any JSON value, by way of `Codable`.
private enum AnyJSON: Codable {
    case object([String: AnyJSON])
    case array([AnyJSON])
    case string(String)
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case null

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let object = try? container.decode([String: AnyJSON].self) {
            self = .object(object)
        } else if let array = try? container.decode([AnyJSON].self) {
            self = .array(array)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else {
            self = .null
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let object): try container.encode(object)
        case .array(let array): try container.encode(array)
        case .string(let string): try container.encode(string)
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .null: try container.encodeNil()
        }
    }
}
#endif
