import Foundation
import RemoteSettings
import RemoteSettingsTesting
import Testing

extension ServerTests {
    /// What the unit tests of Mozilla's Rust client (`components/remote_settings` of application-services) check, under
    /// their names, if no other test here did. The others are covered here:
    ///
    /// - `test_defaults`: `GuideExamples.makingAService`
    /// - `test_deprecated_server_url`: `MovingOverTests.serverURLWithoutVersionUsesV2`
    /// - `test_invalid_config`, `test_options`: such a configuration cannot be written here
    /// - `test_backoff`: `SyncTests.backoffSurvivesARestart`
    /// - `test_500_retry_after`: `SyncTests.backoffSurvivesARestart`
    /// - `test_backoff_recovery`: `RepetitionTests`, `test_library_commands.test_get_sync_obeys_backoff`
    /// - `test_missing_etag`, `test_invalid_etag`: no `ETag` is read; `ChangesetTests`, `LieTests.brokenAnswers`
    /// - `test_no_cached_data_no_packaged_data_sync_if_empty_true`: `test_get_records_none_cached_sync_with_empty`
    /// - `test_no_cached_data_no_packaged_data_sync_if_empty_false`: `test_get_records_none_cached`
    /// - `test_no_cached_data_use_packaged_data`: `PackagedTests.offlineWithAnEmptyStorageDirectory`
    /// - `test_packaged_data_newer_than_cached`: `SyncTests.newerPackageWinsOverTheCache`
    /// - `test_reset_storage_reverts_to_packaged_data`: `PackagedTests.resetFallsBackToThePackage`
    /// - `test_attachment_can_be_downloaded`: `AttachmentTests.downloadedOnceThenCached`
    /// - `test_no_cached_data_use_packaged_attachment`: `AttachmentTests.packagedAttachmentAsAFile`
    /// - `test_context_normalization`: `RecordFilterTests.environment`
    /// - `test_valid_signature`: `SyncTests.firstSyncThenChangesAndDeletions`, `MozillaChainTests`
    /// - `test_second_signature_is_valid`: `SyncTests.syncNeedsOneValidSignature`
    /// - `test_get_records_filtered_app_version_pass`, also `…_too_low`: `RecordFilterTests`,
    ///   `PreviewTests.filtersSeeTypedContextAttributes`
    /// - `test_invalid_signature_value`, `test_invalid_signature_invalid_data`, `test_invalid_certificate_value`:
    ///   `LieTests.badSignature`, `LieTests.tamperedRecord`, `SnapshotVerificationTests`
    /// - `test_invalid_signature_expired_cert`: `ChainVerificationTests`
    /// - `test_invalid_signature_invalid_signer_name`: `SubstitutionTests.stateOfOtherBucketsSignerIsRefused`,
    ///   `LieTests.metadataOfAnotherBucket`
    /// - `test_records_canonicaljson_serialization`, also `…_with_attachment`: `ChangesetTests`,
    ///   `CanonicalJSONDifferentialTests`; `attachment: null` and `deleted: false` are kept here
    /// - `test_storage_set_and_get_records`, `test_storage_insert_collection_content`:
    ///   `SyncTests.firstSyncThenChangesAndDeletions`
    /// - `test_storage_get_records_none`: `test_get_records_none_cached`
    /// - `test_storage_get_records_empty`: `SyncTests.emptiedThenRecreatedCollection`
    /// - `test_storage_merge_records`, `test_combine_cache_and_response`: `SyncTests.firstSyncThenChangesAndDeletions`,
    ///   `ChangesetTests`
    /// - `test_storage_get_collection_metadata`: `CacheFileTests`, `PackagedTests.snapshotStatusDescribesThePackage`
    /// - `test_storage_collection_url_isolation`: `LieTests.storedStateOfAnotherServerIsNotUsed`
    /// - `test_storage_set_and_get_attachment`, `test_storage_get_attachment_not_found`:
    ///   `AttachmentTests.downloadedOnceThenCached`
    /// - `test_storage_set_and_replace_attachment`, `test_storage_set_attachment_delete_others`:
    ///   `AttachmentTests.orphansAreRemoved`
    /// - `test_storage_empty`: `test_reset_storage_deletes_records_and_attachments`
    /// - `test_file_cache`: `CacheFileTests`, `LieTests.damagedCacheFile`
    @Suite struct MozillaClientTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        private func client(
            of collection: ServerCollection, _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
        ) -> RemoteSettingsClient {
            place.service(change).makeClient(collectionName: collection.name)
        }

