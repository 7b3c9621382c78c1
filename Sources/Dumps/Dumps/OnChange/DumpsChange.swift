import RemoteSettingsModel

/// The changes between two states of a directory or a mirror, for a command of `--on-change`.
package struct DumpsChange: Hashable, Sendable {
    /// The timestamp of each collection.
    package typealias State = [CollectionID: Timestamp]

    /// The newest timestamp of all collections.
    package let timestamp: Timestamp
    /// The collections whose timestamp has changed, sorted.
    package let collections: [CollectionID]
    private let before: State
    private let after: State

    package init(from before: State, to after: State) {
        timestamp = after.values.max() ?? Timestamp(milliseconds: 0)
        collections = after.keys.filter { before[$0] != after[$0] }.sorted()
        (self.before, self.after) = (before, after)
    }

    /// The change as JSON for the command: the old and the new timestamp of each collection. A new collection has no
    /// old timestamp.
    package func json(request: String? = nil) -> JSONValue {
        .members([
            "timestamp": .count(timestamp.milliseconds),
            "collections": .array(collections.map { .string("\($0)") }),
            "changes": .array(
                collections.map { id in
                    .members([
                        "collection": .string("\(id)"),
                        "previousTimestamp": before[id].map { .count($0.milliseconds) },
                        "timestamp": after[id].map { .count($0.milliseconds) },
                    ])
                }),
            "pull_request": request.map(JSONValue.string),
        ])
    }
}
