import RemoteSettingsModel
import SnapshotBundle

/// The contents of a dumps directory at one time, as an in-toto statement (version 1): the hashes of its files, and
/// what vouches for each bundle. The statement is not signed. A tool such as cosign can sign it.
package struct Attestation: Sendable {
    package static let statementType = "https://in-toto.io/Statement/v1"
    package static let predicateType = "urn:swift-remote-settings:dumps:v1"
    /// The largest size of a statement that is read, in bytes.
    package static let mostBytes = 64 << 20

    /// The SHA-256 of each file, by its path below the directory.
    package let files: [String: SHA256Digest]
    private let predicate: JSONValue

    /// Hashes the files that the lock names, the lock and `dumps.yaml`. Does I/O; verifies nothing.
    ///
    /// - Parameters:
    ///   - commit: the commit of the directory; `nil` outside git.
    ///   - tool: the version of rsdump.
    package init(of directory: DumpsDirectory, commit: String?, tool: String, at now: Timestamp, limits: Limits) throws
    {
        let lock = try directory.lockFile(limits: limits)
        files = try Self.hashes(of: directory, lock)
        let bundles = lock.collections.sorted { $0.key < $1.key }.map { id, entry -> JSONValue in
            let verdict = entry.trust.verdict
            return .members([
                "collection": .string("\(id)"), "timestamp": .count(entry.timestamp.milliseconds),
                "lastModified": .string(entry.timestamp.rfc3339), "server": .string(entry.server),
                "bundle": .string(entry.bundle.path), "sha256": .string(entry.bundle.sha256.hex),
                "content": .string(entry.content.hex), "trust": .string(entry.trust.kind.rawValue),
                "signer": verdict.map { .string($0.signer) }, "root": verdict.map { .string($0.root.hex) },
                "verifiedAt": verdict.map { .string($0.verifiedAt.rfc3339) },
            ])
        }
        predicate = .members([
            "made": .string(now.rfc3339), "rsdump": .string(tool), "commit": commit.map(JSONValue.string),
            "bundles": .array(bundles),
        ])
    }

    /// Reads a statement. Does I/O.
    ///
    /// - Throws: `FileError`, or ``DumpsError`` if the file is not such a statement.
    package init(path: String, limits: Limits) throws {
        func failure(_ found: String) -> DumpsError {
            .notComparable("\(path): expected an attestation of rsdump attest, found \(found)")
        }
        guard let text = try FileStore.read(path, limit: Self.mostBytes) else { throw failure("no such file") }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: text, limits: limits)
        } catch {
            throw failure("\(error)")
        }
        guard document["_type"]?.string == Self.statementType else { throw failure("another type of document") }
        guard document["predicateType"]?.string == Self.predicateType, let predicate = document["predicate"] else {
            throw failure("a statement about something else")
        }
        var files: [String: SHA256Digest] = [:]
        for subject in document["subject"]?.array ?? [] {
            guard let name = subject["name"]?.string,
                let digest = (subject["digest"]?["sha256"]?.string).flatMap({ SHA256Digest(hex: $0) }),
                files.updateValue(digest, forKey: name) == nil
            else { throw failure("a subject without a unique name or without a SHA-256") }
        }
        self.files = files
        self.predicate = predicate
    }

    /// The statement, ready to be signed.
    package var text: [UInt8] {
        let subjects = files.sorted { $0.key < $1.key }.map { name, digest -> JSONValue in
            .members(["name": .string(name), "digest": .members(["sha256": .string(digest.hex)])])
        }
        let statement = JSONValue.members([
            "_type": .string(Self.statementType), "subject": .array(subjects),
            "predicateType": .string(Self.predicateType), "predicate": predicate,
        ])
        return JSONText.text(statement, .indented) + [UInt8(ascii: "\n")]
    }

    /// The hashes in the form that `sha256sum --check` reads.
    package var sums: String {
        files.sorted { $0.key < $1.key }.map { "\($0.value.hex)  \($0.key)\n" }.joined()
    }

    /// Compares the directory's files with the statement. Does I/O.
    ///
    /// - Returns: the differences, one sentence each; empty if all files are as attested.
    package func differences(from directory: DumpsDirectory, limits: Limits) throws -> [String] {
        let found = try Self.hashes(of: directory, directory.lockFile(limits: limits))
        return Set(files.keys).union(found.keys).sorted().compactMap { name in
            switch (files[name], found[name]) {
            case (let attested?, let present?) where attested == present: nil
            case (let attested?, let present?): "\(name): expected SHA-256 \(attested) as attested, found \(present)"
            case (.some, nil): "\(name): it is attested, but the file does not exist"
            case (nil, _): "\(name): the file exists, but it is not attested"
            }
        }
    }

    private static func hashes(of directory: DumpsDirectory, _ lock: LockFile) throws -> [String: SHA256Digest] {
        var files: [String: SHA256Digest] = [:]
        for name in ["dumps.yaml", "dumps.lock.json"] + lock.collections.values.map(\.bundle.path) {
            let path = "\(directory.path)/\(name)"
            if try FileStore.size(path) != nil { files[name] = try FileStore.digest(of: path) }
        }
        return files
    }
}
