import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension Origin {
    /// Answers a `GET` or `HEAD`, or returns the work that leads to the answer.
    ///
    /// - Parameters:
    ///   - path: the path of the request as it was sent.
    ///   - query: the text after the question mark.
    ///   - dictionary: the SHA-256 of a file that the client has, if it accepts a delta from it.
    ///   - now: the current time. As on Mozilla's server, the monitor redirects if `_since` is too long ago.
    /// - Throws: `BundleError` if a bundle cannot be read any more.
    package func prepare(
        path: Substring, query: Substring?, dictionary: SHA256Digest? = nil, now: Timestamp
    ) throws(BundleError) -> PreparedAnswer {
        // Bytes are compared, because finding the boundaries of characters costs more than the rest of an answer.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().map(Substring.init)[...]
        guard let first = parts.first else { return .ready(.unknown) }
        switch first {
        case "v1", "v2":
            guard let version = APIVersion(rawValue: String(first)) else { return .ready(.unknown) }
            return try prepare(version, parts.dropFirst(), query, now: now)
        case "attachments":
            let location = PercentEncoding.decode(String(Substring(path.utf8.dropFirst("/attachments/".utf8.count))))
            let whole = try file(location)
            guard let dictionary, let pair = deltas.pair(location, to: dictionary) else { return whole }
            return .making { [self] () throws(BundleError) in
                if let delta = try deltas.resource(pair) { return .resource(delta) }
                return try whole.answer()
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
        _ version: APIVersion, _ parts: ArraySlice<Substring>, _ query: Substring?, now: Timestamp
    ) throws(BundleError) -> PreparedAnswer {
        let parts = Array(parts)
        if parts.isEmpty { return .ready(.redirect("\(address.url)/\(version.rawValue)/", .root)) }
        if parts.count == 1 {
            if parts[0].isEmpty, let root = roots[version] { return .ready(.resource(root)) }
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
        let request: ChangesetRequest
        do throws(OriginProblem) {
            request = try ChangesetRequest(QueryParameters(query), version)
        } catch {
            return .ready(.problem(error, .changeset))
        }
        if isMonitor {
            if request.isSatisfied { return .ready(.noContent(.changeset)) }
            guard request.since != nil || request.limit != nil else { return .ready(monitorAnswer(request, now: now)) }
            return .making { [self] in monitorAnswer(request, now: now) }
        }
        guard let id = try? CollectionID(bucket: bucket, name: name), let collection = byID[id] else {
            return .ready(.problem(.notFound, .changeset))
        }
        guard request.since != nil || request.limit != nil else {
            return .ready(.resource(try collection.changeset()))
        }
        return .making { [self] () throws(BundleError) in try changes(of: collection, request) }
    }

    private func changes(
        of collection: ServedCollection, _ request: ChangesetRequest
    ) throws(BundleError) -> OriginAnswer {
        // v1 compares numbers, so nothing is newer than a time in the future. v2 accepts only timestamps that the
        // collection has had.
        let since = request.since.map { request.version == .v1 ? min($0, collection.timestamp) : $0 }
        if let limit = request.limit {
            if let newest = try collection.changeset(since: since, limit: limit) { return .resource(newest) }
        } else if let since {
            if let delta = try collection.delta(since: since, request.version) { return .resource(delta) }
        }
        return redirect(request, bucket: collection.id.bucket, name: collection.id.name, .delta)
    }

    private func monitorAnswer(_ request: ChangesetRequest, now: Timestamp) -> OriginAnswer {
        // v2 answers any `_since`.
        if request.version == .v1, let since = request.since, Self.isTooOld(since, now: now) {
            return redirect(request, bucket: "monitor", name: "changes", .monitor)
        }
        return .resource(
            monitorChangeset(
                since: request.since, bucket: request.bucket, collection: request.collection, limit: request.limit))
    }

    /// The monitor as one of Kinto's lists. Mozilla's jobs read it, and so did Firefox before it read changesets.
    ///
    /// It is one page, newest entry first, whatever `_limit`, `_sort` and `_fields` say. Its only filters are `_since`,
    /// `bucket` and `collection`.
    private func monitorList(_ query: QueryParameters, now: Timestamp) -> OriginAnswer {
        do throws(OriginProblem) {
            let (bucket, collection) = (try query.identifier("bucket"), try query.identifier("collection"))
            let others = query.names.filter { !$0.isEmpty && !["bucket", "collection"].contains($0) }
            if let other = others.first(where: { !$0.hasPrefix("_") || ["_before", "_to"].contains($0) }) {
                throw .invalid(other, "unknown filter field")
            }
            let since = try query.timestamp("_since", .v1)
            guard let since, Self.isTooOld(since, now: now) else {
                return .resource(monitorList(since: since, bucket: bucket, collection: collection))
            }
            let kept = [("bucket", bucket), ("collection", collection)].compactMap { name, value in
                value.map { "\(name)=\($0)" }
            }
            let url = "\(address.url)/v1/buckets/monitor/collections/changes/records"
            return .redirect(kept.isEmpty ? url : "\(url)?\(kept.joined(separator: "&"))", .monitor)
        } catch {
            return .problem(error, .monitor)
        }
    }

    /// Whether v1's monitor redirects to the full list, so that caches keep fewer answers.
    static func isTooOld(_ since: Timestamp, now: Timestamp) -> Bool {
        since.milliseconds == 0 || now.elapsed(since: since) > .seconds(21 * 86_400)
    }

    /// Redirects to the full list: the same URL without `_since`.
    private func redirect(
        _ request: ChangesetRequest, bucket: String, name: String, _ route: OriginRoute
    ) -> OriginAnswer {
        .redirect(
            "\(address.url)/\(request.version.rawValue)/buckets/\(bucket)/collections/\(name)/changeset"
                + "?\(request.queryWithoutSince)", route)
    }

    private func health(_ name: Substring) -> OriginAnswer? {
        switch name {
        case "__heartbeat__", "__lbheartbeat__": .resource(heartbeat)
        case "__version__": .resource(version)
        default: nil
        }
    }
}
