import RemoteSettingsModel
import SnapshotBundle

/// The maximum sizes of bundles and attachments, in bytes; `nil` for no limit.
package struct Budget: Hashable, Sendable {
    /// The maximum size of a bundle's file.
    package var bundle: UInt64?
    /// The maximum size of a single attachment, uncompressed.
    var attachment: UInt64?
}

/// An excess over a budget in `dumps.yaml`, with the largest contributors.
package struct BudgetExcess: Hashable, Sendable, Encodable, CustomStringConvertible {
    package enum Subject: String, Hashable, Sendable, Encodable {
        case attachment
        case bundle
        case total
    }

    /// A contributor to the excess, such as an attachment.
    struct Contributor: Hashable, Sendable, Encodable {
        let name: String
        /// The size in bytes.
        let size: UInt64
    }

    private enum CodingKeys: String, CodingKey {
        case subject = "budget"
        case size, limit, largest
    }

    package let subject: Subject
    /// The size in bytes of the largest attachment, of the bundle, or of all bundles.
    let size: UInt64
    let limit: UInt64
    /// The largest contributors, in descending order of size, at most five. For a bundle, the uncompressed sizes of its
    /// parts are compared.
    let largest: [Contributor]

    init(_ subject: Subject, size: UInt64, limit: UInt64, contributors: [Contributor]) {
        self.subject = subject
        self.size = size
        self.limit = limit
        largest = Array(contributors.sorted { ($1.size, $0.name) < ($0.size, $1.name) }.prefix(5))
    }

    package var description: String {
        let parts = largest.map { "\($0.name) \(ByteSize.text($0.size))" }.joined(separator: ", ")
        return switch subject {
        case .attachment:
            "attachments are over the budget of \(exact(limit)) each: \(parts); the current bundle is kept; raise "
                + "attachment: under budget: in dumps.yaml, or leave them out with max-size or include under attachments:"
        case .bundle:
            "the bundle would be \(exact(size)), over the budget of \(exact(limit)); largest parts, uncompressed: "
                + "\(parts); the current bundle is kept; raise bundle: under budget: in dumps.yaml, or leave attachments out"
        case .total:
            "all bundles together would be \(exact(size)), over the budget of \(exact(limit)); the largest: \(parts); "
                + "nothing was changed; raise total: under budget: in dumps.yaml, or leave collections out"
        }
    }

    /// A short sentence for an existing state that exceeds its budget, because the budget was added or lowered later.
    package var sentence: String {
        switch subject {
        case .attachment:
            "over its budget of \(exact(limit)) for an attachment: \(largest[0].name) \(ByteSize.text(size))"
        case .bundle: "over its budget of \(exact(limit))"
        case .total: "over the budget of \(exact(limit)) for all bundles, with \(exact(size))"
        }
    }

    /// Returns the size in a readable unit, with the exact number of bytes if that is rounded.
    private func exact(_ bytes: UInt64) -> String {
        bytes < 1024 ? ByteSize.text(bytes) : "\(ByteSize.text(bytes)) (\(bytes) bytes)"
    }
}

extension Budget {
    /// Checks attachments against the budget before they are downloaded.
    package func check(_ wanted: [WantedAttachment]) throws(Failure) {
        guard let limit = attachment else { return }
        let over = wanted.filter { UInt64(clamping: $0.size) > limit }
        guard let largest = over.map(\.size).max() else { return }
        throw .overBudget(
            BudgetExcess(
                .attachment, size: UInt64(largest), limit: limit,
                contributors: over.map {
                    .init(name: "\($0.location) of record \($0.record)", size: UInt64(clamping: $0.size))
                }))
    }

    /// Checks a finished bundle against the budget before it is renamed into place.
    package func check(size: Int, of manifest: Manifest) throws(Failure) {
        guard let limit = bundle, UInt64(size) > limit else { return }
        throw .overBudget(
            BudgetExcess(.bundle, size: UInt64(size), limit: limit, contributors: Self.contributors(of: manifest)))
    }

    static func contributors(of manifest: Manifest) -> [BudgetExcess.Contributor] {
        var parts = manifest.entries.map { BudgetExcess.Contributor(name: $0.name, size: UInt64(clamping: $0.size)) }
        for file in manifest.packed {
            parts.append(
                .init(name: "\(file.location) of record \(file.records[0])", size: UInt64(clamping: file.size)))
        }
        return parts
    }

    /// Returns the excess of an existing bundle over the budget; `nil` if there is none. The bundle is opened only if
    /// necessary.
    ///
    /// - Throws: `Failure` if the bundle cannot be read.
    package func excess(
        of entry: LockFile.Collection, in bundle: @autoclosure () throws -> BundleReader
    ) throws -> BudgetExcess? {
        let isOver = self.bundle.map { UInt64(clamping: entry.bundle.size) > $0 } ?? false
        guard isOver || attachment != nil else { return nil }
        let manifest = try bundle().manifest()
        do throws(Failure) {
            try check(
                manifest.files.filter { $0.omitted == nil }.map { file in
                    .init(digest: file.sha256, size: file.size, location: file.location, record: file.records[0])
                })
            try check(size: entry.bundle.size, of: manifest)
            return nil
        } catch {
            return error.excess
        }
    }
}

extension LockFile {
    /// Returns the excess of all bundles together over the budget; `nil` if there is none.
    package func excess(over limit: UInt64?) -> BudgetExcess? {
        guard let limit else { return nil }
        let bundles = collections.map { id, entry in
            BudgetExcess.Contributor(name: "\(id)", size: UInt64(clamping: entry.bundle.size))
        }
        let sum = bundles.saturatingSum(\.size)
        return sum > limit ? BudgetExcess(.total, size: sum, limit: limit, contributors: bundles) : nil
    }
}
