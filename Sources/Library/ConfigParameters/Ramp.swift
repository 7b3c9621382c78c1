import RemoteSettingsModel
import TargetFilter

/// A gradual rollout plan: a share of all installations that grows over time, expressed as a filter over `env.now` and
/// `env.id`.
///
/// Every step selects from the start of the same sample, so an installation in one step is also in all later ones.
package struct Ramp: Hashable, Sendable {
    package struct Step: Hashable, Sendable {
        package let from: Timestamp
        /// The share from that time on, in units of 0.0001 %, from 1 to ``Ramp/all``.
        package let share: Int

        package init(from: Timestamp, share: Int) {
            self.from = from
            self.share = share
        }
    }

    /// The share that includes all installations.
    package static var all: Int { 1_000_000 }
    /// The maximum number of steps in a plan.
    package static var mostSteps: Int { 50 }

    /// The steps. Both their times and their shares increase.
    package let steps: [Step]

    /// Creates a plan.
    ///
    /// - Returns: `nil` unless there are 1 to ``mostSteps`` steps whose times and shares increase.
    package init?(steps: [Step]) {
        guard (1...Self.mostSteps).contains(steps.count), let first = steps.first, first.share > 0,
            steps.allSatisfy({ $0.share <= Self.all }),
            zip(steps, steps.dropFirst()).allSatisfy({ $0.from < $1.from && $0.share < $1.share })
        else { return nil }
        self.steps = steps
    }

    /// Returns the share at a time, in units of 0.0001 %; 0 before the first step.
    package func share(at time: Timestamp) -> Int { steps.last { $0.from <= time }?.share ?? 0 }
}

extension Ramp {
    /// Returns the plan as a filter. A step that includes all installations does not use `env.id`.
    ///
    /// - Parameter seed: the seed of the sample, as a literal of the filter language.
    package func filter(seed: String) -> String {
        let parts = steps.map { step -> String in
            let time = "(env.now >= ('\(step.from.rfc3339)'|date))"
            return step.share == Self.all ? time : "(\(time) && (\(Self.sample(seed, from: 0, to: step.share))))"
        }
        return parts.joined(separator: " || ")
    }

    /// Returns a filter for the installations between two shares, in units of 0.0001 %.
    package static func sample(_ seed: String, from: Int, to: Int) -> String {
        let isWhole = from % 10_000 == 0 && to % 10_000 == 0
        let (unit, total) = isWhole ? (10_000, 100) : (1, all)
        return "[env.id, \(seed)]|bucketSample(\(from / unit), \((to - from) / unit), \(total))"
    }

    /// The plan as stored in a record for display: an array of times in milliseconds and shares.
    package var member: JSONValue {
        .array(steps.map { .array([.count($0.from.milliseconds), .count($0.share)]) })
    }

    /// Parses a plan.
    ///
    /// - Parameter member: a record's ``member``.
    /// - Returns: `nil` if it is not a plan.
    package init?(_ member: JSONValue?) {
        guard let pairs = member?.array, pairs.count <= Self.mostSteps else { return nil }
        let steps = pairs.compactMap { pair -> Step? in
            guard let pair = pair.array, pair.count == 2, let from = pair[0].number?.uint64,
                let share = pair[1].number?.int64.flatMap({ Int(exactly: $0) })
            else { return nil }
            return Step(from: Timestamp(milliseconds: from), share: share)
        }
        guard steps.count == pairs.count else { return nil }
        self.init(steps: steps)
    }
}

extension Ramp: CustomStringConvertible {
    /// The plan as text, such as `5 % from 2026-12-01, all from 2026-12-07`.
    package var description: String {
        steps.map { "\(Self.percent($0.share)) from \(Self.date($0.from))" }.joined(separator: ", ")
    }

    /// Returns a share for display, such as `5 %`, `0.25 %` or `all`.
    package static func percent(_ share: Int) -> String {
        if share >= all { return "all" }
        let fraction = String(10_000 + share % 10_000).dropFirst()
        let digits = fraction.reversed().drop { $0 == "0" }.reversed()
        return "\(share / 10_000)\(digits.isEmpty ? "" : "." + String(digits)) %"
    }

    private static func date(_ time: Timestamp) -> String {
        time.rfc3339.replacing("T00:00:00.000Z", with: "").replacing(".000Z", with: "Z")
    }
}
