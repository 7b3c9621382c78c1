import FileStorage
import RemoteSettingsModel

/// A store that is reached by the AWS command line.
package struct AWSClient: StoreClient {
    package let place: StorePlace
    private let bucket: String
    private let program: ClientProgram

    private static let patience = ["--cli-connect-timeout", "15", "--cli-read-timeout", "60"]
    /// The most keys that one request can remove.
    private static let removals = 1000

    package init(_ place: StorePlace, bucket: String) {
        self.place = place
        self.bucket = bucket
        program = ClientProgram(
            name: "aws", package: "the AWS command line of 2025 or newer, or pip install awscli", store: "\(place)")
    }

    package func list() async throws(UploadError) -> [String: StoredObject] {
        let action = "list the objects"
        let output = try await program.check(action, api("list-objects-v2", ["--prefix", place.prefix]))
        // The client prints nothing if the list is empty.
        let list = output.isEmpty ? JSONValue.null : try program.parse(output, action)
        var found: [String: StoredObject] = [:]
        for entry in list["Contents"]?.array ?? [] {
            guard let key = entry["Key"]?.string, key.hasPrefix(place.prefix), let size = entry["Size"]?.number?.int64
            else { continue }
            found[String(key.dropFirst(place.prefix.count))] = StoredObject(
                size: Int(clamping: size), tag: entry["ETag"]?.string)
        }
        return found
    }

    package func read(_ key: String, to file: String) async throws(UploadError) -> String {
        let action = "read \(key)"
        let output = try await program.check(action, api("get-object", ["--key", place.prefix + key, file]))
        return try tag(of: output, action)
    }

    package func write(
        _ key: String, from file: String, _ headers: ObjectHeaders, _ condition: WriteCondition
    ) async throws(UploadError) -> String? {
        let action = "write \(key)"
        let extra =
            switch condition {
            case .always: [String]()
            case .ifAbsent: ["--if-none-match", "*"]
            case .ifUnchanged(let tag): ["--if-match", tag]
            }
        let result = try await program.run(
            action, api("put-object", ["--key", place.prefix + key, "--body", file] + Self.options(headers) + extra))
        if result.isRefused { return nil }
        guard result.status == 0 else { throw program.failure(action, result) }
        return try tag(of: result.output, action)
    }

    package func writeAll(in folder: String, _ headers: ObjectHeaders) async throws(UploadError) {
        _ = try await program.check(
            "write objects",
            [
                "s3", "cp", "--recursive", "--only-show-errors", "--no-guess-mime-type", folder,
                "s3://\(bucket)/\(place.prefix)",
            ]
                + Self.options(headers) + Self.patience)
    }

    package func remove(_ keys: [String], scratch: String) async throws(UploadError) {
        let action = "remove objects"
        var left = keys[...]
        while !left.isEmpty {
            let objects = left.prefix(Self.removals).map { JSONValue.members(["Key": .string(place.prefix + $0)]) }
            left = left.dropFirst(Self.removals)
            let request = JSONText.compact(.members(["Objects": .array(objects), "Quiet": .bool(true)]))
            let file = "\(scratch)/removed"
            do throws(FileError) {
                try FileStore.replace(file, with: Bytes(request), flushing: false)
            } catch {
                throw program.failure(action, "\(error)")
            }
            let output = try await program.check(action, api("delete-objects", ["--delete", "file://\(file)"]))
            // A request that fails for some keys still succeeds, and lists their errors.
            guard !output.isEmpty, let errors = try program.parse(output, action)["Errors"]?.array,
                let first = errors.first
            else { continue }
            throw program.failure(action, "\(first["Key"]?.string ?? ""): \(first["Message"]?.string ?? "refused")")
        }
    }

    private func api(_ operation: String, _ arguments: [String]) -> [String] {
        ["s3api", operation, "--bucket", bucket, "--output", "json"] + arguments + Self.patience
    }

    private func tag(of output: [UInt8], _ action: String) throws(UploadError) -> String {
        guard let tag = try program.parse(output, action)["ETag"]?.string else {
            throw program.failure(action, "its output has no ETag")
        }
        return tag
    }

    private static func options(_ headers: ObjectHeaders) -> [String] {
        ["--content-type", headers.contentType, "--cache-control", headers.cacheControl]
            + (headers.contentEncoding.map { ["--content-encoding", $0] } ?? [])
    }
}
