import RemoteSettingsModel

/// The progress of a refresh, as lines of text. It is computed from events, without I/O and without a clock.
package struct RefreshProgress: Sendable {
    private enum Stage: Int {
        // In the order in which collections are shown.
        case downloading
        case contacting
        case packing
    }

    private struct Collection {
        let id: CollectionID
        var stage = Stage.contacting
        var files = 0
        var filesDone = 0
        var bytes: UInt64 = 0
        var bytesDone = 0

        var bytesLeft: UInt64 { bytes - min(bytes, UInt64(clamping: bytesDone)) }
    }

    /// The maximum number of collections that are shown.
    private static let shownCollections = 12
    /// The time over which the speed is measured.
    private static let window = Duration.seconds(10)

    private var total = 0
    private var done = 0
    private var active: [Collection] = []
    /// The collections that are packed. They are finished when all of them are committed.
    private var staged: Set<CollectionID> = []
    /// The numbers of bytes received so far, at earlier times, oldest first.
    private var samples: [(time: Duration, bytes: Int)] = []

    package init() {}

    /// Updates the progress.
    ///
    /// - Returns: a line for a log; `nil` if the event is not worth one.
    package mutating func update(_ event: RefreshEvent) -> String? {
        switch event {
        case .planned(let plan):
            (total, done, active, staged) = (plan.count, 0, [], [])
            let stale = plan.count { $0.action.needsWork }
            return stale == 0 ? nil : "\(stale) of \(Counted.text(plan.count, "collection")) to refresh"
        case .began(let id): active.append(Collection(id: id))
        case .downloading(let id, let files, let bytes):
            change(id) { collection in
                collection.stage = .downloading
                collection.files = files
                collection.bytes = bytes
            }
            return "\(id): downloading \(Counted.text(files, "attachment")), \(ByteSize.text(bytes))"
        case .received(let id, let bytes): change(id) { $0.bytesDone = $0.bytesDone.saturatingAdding(bytes) }
        case .downloaded(let id): change(id) { $0.filesDone += 1 }
        case .packing(let id): change(id) { $0.stage = .packing }
        case .staged(let id):
            if staged.insert(id).inserted { done += 1 }
            active.removeAll { $0.id == id }
        case .finished(let outcome):
            if staged.remove(outcome.id) == nil { done += 1 }
            active.removeAll { $0.id == outcome.id }
            guard outcome.status != .unchanged, outcome.status != .pinned else { return nil }
            return "\(outcome.id): \(outcome.status.rawValue)"
        case .http: break
        }
        return nil
    }

    private mutating func change(_ id: CollectionID, _ body: (inout Collection) -> Void) {
        guard let index = active.firstIndex(where: { $0.id == id }) else { return }
        body(&active[index])
    }

    /// Returns the lines to show. Collections that download files come first.
    ///
    /// - Parameters:
    ///   - received: the number of bytes received so far, in all responses.
    ///   - time: the time since any fixed moment.
    package mutating func lines(received: Int, at time: Duration) -> [String] {
        samples.append((time, received))
        // Keep the newest sample from before the window.
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
        let sorted = [Stage.downloading, .contacting, .packing].flatMap { stage in active.filter { $0.stage == stage } }
        var lines = sorted.prefix(Self.shownCollections).map(Self.line)
        if sorted.count > lines.count { lines.append("… \(sorted.count - lines.count) more") }
        lines.append(summary(received: received))
        return lines
    }

    private static func line(_ collection: Collection) -> String {
        let name = padded("\(collection.id)")
        switch collection.stage {
        case .contacting: return "\(name) contacting the server"
        case .packing: return "\(name) packing"
        case .downloading:
            let done = collection.bytes - collection.bytesLeft
            return "\(name) \(gauge(done, of: collection.bytes)) "
                + "\(collection.filesDone)/\(Counted.text(collection.files, "file")), "
                + "\(ByteSize.text(done)) of \(ByteSize.text(collection.bytes))"
        }
    }

    private func summary(received: Int) -> String {
        var text =
            "\(Self.padded("all collections")) \(Self.gauge(UInt64(done), of: UInt64(total))) "
            + "\(done)/\(total), \(ByteSize.text(UInt64(clamping: received))) received"
        guard let first = samples.first, let last = samples.last, last.time - first.time >= .milliseconds(200) else {
            return text
        }
        let milliseconds = UInt64(clamping: (last.time - first.time).wholeMilliseconds)
        let bytes = UInt64(clamping: last.bytes - first.bytes)
        let rate = bytes.saturatingMultiplying(by: 1000) / max(1, milliseconds)
        guard rate > 0 else { return text }
        text += ", \(ByteSize.text(rate))/s"
        // The time left is unknown as long as a collection may turn out to need more files.
        let left = active.saturatingSum(\.bytesLeft)
        guard left > 0, done + active.count == total, active.allSatisfy({ $0.stage != .contacting }) else {
            return text
        }
        return text + ", \((left - 1) / rate + 1) s left"
    }

    private static func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(0, 36 - name.count))
    }

    private static func gauge(_ done: UInt64, of total: UInt64) -> String {
        let cells = total == 0 ? 0 : Int(min(20, done.saturatingMultiplying(by: 20) / total))
        return "[" + String(repeating: "#", count: cells) + String(repeating: " ", count: 20 - cells) + "]"
    }
}
