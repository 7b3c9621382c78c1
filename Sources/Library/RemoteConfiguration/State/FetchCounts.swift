import RemoteSettingsModel

/// The requests of the last hour, counted by the minute, so that the stored data is small regardless of the limit.
struct FetchCounts: Hashable, Sendable {
    private struct Minute: Hashable, Sendable {
        /// The number of minutes since 1970.
        let number: UInt64
        var count: UInt64
    }

    private static let milliseconds: UInt64 = 60_000
    /// The number of minutes that are counted. The requests of a minute count until an hour after the minute is over.
    private static let span: UInt64 = 61

    /// The minutes, oldest first.
    private var minutes: [Minute] = []

    init() {}

    private static func number(_ time: Timestamp) -> UInt64 { time.milliseconds / milliseconds }

    /// Returns the minutes that count at the given time. A minute in the future was stored before the clock was set
    /// back, so it does not count.
    private func counting(at now: UInt64) -> [Minute] {
        minutes.filter { $0.number <= now && now - $0.number < Self.span }
    }

    /// Returns the time when the next request is allowed; `nil` if it is allowed at once.
    ///
    /// - Parameter most: the maximum number of requests in any hour, at least 1.
    func end(at now: Timestamp, most: Int) -> Timestamp? {
        let counting = counting(at: Self.number(now))
        var sum = counting.saturatingSum { $0.count }
        let most = UInt64(max(1, most))
        guard sum >= most else { return nil }
        for minute in counting {
            sum -= min(sum, minute.count)
            if sum < most {
                let end = minute.number.saturatingAdding(Self.span)
                return Timestamp(milliseconds: end.saturatingMultiplying(by: Self.milliseconds))
            }
        }
        return nil
    }

    /// Counts a request.
    mutating func add(at now: Timestamp) {
        let now = Self.number(now)
        minutes = counting(at: now)
        if minutes.last?.number != now { minutes.append(Minute(number: now, count: 0)) }
        let last = minutes.count - 1
        minutes[last].count = minutes[last].count.saturatingAdding(1)
    }

    /// Removes a request that was counted at the given time.
    mutating func remove(at time: Timestamp) {
        let time = Self.number(time)
        guard let place = minutes.firstIndex(where: { $0.number == time }) else { return }
        minutes[place].count -= min(1, minutes[place].count)
        if minutes[place].count == 0 { minutes.remove(at: place) }
    }
}

extension FetchCounts {
    /// A flat array of the minutes, each followed by its count; `nil` if there are none.
    var json: JSONValue? {
        guard !minutes.isEmpty else { return nil }
        return .array(minutes.flatMap { [.count($0.number), .count($0.count)] })
    }

    /// Creates counts from JSON. If it is not valid, there are no counts.
    init(_ json: JSONValue?) {
        let numbers = (json?.array ?? []).compactMap { $0.number?.uint64 }
        guard numbers.count.isMultiple(of: 2), numbers.count <= Int(Self.span) * 2 else { return }
        for place in stride(from: 0, to: numbers.count, by: 2) {
            let minute = Minute(number: numbers[place], count: numbers[place + 1])
            guard minute.count > 0, minutes.last.map({ $0.number < minute.number }) ?? true else {
                minutes = []
                return
            }
            minutes.append(minute)
        }
    }
}
