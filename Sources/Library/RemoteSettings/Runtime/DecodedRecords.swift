import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Records that are decoded once per type.
final class DecodedRecords: Sendable {
    struct Content<Value: Sendable>: Sendable {
        var values: [Value] = []
        var failures: [RecordDecodingError] = []
    }

    private let known = Mutex<[ObjectIdentifier: (raw: [RemoteSettingsRecord], content: any Sendable)]>([:])

    /// Returns records decoded as one type. They are decoded only if they are not those of the last call for it.
    func content<Value: Sendable>(
        of raw: [RemoteSettingsRecord], decode: (RemoteSettingsRecord) throws(RecordDecodingError) -> Value
    ) -> Content<Value> {
        let type = ObjectIdentifier(Value.self)
        if let known = known.withLock({ $0[type] }), known.raw == raw, let content = known.content as? Content<Value> {
            return content
        }
        var content = Content<Value>()
        content.values.reserveCapacity(raw.count)
        for record in raw {
            do throws(RecordDecodingError) { content.values.append(try decode(record)) } catch {
                content.failures.append(error)
            }
        }
        known.withLock { $0[type] = (raw, content) }
        return content
    }
}

extension RemoteSettingsClient {
    /// Returns the records of ``records``, decoded as a type of the app; `nil` if there is no local state. Never
    /// uses the network; does I/O like ``records``.
    ///
    /// The records are decoded by the first call for a state and a type. With a decoder, each call decodes them.
    ///
    /// - Throws: ``RecordDecodingError`` for the first record that cannot be decoded.
    public func records<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder? = nil
    ) throws(RecordDecodingError) -> [Value]? {
        let decoded: DecodedRecords.Content<Value>? = decoded(with: decoder)
        if let failure = decoded?.failures.first { throw failure }
        return decoded?.values
    }

    /// Returns the records of ``records`` that can be decoded as a type of the app; `nil` if there is no local
    /// state.
    ///
    /// - Parameters:
    ///   - type: the type to decode each record as.
    ///   - decoder: the decoder for the records; `nil` for a `JSONDecoder()`, with which each state is decoded once.
    ///   - onError: a closure that receives the error of each record that is left out.
    public func records<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder? = nil,
        onError: (RecordDecodingError) -> Void
    ) -> [Value]? {
        let decoded: DecodedRecords.Content<Value>? = decoded(with: decoder)
        decoded?.failures.forEach(onError)
        return decoded?.values
    }

    private func decoded<Value: Decodable>(with decoder: JSONDecoder?) -> DecodedRecords.Content<Value>? {
        guard let collection = try? collection(), let records = collection.records() else { return nil }
        let known = decoder == nil ? collection.decoded : DecodedRecords()
        let decoder = decoder ?? JSONDecoder()
        return known.content(of: records) { record throws(RecordDecodingError) in
            do { return try record.decode(decoder: decoder) } catch {
                throw RecordDecodingError(collection: collectionName, record: record.id, problem: "\(error)")
            }
        }
    }
}
