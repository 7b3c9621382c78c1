import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Kinto's own view of the data for its plain clients, read-only: lists and single objects, on v1.
extension Origin {
    /// - Parameter parts: the path under `v1/`: `buckets/{b}/collections`, and what follows.
    func plainAnswer(
        _ parts: [String], _ query: QueryParameters, now: Timestamp
    ) throws(BundleError) -> OriginAnswer {
        do {
            guard parts.count > 3 else { return .resource(try metadataList(parts[1], query)) }
            guard parts.count == 4 || parts[4] == "records" else { return .problem(.notFound, .unknown) }
            if parts[1] == "monitor", parts[3] == "changes", parts.count == 5 {
                return try monitorList(query, now: now)
            }
            guard let id = try? CollectionID(bucket: parts[1], name: parts[3]), let collection = byID[id] else {
                throw OriginProblem.missing("collection", parts[3], isAsked: parts.count == 4)
            }
            switch parts.count {
            case 4:
                return .resource(
                    Self.object(
                        collection.listedMetadata, time: collection.metadataTime, try ListQuery(fieldsOf: query)))
            case 5: return .resource(try recordList(collection, query))
            default:
                guard let record = try collection.records().record(id: parts[5]) else {
                    throw OriginProblem.missing("record", parts[5], isAsked: true)
                }
                let object = ListedObject(record)
                return .resource(
                    Self.object(
                        object, time: object.lastModified ?? collection.timestamp, try ListQuery(fieldsOf: query)))
            }
        } catch let problem as OriginProblem {
            return .problem(problem, .records)
        } catch let error as BundleError {
            throw error
        } catch {
            return .problem(.failed, .records)
        }
    }

    private func recordList(_ collection: ServedCollection, _ query: QueryParameters) throws -> OriginResource {
        let records = try collection.newestRecordsFirst()
        if query.isEmpty {
            // Most clients ask for this list, so it is made once.
            let whole = try made.get(.records(collection.id)) {
                Self.document(
                    Self.array(records.map(\.json)), time: collection.timestamp,
                    list: ListPosition(total: records.count, next: nil), isKept: true)
            }
            if let whole { return whole }
        }
        let asked = try ListQuery(query)
        let objects = asked.includesTombstones ? records + (try collection.tombstones()) : records
        return try list(asked, of: objects, at: collection.path + "/records", query, time: collection.timestamp)
    }

    private func metadataList(_ bucket: String, _ query: QueryParameters) throws -> OriginResource {
        let chosen = collections.filter { $0.id.bucket == bucket }
        guard let newest = chosen.map(\.metadataTime).max() else {
            throw OriginProblem.missing("bucket", bucket, isAsked: false)
        }
        return try list(
            try ListQuery(query), of: chosen.map(\.listedMetadata), at: "buckets/\(bucket)/collections", query,
            time: newest)
    }

    private func monitorList(_ query: QueryParameters, now: Timestamp) throws -> OriginAnswer {
        let asked = try ListQuery(query, knownFields: MonitorDocument.fields)
        let path = "buckets/monitor/collections/changes/records"
        if let text = query["_since"], let since = Timestamp(text.filter { $0 != "\"" }), Self.isTooOld(since, now: now)
        {
            return .redirect(url(path, query.all.filter { $0.name != "_since" }), .monitor)
        }
        return .resource(try list(asked, of: monitor.listed, at: path, query, time: monitor.timestamp))
    }

    /// - Parameters:
    ///   - path: the list's path, under `v1/`.
    ///   - time: when the list last changed.
    private func list(
        _ asked: ListQuery, of objects: [ListedObject], at path: String, _ query: QueryParameters, time: Timestamp
    ) throws(OriginProblem) -> OriginResource {
        let page = try ListPage(asked, of: objects)
        let next = page.next.map { token in
            url(
                path,
                query.all.filter { !["_limit", "_token"].contains($0.name) }
                    + [("_limit", "\(page.objects.count)"), ("_token", token)])
        }
        return Self.document(
            Self.array(page.objects), time: time, list: ListPosition(total: page.total, next: next))
    }

    private static func array(_ objects: [Bytes]) -> [Bytes] {
        [Bytes(utf8: #"{"data":["#)] + Bytes.list(objects) + [Bytes(utf8: "]}")]
    }

    private static func object(_ object: ListedObject, time: Timestamp, _ query: ListQuery) -> OriginResource {
        document(
            [Bytes(utf8: #"{"data":"#), query.chosen(of: object.json), Bytes(utf8: #","permissions":{}}"#)], time: time)
    }

    /// Kinto's entity tags are timestamps, which clients read. A gzip form would need a tag of its own, so there is
    /// none.
    private static func document(
        _ segments: [Bytes], time: Timestamp, list: ListPosition? = nil, isKept: Bool = false
    ) -> OriginResource {
        OriginResource(
            .records, type: "application/json", tag: "\(time)", lastModified: time, freshness: .seconds(60),
            content: .segments(segments), isKept: isKept, list: list)
    }

    private func url(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
        let query = parameters.map { "\(PercentEncoding.component($0.name))=\(PercentEncoding.component($0.value))" }
        return "\(address.url)/v1/\(path)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }
}

extension ServedCollection {
    fileprivate var path: String { "buckets/\(id.bucket)/collections/\(id.name)" }

    fileprivate var metadataTime: Timestamp { metadata.lastModified ?? timestamp }

    fileprivate var listedMetadata: ListedObject {
        ListedObject(id: id.name, lastModified: metadata.lastModified, json: metadata.json)
    }
}
