import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension Origin {
    /// The answer to a `GET` or `HEAD`.
    ///
    /// - Parameters:
    ///   - path: the request target's path, as it was sent.
    ///   - query: the text after the question mark.
    ///   - now: the present time. Like the server, the monitor refuses a `_since` that is too long ago.
    /// - Throws: `BundleError` where a bundle can no longer be read.
    package func answer(path: Substring, query: Substring?, now: Timestamp) throws(BundleError) -> OriginAnswer {
        // Bytes are compared: finding the boundaries of characters costs more than the rest of an answer.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().map(Substring.init)[...]
        guard let first = parts.first else { return .unknown }
        switch first {
        case "v1", "v2":
            guard let version = APIVersion(rawValue: String(first)) else { return .unknown }
            return try answer(version, parts.dropFirst(), query, now: now)
        case "attachments":
            let location = PercentEncoding.decode(String(Substring(path.utf8.dropFirst("/attachments/".utf8.count))))
            return try file(location) ?? .problem(.notFound, .attachment)
        case "chains":
            guard parts.count == 2, let chain = parts.last.flatMap({ chains[String($0)] }) else {
                return .problem(.notFound, .chain)
            }
            return .resource(chain)
        default:
            return parts.count == 1 ? health(first) ?? .unknown : .unknown
        }
    }

    private func answer(
        _ version: APIVersion, _ parts: ArraySlice<Substring>, _ query: Substring?, now: Timestamp
    ) throws(BundleError) -> OriginAnswer {
        let parts = Array(parts)
        if parts.isEmpty { return .redirect("\(address.url)/\(version.rawValue)/", .root) }
        if parts.count == 1 {
            if parts[0].isEmpty, let root = roots[version] { return .resource(root) }
            if parts[0] == "__broadcasts__", version == .v1 { return .resource(broadcasts) }
            return health(parts[0]) ?? .problem(.notFound, .unknown)
        }
        guard (4...6).contains(parts.count), parts[0] == "buckets", parts[2] == "collections" else {
            return .problem(.notFound, .unknown)
        }
        guard parts.count == 5, parts[4] == "changeset" else {
            return try version == .v1 ? records(parts, QueryParameters(query)) : .problem(.notFound, .unknown)
        }
        let bucket = String(parts[1])
        let name = String(parts[3])
        let request: ChangesetRequest
        do throws(ChangesetRequest.Refusal) {
            request = try ChangesetRequest(
                QueryParameters(query), version, isMonitor: bucket == "monitor" && name == "changes")
        } catch {
            switch error {
            case .nothingNewer: return .noContent(.changeset)
            case .invalid(let problem): return .problem(problem, .changeset)
            }
        }
        if bucket == "monitor" && name == "changes" { return monitorAnswer(request, now: now) }
        guard let id = try? CollectionID(bucket: bucket, name: name), let collection = byID[id] else {
            return .problem(.notFound, .changeset)
        }
        guard let since = request.since else { return .resource(try collection.changeset()) }
        if let delta = try collection.delta(since: since, version) { return .resource(delta) }
        // v1 compares numbers, so that nothing is newer than a future time; v2 knows the collection's timestamps.
        if version == .v1, since > collection.timestamp,
            let nothing = try collection.delta(since: collection.timestamp, version)
        {
            return .resource(nothing)
        }
        return redirect(request, bucket: bucket, name: name, .delta)
    }

    /// The resources by which plain Kinto clients read a collection: its metadata, all its records, or one record.
    private func records(_ parts: [Substring], _ query: QueryParameters) throws(BundleError) -> OriginAnswer {
        guard parts.count == 4 || parts[4] == "records" else { return .problem(.notFound, .unknown) }
        guard let id = try? CollectionID(bucket: String(parts[1]), name: String(parts[3])), let collection = byID[id]
        else { return .problem(.notFound, .records) }
        // An answer that ignores a filter would be wrong.
        if let name = query.first { return .problem(.invalid(name, "not supported here"), .records) }
        switch parts.count {
        case 4: return .resource(collection.metadataDocument())
        case 5: return .resource(try collection.recordsDocument())
        default:
            guard let record = try collection.recordDocument(String(parts[5])) else {
                return .problem(.notFound, .records)
            }
            return .resource(record)
        }
    }

    private func monitorAnswer(_ request: ChangesetRequest, now: Timestamp) -> OriginAnswer {
        if let since = request.since {
            let days: UInt64 = request.version == .v1 ? 21 : 30
            if since.elapsed(since: Timestamp(milliseconds: 0)) == .zero
                || now.elapsed(since: since) > .seconds(days * 86_400)
            {
                return redirect(request, bucket: "monitor", name: "changes", .monitor)
            }
        }
        return .resource(
            monitorChangeset(since: request.since, bucket: request.bucket, collection: request.collection))
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
