import RemoteSettingsModel

extension Catalogue {
    private static let catalogueID = "catalogue"

    /// Parses the records of ``collection``.
    ///
    /// Unknown members are ignored, so that later versions can add members.
    ///
    /// - Throws: ``BundleError/malformed(_:)`` or ``BundleError/laterFormat(_:)``.
    package init(_ records: RecordTable) throws(BundleError) {
        guard let catalogue = records.record(id: Self.catalogueID) else {
            throw .malformed("the record \(Self.catalogueID) is missing")
        }
        guard let format = catalogue.field("format")?.number?.uint64 else {
            throw .malformed("the record \(Self.catalogueID) has no valid format")
        }
        guard format == Self.format else { throw .laterFormat(format) }
        guard let publisher = catalogue.field("publisher")?.string.flatMap({ PublisherName($0) }) else {
            throw .malformed("the record \(Self.catalogueID) has no valid publisher (\(PublisherName.rule))")
        }
        self.publisher = publisher
        number = try Self.number("number", of: catalogue, in: 1...Self.highestNumber)
        made = try Self.time("made", of: catalogue)
        confirmed = try Self.time("confirmed", of: catalogue)
        expires = try Self.time("expires", of: catalogue)
        guard made <= confirmed, confirmed <= expires else {
            throw .malformed("its times must be in the order made, confirmed, expires")
        }
        (entries, removed) = ([:], [:])
        for record in records where record.id != Self.catalogueID {
            let id = try Self.collection(of: record)
            guard entries[id] == nil, removed[id] == nil else { throw .malformed("two records list \(id)") }
            if record.field("removed") != nil {
                // A record with both could be interpreted as listed by one parser, and as removed by another.
                if let state = ["timestamp", "sha256", "records"].first(where: { record.field($0) != nil }) {
                    throw .malformed("the record \(record.id) has both \(state) and removed")
                }
                removed[id] = try Self.number("removed", of: record, in: 1...number)
                continue
            }
            guard let payload = record.field("sha256")?.string.flatMap({ SHA256Digest(hex: $0) }) else {
                throw .malformed("the record of \(id) has no valid sha256")
            }
            let count = try Self.number("records", of: record, in: 0...UInt64(Int32.max))
            entries[id] = Entry(
                timestamp: try Self.time("timestamp", of: record), payload: payload, records: Int(count))
        }
    }

    private static func collection(of record: Record) throws(BundleError) -> CollectionID {
        guard let bucket = record.field("bucket")?.string, let name = record.field("collection")?.string,
            let id = try? CollectionID(bucket: bucket, name: name)
        else { throw .malformed("the record \(record.id) has no valid bucket and collection") }
        guard id != collection else { throw .malformed("the catalogue lists itself") }
        guard recordID(of: id) == record.id else {
            throw .malformed("\(id) must be in the record \(recordID(of: id)), not in \(record.id)")
        }
        return id
    }

    private static func number(
        _ name: String, of record: Record, in range: ClosedRange<UInt64>
    ) throws(BundleError) -> UInt64 {
        guard let number = record.field(name)?.number?.uint64, range ~= number else {
            throw .malformed(
                "in the record \(record.id), \(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func time(_ name: String, of record: Record) throws(BundleError) -> Timestamp {
        Timestamp(milliseconds: try number(name, of: record, in: 0...highestNumber))
    }

    /// Returns the id of a collection's record: `BUCKET_-NAME`.
    ///
    /// Each `_` in the two names becomes `__`, so that no two collections have the same id.
    static func recordID(of id: CollectionID) -> String {
        func doubled(_ text: String) -> String {
            text.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "__")
        }
        return "\(doubled(id.bucket))_-\(doubled(id.name))"
    }

    /// The catalogue as records: the id of each one, and its other members except `last_modified`.
    package var records: [(id: String, members: [JSONValue.Member])] {
        let catalogue: [JSONValue.Member] = [
            .init(key: "format", value: .count(Self.format)), .init(key: "publisher", value: .string("\(publisher)")),
            .init(key: "number", value: .count(number)), .init(key: "made", value: .count(made.milliseconds)),
            .init(key: "confirmed", value: .count(confirmed.milliseconds)),
            .init(key: "expires", value: .count(expires.milliseconds)),
        ]
        func named(_ id: CollectionID, _ others: [JSONValue.Member]) -> (id: String, members: [JSONValue.Member]) {
            let name: [JSONValue.Member] = [
                .init(key: "bucket", value: .string(id.bucket)), .init(key: "collection", value: .string(id.name)),
            ]
            return (Self.recordID(of: id), name + others)
        }
        let listed = entries.map { id, entry in
            named(
                id,
                [
                    .init(key: "timestamp", value: .count(entry.timestamp.milliseconds)),
                    .init(key: "sha256", value: .string("\(entry.payload)")),
                    .init(key: "records", value: .count(entry.records)),
                ])
        }
        let gone = removed.map { id, number in named(id, [.init(key: "removed", value: .count(number))]) }
        return ([(Self.catalogueID, catalogue)] + listed + gone).sorted { $0.id < $1.id }
    }
}
