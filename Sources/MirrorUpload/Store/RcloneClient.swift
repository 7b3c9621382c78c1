import Crypto
import FileStorage
import RemoteSettingsModel

/// A store that is reached by rclone.
package struct RcloneClient: StoreClient {
    package let place: StorePlace
    private let root: String
    private let program: ClientProgram

    /// rclone's exit codes for a folder or an object that does not exist.
    private static let missing: Set<Int32> = [3, 4]
    private static let patience = ["--contimeout", "15s", "--timeout", "60s", "--low-level-retries", "3"]
    /// Without these options, rclone looks up each object before and after writing it, and the bucket as well.
    private static let writing = ["--no-check-dest", "--s3-no-check-bucket", "--s3-no-head"]

    package init(_ place: StorePlace, bucket: String) {
        self.place = place
        root = "\(bucket)/\(place.prefix)"
        program = ClientProgram(name: "rclone", package: "apt-get install rclone", store: "\(place)")
    }

    package func list() async throws(UploadError) -> [String: StoredObject] {
        let action = "list the objects"
        let result = try await program.run(
            action,
            ["lsjson", "--recursive", "--files-only", "--no-modtime", "--no-mimetype", "--hash", root] + Self.patience)
        // An empty prefix looks like a missing folder. If the bucket is missing, the first write reports it.
        if Self.missing.contains(result.status) { return [:] }
        guard result.status == 0 else { throw program.failure(action, result) }
        var found: [String: StoredObject] = [:]
        for entry in try program.parse(result.output, action).array ?? [] {
            guard let key = entry["Path"]?.string, let size = entry["Size"]?.number?.int64 else { continue }
            let md5 = entry["Hashes"]?["md5"]?.string
            found[key] = StoredObject(size: Int(clamping: size), tag: md5.flatMap { $0.isEmpty ? nil : "\"\($0)\"" })
        }
        return found
    }

    package func read(_ key: String, to file: String) async throws(UploadError) -> String {
        let action = "read \(key)"
        let bytes = try await program.check(action, ["cat", root + key] + Self.patience)
        do throws(FileError) {
            try FileStore.replace(file, with: Bytes(bytes), flushing: false)
        } catch {
            throw program.failure(action, "\(error)")
        }
        return Self.tag(bytes)
    }

    package func write(
        _ key: String, from file: String, _ headers: ObjectHeaders, _ condition: WriteCondition
    ) async throws(UploadError) -> String? {
        let action = "write \(key)"
        let extra =
            switch condition {
            case .always: [String]()
            // rclone adds this header to all its requests, but here there is only one. After a retry, rclone could not
            // tell whether the object is its own or somebody else's.
            case .ifAbsent: ["--header", "If-None-Match: *", "--retries", "1"]
            case .ifUnchanged(let tag): ["--header", "If-Match: \(tag)", "--retries", "1"]
            }
        let tag: String
        do throws(FileError) {
            tag = Self.tag(try FileStore.read(file, limit: .max)?.array ?? [])
        } catch {
            throw program.failure(action, "\(error)")
        }
        let result = try await program.run(
            action, ["copyto", file, root + key] + Self.writing + Self.patience + extra + Self.options(headers))
        if result.isRefused { return nil }
        guard result.status == 0 else { throw program.failure(action, result) }
        return tag
    }

    package func writeAll(in folder: String, _ headers: ObjectHeaders) async throws(UploadError) {
        _ = try await program.check(
            "write objects",
            ["copy", folder, root, "--no-traverse", "--transfers", "16"] + Self.writing + Self.patience
                + Self.options(headers))
    }

    package func remove(_ keys: [String], scratch: String) async throws(UploadError) {
        let action = "remove objects"
        let file = "\(scratch)/removed"
        do throws(FileError) {
            try FileStore.replace(file, with: Bytes(utf8: keys.joined(separator: "\n") + "\n"), flushing: false)
        } catch {
            throw program.failure(action, "\(error)")
        }
        _ = try await program.check(
            action, ["delete", root, "--files-from-raw", file, "--no-traverse"] + Self.patience)
    }

    /// The tag of S3 for an object that was written in one piece: the MD5 of its content.
    private static func tag(_ bytes: [UInt8]) -> String { "\"\(ContentSums.hex(Insecure.MD5.hash(data: bytes)))\"" }

    private static func options(_ headers: ObjectHeaders) -> [String] {
        var fields = ["Content-Type: \(headers.contentType)", "Cache-Control: \(headers.cacheControl)"]
        if let encoding = headers.contentEncoding { fields.append("Content-Encoding: \(encoding)") }
        return fields.flatMap { ["--header-upload", $0] }
    }
}
