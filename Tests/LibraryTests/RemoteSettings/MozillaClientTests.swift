import Foundation
import RemoteSettingsTesting
import Testing

/// Unit tests of Mozilla's Rust client (`components/remote_settings` of application-services), under their original
/// names. Those that other tests here already cover are:
///
/// - `test_defaults`: `BindingNamesTests.serviceFollowsItsConfiguration`
/// - `test_deprecated_server_url`: `ServerURLTests.serverURLIsCompleted`
/// - `test_invalid_config`, `test_options`: such a configuration cannot be expressed here
/// - `test_backoff`: `SyncTests.backoffSurvivesARestart`
/// - `test_500_retry_after`: `SyncTests.backoffSurvivesARestart`
/// - `test_backoff_recovery`: `RepetitionTests`, `test_library_commands.test_get_sync_obeys_backoff`
/// - `test_missing_etag`, `test_invalid_etag`: `ETag` is not read; `ChangesetTests`, `LieTests.brokenAnswerIsRefused`
/// - `test_endpoints`: `SyncTests.secondSyncAsksOnlyTheMonitor`
/// - `test_get_records_none_cached`, also `…_sync_with_empty`, `test_no_cached_data_no_packaged_data_sync_if_empty_true`,
///   also `…_false`, `test_cached_data_exists_and_not_empty`: `RecordQueryTests.localQueriesMakeNoRequest`
/// - `test_cached_data_empty_sync_if_empty_false`: `SyncTests.emptiedThenRecreatedCollection`
/// - `test_update_jexl_context`: `FirstUseTests.recordUpdatesStartWithHeldAndFollowContext`
/// - `test_update_config_deadlock`: `RemoteSettingsStressTests`
/// - `test_packaged_attachment_outdated_fetch_from_api`: `AttachmentTests.staleAttachmentsAreReturnedOnRequest`
/// - `test_reset_storage_deletes_records_and_attachments`: `AttachmentTests.attachmentsOfDeletedRecordsAreRemoved`
/// - `test_no_cached_data_use_packaged_data`: `PackagedTests.offlineWithAnEmptyStorageDirectory`
/// - `test_packaged_data_newer_than_cached`: `RecordQueryTests.packagedRecordsCanBeLeftOut`
/// - `test_reset_storage_reverts_to_packaged_data`: `SharedStorageTests.resetStorageGoesBackToPackage`
/// - `test_attachment_can_be_downloaded`: `AttachmentTests.attachmentIsDownloadedOnceThenCached`
/// - `test_no_cached_data_use_packaged_attachment`: `AttachmentTests.packagedAttachmentAsAFile`
/// - `test_context_normalization`: `RecordFilterTests.appAttributesInFilter`
/// - `test_valid_signature`: `SyncTests.firstSyncThenChangesAndDeletions`, `MozillaChainTests`
/// - `test_second_signature_is_valid`: `SyncTests.syncNeedsOneValidSignature`
/// - `test_get_records_filtered_app_version_pass`, also `…_too_low`: `RecordFilterTests`,
///   `PreviewTests.filtersSeeTypedContextAttributes`
/// - `test_invalid_signature_value`, `test_invalid_signature_invalid_data`, `test_invalid_certificate_value`:
///   `LieTests.falseChangesetIsRefused`, `SnapshotVerificationTests`
/// - `test_invalid_signature_expired_cert`: `ChainVerificationTests`
/// - `test_invalid_signature_invalid_signer_name`: `SubstitutionTests.stateOfOtherBucketsSignerIsRefused`,
///   `LieTests.falseChangesetIsRefused`
/// - `test_records_canonicaljson_serialization`, also `…_with_attachment`: `ChangesetTests`,
///   `CanonicalJSONDifferentialTests`; `attachment: null` and `deleted: false` are kept here
/// - `test_storage_set_and_get_records`, `test_storage_insert_collection_content`:
///   `SyncTests.firstSyncThenChangesAndDeletions`
/// - `test_storage_get_records_none`: `RecordQueryTests.localQueriesMakeNoRequest`
/// - `test_storage_get_records_empty`: `SyncTests.emptiedThenRecreatedCollection`
/// - `test_storage_merge_records`, `test_combine_cache_and_response`: `SyncTests.firstSyncThenChangesAndDeletions`,
///   `ChangesetTests`
/// - `test_storage_get_collection_metadata`: `CacheFileTests`, `PackagedTests.snapshotStatusDescribesThePackage`
/// - `test_storage_collection_url_isolation`: `EnvironmentTests.alternatingServersKeepTheirOwnStates`
/// - `test_storage_set_and_get_attachment`, `test_storage_get_attachment_not_found`:
///   `AttachmentTests.attachmentIsDownloadedOnceThenCached`
/// - `test_storage_set_and_replace_attachment`, `test_storage_set_attachment_delete_others`:
///   `AttachmentTests.attachmentsOfDeletedRecordsAreRemoved`
/// - `test_storage_empty`: `ServiceStateTests.resetStorageRemovesAllCollections`
/// - `test_file_cache`: `CacheFileTests`, `LieTests.damagedCacheFileServesNoOtherRecord`
@Suite struct MozillaClientTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func test_record_fields() async throws {
        let collection = try place.collection()
        try collection.put("plain", ["title": "no-attachment", "content": "content", "schema": 1_677_694_447_771])
        let file = Data("I'm a JPG, I swear".utf8)
        try collection.attach(file, to: "file", of: ["title": "jpg-attachment"])
        try collection.put("gone")
        let client = place.client(collection)
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

    @Test func test_attachment_errors_if_server_not_configured_for_attachments() async throws {
        let (_, client) = try await place.synced(attaching: ["a": "file"])
        let record = try #require(client.records?.first)
        place.server.inject([Fault("/v1/", effect: .body(#"{"capabilities":{"admin":{"version":"2.0.0"}}}"#))])
        let asked = place.server.requests.count
        let error = await #expect(throws: RemoteSettingsError.self) { try await client.getAttachment(record: record) }
        #expect(error.map { "\($0)" }?.contains("attachments") == true)
        let location = try #require(record.attachment?.location)
        #expect(!place.server.requests.dropFirst(asked).contains { $0.path.contains(location) })
    }

    /// The delta contains an extra record; the full changeset is as signed.
    @Test func test_valid_signature_after_retry() async throws {
        let (collection, client) = try await place.synced("a")
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
