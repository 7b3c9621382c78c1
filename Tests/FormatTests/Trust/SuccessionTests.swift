import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Compares ``succession(of:after:in:)`` with the table in its doc comment, for every possible case.
struct SuccessionTests {
    /// A case that evaluates the conditions of the table.
    private struct Case: CustomStringConvertible {
        let offered: Standing
        let held: Standing
        let situation: Situation

        var description: String { "\(offered) after \(held) in \(situation)" }

        func holds(_ condition: some StringProtocol) throws -> Bool {
            switch condition {
            case "any": true
            case "rejected": situation.isRejected
            case "same records": situation.hasSameRecords == true
            case "other records": situation.hasSameRecords == false
            case "same trust": offered.trust == held.trust && offered.root == held.root
            case "same server": offered.isOwn == held.isOwn
            case "same time": offered.timestamp == held.timestamp
            case "offered own": offered.isOwn
            case "offered foreign": !offered.isOwn
            case "held own": held.isOwn
            case "held foreign": !held.isOwn
            case "offered signed": offered.trust == .signed
            case "offered unsigned": offered.trust != .signed
            case "held signed": held.trust == .signed
            case "held unsigned": held.trust != .signed
            case "held proven": situation.isProven
            case "offered older": offered.timestamp < held.timestamp
            case "offered pinned": offered.timestamp == situation.pin
            case "held pinned": held.timestamp == situation.pin
            case "offered beside pin": situation.pin != nil && offered.timestamp != situation.pin
            case "held beside pin": situation.pin != nil && held.timestamp != situation.pin
            default: try #require(Situation.Occasion(rawValue: String(condition))) == situation.occasion
            }
        }
    }

    private static let standings: [Standing] = {
        let times = [1, 2].map { Timestamp(milliseconds: $0) }
        let roots = [SHA256Digest(hashing: Bytes(utf8: "a")), SHA256Digest(hashing: Bytes(utf8: "b"))]
        return times.flatMap { time in
            [true, false].flatMap { isOwn in
                roots.map { Standing(time, .signed, root: $0, isOwn: isOwn) }
                    + [Standing(time, .unsigned, isOwn: isOwn), Standing(time, .imported, isOwn: isOwn)]
            }
        }
    }()

    private static let situations: [Situation] = {
        let pins: [Timestamp?] = [nil] + [1, 2, 3].map { Timestamp(milliseconds: $0) }
        var all: [Situation] = []
        for occasion in Situation.Occasion.allCases {
            for (same, pin) in [true, false, nil].flatMap({ same in pins.map { (same, $0) } }) {
                for (proven, rejected) in [(true, true), (true, false), (false, true), (false, false)] {
                    all.append(
                        Situation(occasion, hasSameRecords: same, isProven: proven, pin: pin, isRejected: rejected))
                }
            }
        }
        return all
    }()

    /// All cases. States with the same records have the same timestamp, because the records include it.
    private static let cases: [Case] = standings.flatMap { offered in
        standings.flatMap { held in
            situations.map { Case(offered: offered, held: held, situation: $0) }
        }
    }.filter { $0.situation.hasSameRecords != true || $0.offered.timestamp == $0.held.timestamp }

    /// The rows of the table in the function's doc comment.
    private func table() throws -> [(conditions: [Substring], verdict: Substring)] {
        let file = repository.appending(path: "Sources/Format/SnapshotBundle/Trust/Succession.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").compactMap { line -> (conditions: [Substring], verdict: Substring)? in
            let cells = line.dropFirst(6).dropLast(2).split(separator: " | ")
            guard line.hasPrefix("/// | "), cells.count == 2, cells[0] != "case", cells[0] != "---" else { return nil }
            return (cells[0].split(separator: ", "), cells[1])
        }
        #expect(rows.count == 17)
        return rows
    }

    @Test func successionFollowsDocumentedTable() throws {
        let rows = try table()
        var decided = Array(repeating: 0, count: rows.count)
        for each in Self.cases {
            let row = try #require(try rows.firstIndex { try $0.conditions.allSatisfy { try each.holds($0) } })
            decided[row] += 1
            let verdict = succession(of: each.offered, after: each.held, in: each.situation)
            if verdict.text != rows[row].verdict { Issue.record("\(each): \(verdict.text), not \(rows[row])") }
        }
        for (row, count) in zip(rows, decided) where count == 0 { Issue.record("\(row) never decides") }
    }

    /// Of two stored states, the winner does not depend on which one is offered.
    @Test func successionOfStoredStatesIsOrdered() {
        let situations = Self.situations.filter {
            $0.occasion == .stored && !$0.isRejected && $0.hasSameRecords != true
        }
        for situation in situations {
            func wins(_ a: Standing, _ b: Standing) -> Bool { succession(of: a, after: b, in: situation) == .replace }
            for a in Self.standings {
                for b in Self.standings where wins(a, b) {
                    if wins(b, a) { Issue.record("\(a) and \(b) replace each other") }
                    for c in Self.standings where wins(b, c) && !wins(a, c) { Issue.record("\(a), \(b), \(c)") }
                }
            }
        }
    }

    /// Guarantees that hold whatever the table says.
    @Test func serverStateNeverUnsignsOrRollsBack() {
        for each in Self.cases where each.situation.occasion == .fetched && each.offered.isOwn && each.held.isOwn {
            let verdict = succession(of: each.offered, after: each.held, in: each.situation)
            guard verdict == .replace, each.held.trust == .signed else { continue }
            #expect(each.offered.trust == .signed, "\(each)")
            if each.situation.isProven, each.situation.pin == nil {
                #expect(each.offered.timestamp >= each.held.timestamp, "\(each)")
            }
        }
    }
}

extension Succession {
    fileprivate var text: String {
        switch self {
        case .same: "same"
        case .replace: "replace"
        case .keep(let reason): "keep \(reason.rawValue)"
        case .refuse(let reason): "refuse \(reason.rawValue)"
        }
    }
}
