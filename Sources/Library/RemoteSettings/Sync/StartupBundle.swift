import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotTrust

extension RemoteSettingsService {
    /// Takes the collections' states from the server's bundle for a first launch. Uses the network.
    ///
    /// It makes three or four requests in all, instead of one for each collection. Each state is verified like a
    /// fetched one, and is stored only if it is newer than what is held. The bundle may be some hours old, so sync
    /// afterwards.
    ///
    /// If ``RemoteSettingsConfig/publisher`` names a publisher, this is an ordinary sync, because a startup bundle
    /// belongs to no catalogue.
    ///
    /// - Parameter collections: the collections' names, in the configured bucket, or `bucket/name`; `nil` for those
    ///   that have a client. Others in the bundle are left alone.
    /// - Returns: the results of those that are in the bundle, sorted by collection.
    /// - Throws: ``RemoteSettingsError`` if the bundle could not be fetched or read. Servers need not offer one.
    @discardableResult
    public func fetchStartupBundle(
        of collections: [String]? = nil
    ) async throws(RemoteSettingsError) -> [CollectionSyncResult] {
        // The bundle may be older than the catalogue, which could then not be read as a whole.
        if session.publisher != nil { return try await syncCollections(trigger: .startup) }
        var wanted = collections == nil ? clientCollections : []
        for name in collections ?? [] { wanted.append(try collection(name)) }
        wanted.removeAll { $0.overriding != nil || (try? self.session.checkNetwork($0.id)) == nil }
        let (session, ids) = (session, Set(wanted.map(\.id)))
        let startup = try await WorkThreads.run { () async throws(RemoteSettingsError) in
            try await StartupBundle(session, wanted: ids)
        }
        let results = await wanted.concurrentMap(width: 4) { collection -> CollectionSyncResult? in
            guard let changeset = startup.changesets[collection.id] else { return nil }
            return CollectionSyncResult(
                collection.id,
                of: await session.syncs.run(collection.id) { _ in
                    .success(CollectionSyncResult(collection.id, await startup.store(changeset, collection)))
                })
        }
        return results.compactMap { $0 }.sorted { $0.collection < $1.collection }
    }
}

/// The server's bundle for a first launch: a JSON array of changesets, compressed with LZ4. The bundle itself is not
/// signed.
private struct StartupBundle: Sendable {
    /// The texts of the wanted collections' changesets. If the bundle has several of one collection, the first counts.
    let changesets: [CollectionID: Bytes]
    private let session: Session
    private let client: ServerClient
    private let fetcher: CollectionFetcher
    private let url: String

    /// Downloads the bundle.
    init(_ session: Session, wanted: Set<CollectionID>) async throws(RemoteSettingsError) {
        guard !session.isClosed else { throw .closed }
        self.session = session
        client = try session.startingRun()
        fetcher = session.fetcher(client)
        do {
            let document = try await client.startupBundle(at: try await session.attachmentsURL.value(client))
            url = "\(document.url)"
            do {
                let content = try MozLZ4.unpack(document.body, limit: session.limits.startupBundleContentBytes)
                changesets = try Self.changesets(in: content, of: wanted, limits: session.limits)
            } catch let error as MozLZ4.Refused {
                throw RemoteSettingsError.other(
                    reason: "\(document.url): expected \(error.expected), found \(error.found); sync instead")
            } catch let error as JSONError {
                throw RemoteSettingsError.other(reason: "\(document.url): \(error); sync instead")
            }
        } catch {
            session.keepBackoff(client)
            throw RemoteSettingsError(error)
        }
    }

    /// Finds the wanted collections by their metadata. A changeset that names no collection is skipped.
    private static func changesets(
        in content: Bytes, of wanted: Set<CollectionID>, limits: Limits
    ) throws(JSONError) -> [CollectionID: Bytes] {
        var found: [CollectionID: Bytes] = [:]
        var reader = JSONReader(content, limits: limits)
        var count = 0
        try reader.beginArray()
        while try reader.nextElement() {
            count += 1
            guard count <= limits.startupBundleChangesets else {
                throw JSONError(.tooManyValues(limit: limits.startupBundleChangesets), at: reader.offset)
            }
            let changeset = try reader.skipValue()
            guard let id = collection(of: changeset, limits: limits), wanted.contains(id), found[id] == nil
            else { continue }
            found[id] = changeset
        }
        try reader.finish()
        return found
    }

    private static func collection(of changeset: Bytes, limits: Limits) -> CollectionID? {
        var reader = JSONReader(changeset, limits: limits)
        guard (try? reader.beginObject()) != nil else { return nil }
        while let key = try? reader.nextKey() {
            guard let text = try? reader.skipValue() else { return nil }
            guard key == "metadata" else { continue }
            guard let metadata = try? CollectionMetadata(parsing: text, limits: limits), let bucket = metadata.bucket,
                let name = metadata.id
            else { return nil }
            return try? CollectionID(bucket: bucket, name: name)
        }
        return nil
    }

    /// Verifies and stores one collection's state.
    func store(_ text: Bytes, _ collection: LocalCollection) async -> Result<SyncOutcome, RemoteSettingsError> {
        let began = session.now
        defer { session.keepBackoff(client) }
        do {
            let outcome = try await outcome(text, collection)
            let status: UptakeEvent.Status = if case .upToDate = outcome { .upToDate } else { .success }
            session.failures.recordSuccess(of: collection.id)
            session.report("\(collection.id)", status, .startup, timestamp: outcome.timestamp, since: began)
            return .success(outcome)
        } catch {
            session.report("\(collection.id)", .init(error), .startup, since: began, error: error)
            session.logger.warning("\(collection.id): the startup bundle's state could not be used: \(error)")
            return .failure(RemoteSettingsError(error))
        }
    }

    private func outcome(_ text: Bytes, _ collection: LocalCollection) async throws -> SyncOutcome {
        let unverified: UnverifiedSnapshot
        do throws(ChangesetError) {
            unverified = try Changeset(parsing: text, limits: session.limits).snapshot(of: collection.id, onto: nil)
        } catch {
            throw FetchError.changeset(error, url: url)
        }
        return try await CollectionSync(session: session, collection: collection, trigger: .startup)
            .update(to: unverified.timestamp) { wanted in
                .init(snapshot: try await fetcher.accept(unverified, wanted))
            }
    }
}
