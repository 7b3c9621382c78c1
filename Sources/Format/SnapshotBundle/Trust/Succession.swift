import RemoteSettingsModel

/// One state of a collection, as far as it matters for which of two states is used.
package struct Standing: Hashable, Sendable {
    package let timestamp: Timestamp
    package let trust: Provenance.Kind
    /// The root that the state verifies against; `nil` if it is not signed, or if the root is not known.
    package let root: SHA256Digest?
    /// Whether the state is from the configured server. One of another server only stands in until there is one of the
    /// configured server, for example a packaged state of a staging server whose publisher has the same root.
    package let isOwn: Bool

    package init(_ timestamp: Timestamp, _ trust: Provenance.Kind, root: SHA256Digest? = nil, isOwn: Bool = true) {
        (self.timestamp, self.trust, self.root, self.isOwn) = (timestamp, trust, root, isOwn)
    }

    package init(_ timestamp: Timestamp, _ provenance: Provenance, isOwn: Bool = true) {
        self.init(timestamp, provenance.kind, root: provenance.verdict?.root, isOwn: isOwn)
    }

    fileprivate var isSigned: Bool { trust == .signed }

    /// Returns whether it is unsigned although the other state of the collection is signed.
    package func losesSignature(of other: Standing) -> Bool { other.isSigned && !isSigned }

    /// Returns whether a collection is signed, so that unsigned states of it are refused: one of its states is signed,
    /// and the program itself contains no later unsigned one, with which its publisher has given up signing.
    package static func isSigned(by states: [Standing], unlessAfter program: [Standing]) -> Bool {
        guard let newest = states.filter(\.isSigned).map(\.timestamp).max() else { return false }
        return program.allSatisfy { $0.timestamp < newest }
    }

    /// Whether any state of the configured server takes its place as soon as there is one.
    package var isStandIn: Bool { !isOwn || trust == .imported }

    /// Returns whether the server's state must be fetched if its list of collections announces this timestamp.
    ///
    /// An older list is not a rollback: it may come from a cache, the server may have exported it during a publication,
    /// or another process may have stored a newer state. If the server's states are unsigned, the timestamp decides
    /// between them and an imported state.
    package func isBehind(announced: Timestamp, acceptsUnsigned: Bool) -> Bool {
        if !isOwn { return announced != timestamp }
        if trust == .imported { return !acceptsUnsigned || announced >= timestamp }
        return announced > timestamp
    }
}

extension Snapshot {
    package var standing: Standing { Standing(timestamp, provenance) }
}

extension LockFile.Collection {
    package var standing: Standing { Standing(timestamp, trust) }
}

/// What else is known of two states, of which one is offered in place of the one that is held.
package struct Situation: Hashable, Sendable {
    package enum Occasion: String, Hashable, Sendable, CaseIterable {
        /// A server says that this is its current state.
        case fetched
        /// A person offers the state: an import, or a publication.
        case given
        /// A person wants exactly this state: a pin.
        case chosen
        /// Both states are at hand: the two sides of a merge, or the stored and the packaged states of an app.
        case stored
    }

    package var occasion: Occasion
    /// Whether both states have the same records and the same timestamp; `nil` if that is not known.
    package var hasSameRecords: Bool?
    /// Whether the held state verifies. Anybody could have chosen the timestamp of one that does not.
    package var isProven: Bool
    /// The timestamp that a person has pinned the collection to; `nil` if it is not pinned.
    package var pin: Timestamp?
    /// Whether the app has rejected the offered state.
    package var isRejected: Bool

    package init(
        _ occasion: Occasion, hasSameRecords: Bool? = nil, isProven: Bool = true, pin: Timestamp? = nil,
        isRejected: Bool = false
    ) {
        self.occasion = occasion
        self.hasSameRecords = hasSameRecords
        self.isProven = isProven
        self.pin = pin
        self.isRejected = isRejected
    }
}

/// The answer to the question which of two states is used.
package enum Succession: Hashable, Sendable {
    /// Both are the same state.
    case same
    /// The offered state takes the place of the held one.
    case replace
    /// The held state stays, and nothing is wrong.
    case keep(Reason)
    /// The held state stays, and the offered one should not exist.
    case refuse(Reason)

    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The app has rejected it.
        case rejected
        /// It is from another server than the configured one.
        case otherServer
        /// It has the same records, but no signature.
        case unsigned
        /// It has no signature, although the collection is signed.
        case signatureLost
        /// The other state is the pinned one.
        case pinned
        case older
        /// It has other records than the held state, with the same timestamp.
        case equivocation
        /// It has the same timestamp as the held state, which is preferred.
        case sameTime
    }
}

/// Decides whether a state takes the place of another one. Nothing else does.
///
/// The first row of the table that applies decides; `SuccessionTests` compares the function with it for all cases.
/// "Unsigned" includes imported states.
///
/// | case | verdict |
/// | --- | --- |
/// | rejected | refuse rejected |
/// | same records, same trust, same server | same |
/// | offered foreign, held own | keep otherServer |
/// | offered own, held foreign | replace |
/// | offered unsigned, held signed, same records | keep unsigned |
/// | offered unsigned, held signed, stored | keep signatureLost |
/// | offered unsigned, held signed | refuse signatureLost |
/// | offered signed, held unsigned | replace |
/// | chosen | replace |
/// | offered pinned, held beside pin | replace |
/// | held pinned, offered beside pin | keep pinned |
/// | offered older, stored | keep older |
/// | offered older, held proven, held signed | refuse older |
/// | offered older, held proven, given | refuse older |
/// | same time, stored | keep sameTime |
/// | same time, other records, held proven, held signed | refuse equivocation |
/// | any | replace |
package func succession(of offered: Standing, after held: Standing, in situation: Situation) -> Succession {
    let hasSameRecords = situation.hasSameRecords == true
    let isStored = situation.occasion == .stored
    if situation.isRejected { return .refuse(.rejected) }
    if hasSameRecords, offered.trust == held.trust, offered.root == held.root, offered.isOwn == held.isOwn {
        return .same
    }
    if offered.isOwn != held.isOwn { return offered.isOwn ? .replace : .keep(.otherServer) }
    if offered.losesSignature(of: held) {
        if hasSameRecords { return .keep(.unsigned) }
        return isStored ? .keep(.signatureLost) : .refuse(.signatureLost)
    }
    if offered.isSigned, !held.isSigned { return .replace }
    if situation.occasion == .chosen { return .replace }
    if let pin = situation.pin, offered.timestamp != held.timestamp {
        if offered.timestamp == pin { return .replace }
        if held.timestamp == pin { return .keep(.pinned) }
    }
    if offered.timestamp < held.timestamp {
        if isStored { return .keep(.older) }
        return situation.isProven && (held.isSigned || situation.occasion == .given) ? .refuse(.older) : .replace
    }
    guard offered.timestamp == held.timestamp else { return .replace }
    if isStored { return .keep(.sameTime) }
    let isContradiction = situation.hasSameRecords == false && situation.isProven && held.isSigned
    return isContradiction ? .refuse(.equivocation) : .replace
}
