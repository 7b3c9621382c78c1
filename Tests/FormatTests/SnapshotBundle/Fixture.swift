import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// A generated snapshot with attachments. Each record has its own attachment unless a test changes that.
struct Fixture {
    var collection = "main/fixture"
    var timestamp: UInt64 = 1_700_000_000_123
    var records: [(id: String, attachment: (bytes: [UInt8], location: String)?)] = []
    var isSigned = true
    var metadata = #"{"id":"fixture","bucket":"main","signatures":[]}"#
    var chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    /// Returns a fixture of `count` records with small attachments, every third of which is incompressible.
    static func records(_ count: Int, seed: UInt64 = 1) -> Fixture {
        var random = SplitMix(state: seed)
        var fixture = Fixture()
        for index in 0..<count {
            let digits = String(index)
            let id = "r" + String(repeating: "0", count: 7 - digits.count) + digits
            let bytes =
                index % 3 == 0
                ? (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
                : Array("attachment \(index) ".utf8) + [UInt8](repeating: 0x61, count: 60)
            fixture.records.append((id, (bytes, "main-workspace/fixture/\(id).bin")))
        }
        return fixture
    }

    var payload: String {
        var text = #"{"data":["#
        for (index, record) in records.enumerated() {
            if index > 0 { text += "," }
            text += "{"
            if let (bytes, location) = record.attachment {
                var escaped: [UInt8] = []
                JSONString.append(location, .ascii, to: &escaped)
                text += #""attachment":{"filename":"f","hash":"\#(digest(bytes).hex)","location":"#
                text += String(decoding: escaped, as: UTF8.self)
                text += #","mimetype":"text/plain","size":\#(bytes.count)},"#
            }
            text += #""id":"\#(record.id)","last_modified":1}"#
        }
        return text + #"],"last_modified":"\#(timestamp)"}"#
    }

    func snapshot() throws -> Snapshot {
        let unverified = UnverifiedSnapshot(
            collection: try CollectionID(collection),
            payload: try Payload(parsing: Bytes(utf8: payload)),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: metadata)))
        let verdict = SignatureVerdict(
            signer: "test", root: digest([]), chainNotAfter: Timestamp(milliseconds: 2),
            verifiedAt: Timestamp(milliseconds: 1))
        return Snapshot(
            vouchingFor: unverified, chain: isSigned ? Bytes(utf8: chain) : nil,
            provenance: isSigned ? .signed(verdict) : .unsigned)
    }

    var sources: [SHA256Digest: AttachmentInput] {
        var sources: [SHA256Digest: AttachmentInput] = [:]
        for record in records {
            if let bytes = record.attachment?.bytes { sources[digest(bytes)] = .bytes(Bytes(bytes)) }
        }
        return sources
    }

    func writer(_ storage: BundleWriter.Compression = .deflate) throws -> BundleWriter {
        BundleWriter(try snapshot(), attachments: sources, compression: storage)
    }

    /// The bundle's bytes.
    func bundle(_ storage: BundleWriter.Compression = .deflate) throws -> [UInt8] {
        try written(by: writer(storage))
    }
}

/// Returns the bytes that a writer writes to a new file.
func written(by writer: BundleWriter) throws -> [UInt8] {
    let path = FileManager.default.temporaryDirectory.appending(path: "snapshot-bundle-\(UUID().uuidString).zip").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = try writer.write(toNewFile: path)
    return try contents(path)
}

func digest(_ bytes: [UInt8]) -> SHA256Digest { SHA256Digest(hashing: Bytes(bytes)) }

func contents(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))
}

func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
}

/// A test suite in which each test has its own directory.
class DirectorySuite {
    let directory: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "snapshot-bundle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        directory = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}

/// A deterministic random number generator: SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The output and exit status of a program.
struct Outcome {
    let status: Int32
    let output: String
}

/// Runs a program from `PATH` and waits for it to exit. The program must be installed.
func run(_ program: String, _ arguments: [String], in directory: String? = nil) throws -> Outcome {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
}
