extension PlannedCollection.Action: Encodable {
    package func encode(to encoder: any Encoder) throws { try word.encode(to: encoder) }

    package var word: String {
        switch self {
        case .unchanged: "unchanged"
        case .create: "create"
        case .update: "update"
        case .refetch: "refetch"
        case .repack: "repack"
        case .probe: "probe"
        case .pinned: "pinned"
        case .pinUnmet: "pin-unmet"
        }
    }

    package var reason: String? {
        switch self {
        case .refetch(let reason), .pinUnmet(let reason): reason
        default: nil
        }
    }

    /// A sentence that describes the planned action.
    package var sentence: String {
        switch self {
        case .unchanged: "nothing to do"
        case .create: "would be created"
        case .update: "would be updated"
        case .refetch(let reason): "would be fetched again: \(reason)"
        case .repack: "would be packed again: its attachment rule changed"
        case .probe:
            "would be requested, because the server's list lacks it, or lists an older state than its bundle"
        case .pinned: "would remain pinned"
        case .pinUnmet(let reason): "would fail, because its pinned state cannot be used: \(reason)"
        }
    }
}
