import RemoteSettingsModel

/// What uploads record about a store, in the store itself.
///
/// It states what they put there, what is no longer named, and which upload is at work.
struct StoreState: Hashable, Sendable {
    /// An upload that is under way, or that was killed.
    struct Uploader: Hashable, Sendable {
        /// A random number by which an upload recognises itself.
        var token: String
        /// The end of its lease, by the uploader's clock.
        var until: Timestamp
    }

    /// The key of the object, relative to the place's prefix. The edge serves nothing under this name.
    static let key = ".rsdump/state.json"
    static let headers = ObjectHeaders(
        contentType: "application/json", cacheControl: "no-store", contentEncoding: nil)

    /// The newest state of each collection that an upload has begun to write.
    var collections: [CollectionID: Timestamp] = [:]
    /// The last state that was uploaded completely.
    var visible: [CollectionID: Timestamp] = [:]
    /// The tree of the last complete upload; `nil` before the first one.
    var tree: String?
    var uploader: Uploader?
    /// Whether the store has been seen to refuse a write because of its condition.
    var isConditional = false
    /// The identity of each object that was written and has not been changed since.
    var objects: [String: String] = [:]
    /// The objects that an upload was about to write when it wrote this state.
    var pending: Set<String> = []
    /// The objects that no state names any more, each with the time when an upload noticed.
    var superseded: [String: Timestamp] = [:]

    init() {}

    /// - Throws: a problem in words for people.
    init(parsing document: Bytes) throws(StateProblem) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: document, limits: .lists)
        } catch {
            throw StateProblem("\(error)")
        }
        guard let version = value["version"]?.number?.int64 else {
            throw StateProblem("expected a version, found none")
        }
        guard version == 1 else {
            throw StateProblem("expected version 1, found \(version); a newer rsdump has written it")
        }
        func members(_ name: String) -> [JSONValue.Member] {
            if case .object(let members)? = value[name] { members } else { [] }
        }
        tree = value["tree"]?.string
        isConditional = value["conditional"]?.bool ?? false
        if let token = value["uploader"]?["token"]?.string, let until = value["uploader"]?["until"]?.number?.uint64 {
            uploader = Uploader(token: token, until: Timestamp(milliseconds: until))
        }
        func timestamps(_ name: String) -> [CollectionID: Timestamp] {
            var found: [CollectionID: Timestamp] = [:]
            for member in members(name) {
                guard let id = try? CollectionID(member.key), let time = member.value.number?.uint64 else { continue }
                found[id] = Timestamp(milliseconds: time)
            }
            return found
        }
        collections = timestamps("collections")
        visible = timestamps("visible")
        for member in members("objects") { objects[member.key] = member.value.string }
        pending = Set((value["pending"]?.array ?? []).compactMap(\.string))
        for member in members("superseded") {
            superseded[member.key] = member.value.number?.uint64.map { Timestamp(milliseconds: $0) }
        }
    }

    var document: Bytes {
        func object(_ pairs: some Sequence<(key: String, value: JSONValue)>) -> JSONValue {
            .object(pairs.sorted { $0.key < $1.key }.map { JSONValue.Member(key: $0.key, value: $0.value) })
        }
        return Bytes(
            JSONText.indented(
                .members([
                    "version": .count(1), "tree": tree.map(JSONValue.string),
                    "conditional": .bool(isConditional),
                    "collections": object(collections.map { ("\($0.key)", .count($0.value.milliseconds)) }),
                    "visible": object(visible.map { ("\($0.key)", .count($0.value.milliseconds)) }),
                    "uploader": uploader.map {
                        .members(["token": .string($0.token), "until": .count($0.until.milliseconds)])
                    },
                    "pending": .array(pending.sorted().map(JSONValue.string)),
                    "superseded": object(superseded.map { ($0.key, .count($0.value.milliseconds)) }),
                    "objects": object(objects.map { ($0.key, .string($0.value)) }),
                ])))
    }
}

/// Why a state object cannot be used.
struct StateProblem: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
