import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension Origin {
    /// Returns the response to a `GET` or `HEAD` request, or the work that creates it.
    ///
    /// - Parameters:
    ///   - path: the path of the request as it was sent.
    ///   - query: the text after the question mark.
    ///   - dictionary: the SHA-256 of a file that the client has, if it accepts a delta from it.
    ///   - withReceivedMetadata: whether changesets also contain the metadata that this server received.
    ///   - now: the current time. The monitor redirects if `_since` is too old, like Mozilla's server.
    /// - Throws: `Failure` if a bundle can no longer be read.
    package func prepare(
        path: Substring, query: Substring?, dictionary: SHA256Digest? = nil, withReceivedMetadata: Bool = false,
        now: Timestamp
    ) throws(Failure) -> PreparedAnswer {
        // Compare bytes, because splitting by characters costs more than the rest of the response.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().map(Substring.init)[...]
        guard let first = parts.first else { return .ready(.unknown) }
        switch first {
        case "v1", "v2":
            guard let version = APIVersion(rawValue: String(first)) else { return .ready(.unknown) }
            return try prepare(version, parts.dropFirst(), query, withReceivedMetadata, now: now)
        case "attachments":
            let location = PercentEncoding.decode(String(Substring(path.utf8.dropFirst("/attachments/".utf8.count))))
            let whole = try file(location)
            guard let dictionary, let pair = deltas.pair(location, to: dictionary) else { return whole }
            return .making { [self] () throws(Failure) in
                let answer = try whole.answer()
                guard case .resource(let file) = answer, let delta = try deltas.delta(pair) else { return answer }
                return .resource(OriginResource(file, asDelta: delta, tag: pair.tag))
            }
        case "chains":
            guard parts.count == 2, let chain = parts.last.flatMap({ chains[String($0)] }) else {
                return .ready(.problem(.notFound, .chain))
            }
            return .ready(.resource(chain))
        default:
            return .ready(parts.count == 1 ? health(first) ?? .unknown : .unknown)
        }
    }

    private func prepare(
        _ version: APIVersion, _ parts: ArraySlice<Substring>, _ query: Substring?, _ withReceivedMetadata: Bool,
        now: Timestamp
    ) throws(Failure) -> PreparedAnswer {
        let parts = Array(parts)
        if parts.isEmpty { return .ready(.redirect("\(address.url)/\(version.rawValue)/", .root)) }
        if parts.count > 1, parts[parts.count - 1].isEmpty { return .ready(withoutSlashes(version, parts, query)) }
        if parts.count == 1 {
            if parts[0].isEmpty, let root = roots[version] { return .ready(.resource(root)) }
            if parts[0] == "__broadcasts__" { return .ready(.resource(broadcasts)) }
            return .ready(health(parts[0]) ?? .problem(.notFound, .unknown))
        }
        guard parts[0] == "buckets" else { return .ready(.problem(.notFound, .unknown)) }
        guard parts.count == 5, parts[2] == "collections" else { return .ready(.problem(.noList, .unknown)) }
        let bucket = String(parts[1])
        let name = String(parts[3])
        let isMonitor = bucket == "monitor" && name == "changes"
        if version == .v1, isMonitor, parts[4] == "records" {
            return .making { [self] in monitorList(QueryParameters(query), now: now) }
        }
        guard parts[4] == "changeset" else { return .ready(.problem(.noList, .unknown)) }
        let query = QueryParameters(query)
        let request: ChangesetRequest
        do throws(OriginProblem) {
            request = try ChangesetRequest(query, version)
        } catch {
            return .ready(.problem(error, .changeset))
        }
        if isMonitor {
            if request.isSatisfied { return .ready(.noContent(.changeset)) }
            guard request.since != nil || request.limit != nil else {
                return .ready(monitorAnswer(request, query, now: now))
            }
            return .making { [self] in monitorAnswer(request, query, now: now) }
        }
        guard let id = try? CollectionID(bucket: bucket, name: name), let collection = byID[id] else {
            return .ready(.problem(.notFound, .changeset))
        }
        guard request.since != nil || request.limit != nil else {
            return .ready(.resource(try collection.changeset(withReceivedMetadata)))
        }
        return .making { [self] () throws(Failure) in
            try changes(of: collection, request, query, withReceivedMetadata)
        }
    }

    /// Returns a redirect from a path with trailing slashes to the same path without them.
    private func withoutSlashes(_ version: APIVersion, _ parts: [Substring], _ query: Substring?) -> OriginAnswer {
        let path = parts[..<((parts.lastIndex { !$0.isEmpty } ?? -1) + 1)].map { "/\($0)" }.joined()
        guard let path = PercentEncoding.complete(path) else { return .problem(.notFound, .unknown) }
        return .redirect("\(address.url)/\(version.rawValue)\(path)\(QueryParameters(query).suffix())", .unknown)
    }

    private func changes(
        of collection: ServedCollection, _ request: ChangesetRequest, _ query: QueryParameters,
        _ withReceivedMetadata: Bool
    ) throws(Failure) -> OriginAnswer {
        // v1 only compares numbers, so for a time in the future there are no changes. v2 accepts only timestamps that
        // the collection has had.
        let since = request.since.map { request.version == .v1 ? min($0, collection.timestamp) : $0 }
        if let limit = request.limit {
            if let newest = try collection.changeset(since: since, limit: limit, withReceivedMetadata) {
                return .resource(newest)
            }
        } else if let since {
            if let delta = try collection.delta(since: since, request.version, withReceivedMetadata) {
                return .resource(delta)
            }
        }
        return redirect(request, query, bucket: collection.id.bucket, name: collection.id.name, .delta)
    }

    private func monitorAnswer(_ request: ChangesetRequest, _ query: QueryParameters, now: Timestamp) -> OriginAnswer {
        // v2 never redirects, even if `_since` is very old.
        if request.version == .v1, let since = request.since, Self.isTooOld(since, now: now) {
            return redirect(request, query, bucket: "monitor", name: "changes", .monitor)
        }
        return .resource(
            monitorChangeset(
                since: request.since, bucket: request.bucket, collection: request.collection, limit: request.limit))
    }

    /// Returns the monitor as a Kinto list. Mozilla's jobs read it, and so did Firefox before it used changesets.
    ///
    /// The list is a single page, newest entry first, and `_limit`, `_sort` and `_fields` are ignored. The only filters
    /// are `_since`, `bucket` and `collection`.
    private func monitorList(_ query: QueryParameters, now: Timestamp) -> OriginAnswer {
        do throws(OriginProblem) {
            let (bucket, collection) = (try query.only("bucket"), try query.only("collection"))
            let others = query.names.filter { !$0.isEmpty && !["bucket", "collection"].contains($0) }
            if let other = others.first(where: { !$0.hasPrefix("_") || ["_before", "_to"].contains($0) }) {
                throw .invalid(other, "unknown filter field")
            }
            let since = try query.only("_since").map { text throws(OriginProblem) in
                guard let since = Timestamp.unquoting(text), since < now.advanced(by: .seconds(86_400)) else {
                    throw .invalid("_since", "must be a timestamp in milliseconds that is not in the future")
                }
                return since
            }
            guard let since, Self.isTooOld(since, now: now) else {
                return .resource(monitorList(since: since, bucket: bucket, collection: collection))
            }
            return .redirect(
                "\(address.url)/v1/buckets/monitor/collections/changes/records\(query.suffix(without: "_since"))",
                .monitor)
        } catch {
            return .problem(error, .monitor)
        }
    }

    /// Returns whether v1's monitor redirects to the full list, so that caches store fewer responses.
    static func isTooOld(_ since: Timestamp, now: Timestamp) -> Bool {
        since.milliseconds == 0 || now.elapsed(since: since) > .seconds(21 * 86_400)
    }

    /// Returns a redirect to the full list: the same URL without `_since`.
    private func redirect(
        _ request: ChangesetRequest, _ query: QueryParameters, bucket: String, name: String, _ route: OriginRoute
    ) -> OriginAnswer {
        .redirect(
            "\(address.url)/\(request.version.rawValue)/buckets/\(bucket)/collections/\(name)/changeset"
                + query.suffix(without: "_since"), route)
    }

    private func health(_ name: Substring) -> OriginAnswer? {
        switch name {
        case "__heartbeat__", "__lbheartbeat__": .resource(heartbeat)
        case "__version__": .resource(version)
        default: nil
        }
    }
}