        @Test func test_endpoints() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(of: collection).sync()
            let timestamp = try collection.timestamp()
            let paths = place.server.requests.map(\.path)
            #expect(
                Array(paths.prefix(2)) == [
                    "/v1/buckets/monitor/collections/changes/changeset?_expected=0",
                    "/v1/buckets/main/collections/\(collection.name)/changeset?_expected=\(timestamp)",
                ])
        }

        @Test func test_get_records_none_cached() throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            #expect(client(of: collection).records == nil)
            #expect(place.server.requests.isEmpty)
        }

        @Test func test_get_records_none_cached_sync_with_empty() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let client = client(of: collection)
            #expect(await client.recordsOrSync()?.map(\.id) == ["a"])
            #expect(client.records?.map(\.id) == ["a"])
        }

        /// Records that are held, an empty list too, are returned, and no request is made.
        @Test(arguments: ["test_cached_data_exists_and_not_empty", "test_cached_data_empty_sync_if_empty_false"])
        func cachedData(_ name: String) async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            if name.contains("data_empty") { collection.deleteAll() }
            let client = client(of: collection)
            try await client.sync()
            let held = try #require(client.records)
            #expect(held.map(\.id) == (name.contains("data_empty") ? [] : ["a"]))
            let asked = place.server.requests.count
            #expect(await client.recordsOrSync() == held)
            #expect(place.server.requests.count == asked)
        }

        @Test func test_record_fields() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("plain", ["title": "no-attachment", "content": "content", "schema": 1_677_694_447_771])
            let file = Data("I'm a JPG, I swear".utf8)
            try collection.attach(file, to: "file", of: ["title": "jpg-attachment"])
            try collection.put("gone")
            let client = client(of: collection)
            try await client.sync()
            collection.delete("gone")
            try await client.sync()
            let records = try #require(client.recordsByID)
            #expect(records.keys.sorted() == ["file", "plain"])
            let plain = try #require(records["plain"])
            #expect(plain.attachment == nil && !plain.deleted && plain.lastModified > 0)
            #expect(plain.fields == #"{"content":"content","schema":1677694447771,"title":"no-attachment"}"#)
            let described = try #require(records["file"]?.attachment)
            #expect(described.size == UInt64(file.count) && described.hash.count == 64)
            #expect(!described.filename.isEmpty && !described.mimetype.isEmpty && !described.location.isEmpty)
            #expect(records["file"]?.fields == #"{"title":"jpg-attachment"}"#)
        }

        @Test func test_update_jexl_context() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["filter_expression": #"env.country == "US""#])
            let service = place.service { $0.appContext = RemoteSettingsContext(country: "US") }
            let client = service.makeClient(collectionName: collection.name)
            try await client.sync()
            #expect(client.records?.count == 1)
            try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(country: "UK") })
            #expect(client.records == [])
        }

        /// In Mozilla's client an update of the configuration once waited for a reader that waited for it.
        @Test(.timeLimit(.minutes(10))) func test_update_config_deadlock() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let service = place.service()
            let client = service.makeClient(collectionName: collection.name)
            try await client.sync()
            let config = place.config { $0.appContext = RemoteSettingsContext(country: "UK") }
            try await withThrowingTaskGroup { group in
                for number in 0..<40 {
                    group.addTask {
                        switch number % 4 {
                        case 0: try service.updateConfig(config: config)
                        case 1: _ = try? await client.sync()
                        default: _ = client.records
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await client.sync()
            #expect(client.records?.map(\.id) == ["a"])
        }

        @Test func test_attachment_errors_if_server_not_configured_for_attachments() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("file".utf8), to: "a")
            let client = client(of: collection)
            try await client.sync()
            let record = try #require(client.records?.first)
            place.server.inject([Fault("/v1/", effect: .body(#"{"capabilities":{"admin":{"version":"2.0.0"}}}"#))])
            let asked = place.server.requests.count
            let error = await #expect(throws: RemoteSettingsError.self) {
                try await client.getAttachment(record: record)
            }
            #expect(error.map { "\($0)" }?.contains("attachments") == true)
            let location = try #require(record.attachment?.location)
            #expect(!place.server.requests.dropFirst(asked).contains { $0.path.contains(location) })
        }

        @Test func test_packaged_attachment_outdated_fetch_from_api() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("packaged".utf8), to: "a")
            let dumps = try await place.package([collection])
            try collection.attach(Data("newer".utf8), to: "a")
            let client = client(of: collection) { $0.packaged = [.directory(dumps)] }
            let packaged = try #require(client.records?.first)
            #expect(try await client.attachment(for: packaged).data == Data("packaged".utf8))
            try await client.sync()
            let newer = try #require(client.records?.first)
            let found = try await client.attachment(for: newer)
            #expect(found.source == .network && found.data == Data("newer".utf8))
        }

        @Test func test_reset_storage_deletes_records_and_attachments() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("data".utf8), to: "a")
            let client = client(of: collection)
            try await client.sync()
            let record = try #require(client.records?.first)
            _ = try await client.getAttachment(record: record)
            #expect(client.localAttachment(for: record) != nil)
            try await client.resetStorage()
            #expect(client.records == nil && client.localAttachment(for: record) == nil)
        }

        /// The delta holds a record too many; the full list is as it was signed.
        @Test func test_valid_signature_after_retry() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let client = client(of: collection)
            try await client.sync()
            try collection.put("b")
            var delta = try collection.changeset()
            let records = try #require(delta["changes"] as? [[String: Any]])
            delta["changes"] = records + [["id": "bad-record", "last_modified": 9999]]
            let body = String(decoding: try JSONSerialization.data(withJSONObject: delta), as: UTF8.self)
            place.server.inject([Fault("/\(collection.name)/changeset", "_since", effect: .body(body))])
            try await client.sync()
            #expect(try state(of: client) == collection.state())
        }
    }
}
