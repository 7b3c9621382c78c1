import Dumps
import DumpsExchange
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// A private directory of this process, in memory if possible.
struct Scratch: Sendable {
    let path: String

    init(_ name: String) {
        let parent = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        // The length is the same in each process, because code that reads a path would otherwise take different
        // branches.
        path = parent + String(format: "/rsfuzz-%010d-", ProcessInfo.processInfo.processIdentifier) + name
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

extension FuzzTarget {
    static let archive = FuzzTarget(
        "archive", "a foreign archive (ZIP, tar, 7z, ar; gzip, xz, zstd); nothing is written outside of its directory",
        longest: 16_384,
        words: [
            "../", "/", "./", "\u{0}", "ustar\u{0}00", "PaxHeader", "path=", "size=", "linkpath=", "!<arch>\n",
            "a.json", ".zip", ".tar",
        ],
        seeds: { source in
            let scratch = Scratch("seeds")
            defer { scratch.remove() }
            try FileStore.makeDirectories(scratch.path)
            let seeds =
                [
                    StoredZIP([
                        ("main/a.json", Array("{}".utf8)), ("b/../c", [1]),
                        ("inner.zip", StoredZIP([("x.json", [1])]).bytes),
                    ]).bytes,
                    tar([("main/a.json", Array("{}".utf8)), ("./b.json", [7])]),
                ] + source.bundleFiles
            let members = [TarFile.Member(name: "main/a.json", content: Bytes(utf8: "{\"data\":[]}"))]
            _ = try TarFile.write(members, toNewFile: "\(scratch.path)/z")
            return seeds + [Array(try Data(contentsOf: URL(filePath: "\(scratch.path)/z")))]
        },
        mutate: { bytes, random in
            if bytes.starts(with: [0x50, 0x4B]) {
                ZIPMutation.apply(to: &bytes, &random)
            } else {
                mutateTar(&bytes, &random)
            }
        }
    ) { input in
        let scratch = Scratch("archive")
        defer { scratch.remove() }
        let directory = "\(scratch.path)/out"
        try FileStore.makeDirectories(directory)
        try Data(input).write(to: URL(filePath: "\(scratch.path)/input"))
        var extraction = ArchiveExtraction(into: directory, mostEntries: 1000, mostBytes: 16 << 20) { name, _ in
            name.hasSuffix(".zip") || name.hasSuffix(".tar") ? .open : .extract(as: name)
        }
        do { try extraction.extract("\(scratch.path)/input") } catch {
            try require(!"\(error)".isEmpty, "an error without a description")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        try require(Set(left) == ["input", "out"], "files written outside the directory: \(left)")
        for name in FileManager.default.enumerator(atPath: directory) ?? FileManager.DirectoryEnumerator() {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
            let type = attributes[.type] as? FileAttributeType
            try require(type == .typeRegular || type == .typeDirectory, "\(name) is neither file nor directory")
        }
    }

    /// A POSIX tar of regular files.
    private static func tar(_ files: [(name: String, content: [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, content) in files {
            var head = [UInt8](repeating: 0, count: 512)
            func put(_ text: String, at offset: Int) {
                head.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
            }
            put(name, at: 0)
            put("0000644\u{0}0000000\u{0}0000000\u{0}", at: 100)
            let size = String(content.count, radix: 8)
            put(String(repeating: "0", count: 11 - size.count) + size + "\u{0}00000000000\u{0}", at: 124)
            put("0ustar\u{0}00", at: 156 - 0)
            head[156] = UInt8(ascii: "0")
            put("ustar\u{0}00", at: 257)
            bytes += head + content + [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
        }
        bytes += [UInt8](repeating: 0, count: 1024)
        fixChecksums(&bytes)
        return bytes
    }

    private static func fixChecksums(_ bytes: inout [UInt8]) {
        var at = 0
        while at + 512 <= bytes.count {
            if Array(bytes[at + 257..<at + 262]) == Array("ustar".utf8) {
                bytes.replaceSubrange(at + 148..<at + 156, with: [UInt8](repeating: 0x20, count: 8))
                let sum = String(bytes[at..<at + 512].reduce(0) { $0 + Int($1) }, radix: 8)
                let text = String(repeating: "0", count: max(0, 6 - sum.count)) + sum + "\u{0} "
                bytes.replaceSubrange(at + 148..<at + 156, with: text.utf8.prefix(8))
            }
            at += 512
        }
    }

    /// Changes a header's name, size, type or link, and fixes the checksums.
    private static func mutateTar(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
        guard bytes.count >= 512 else { return }
        let head = random.below(bytes.count / 512) * 512
        let (offset, width) = random.pick([(0, 100), (124, 12), (156, 1), (157, 100), (345, 100), (100, 8), (136, 12)])
        var field = Array(bytes[head + offset..<head + offset + width])
        switch random.below(4) {
        case 0: field = Array(random.pick(["../x", "/etc/x", "a/b", "77777777777", "00000000000", "xgL2K1AS567"]).utf8)
        case 1: field[random.below(width)] = UInt8(truncatingIfNeeded: random.next())
        case 2:
            field =
                [0x80] + [UInt8](repeating: 0, count: 3)
                + (0..<8).map { UInt8(truncatingIfNeeded: random.pick(EdgeNumbers.integers) >> (56 - 8 * $0)) }
        default: field = Array(String(random.pick(EdgeNumbers.integers), radix: 8).utf8)
        }
        field = Array((field + [UInt8](repeating: 0, count: width)).prefix(width))
        bytes.replaceSubrange(head + offset..<head + offset + width, with: field)
        fixChecksums(&bytes)
    }

    static let redoLog = FuzzTarget(
        "redoLog",
        "a directory of dumps whose commit was killed: its lock file and a redo log; a bundle is taken by its hash alone",
        longest: 8192, words: BundleWords.all,
        seeds: { source in
            try lock.seeds(source).map { seed in
                let lock = try LockFile(parsing: Bytes(seed), path: "lock")
                let ids = lock.collections.keys.sorted()
                return seed + [0] + RedoLog(replaces: nil, staged: ids, removed: [], lock: lock).text
            }
        }
    ) { input in
        let scratch = Scratch("redoLog")
        defer { scratch.remove() }
        let directory = DumpsDirectory(scratch.path)
        let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        try FileStore.makeDirectories(FileStore.parent(of: directory.redoLogPath))
        try Data(parts[0]).write(to: URL(filePath: directory.lockPath))
        try FileStore.makeDirectories(FileStore.parent(of: directory.bundlePath(fuzzedCollection)))
        try Data("bundle".utf8).write(to: URL(filePath: directory.bundlePath(fuzzedCollection)))
        var text = Array(parts[parts.count - 1])
        let log = try? RedoLog(parsing: Bytes(text), path: "log")
        if var log {
            try require(RedoLog(parsing: Bytes(log.text), path: "log") == log, "the log differs when read back")
            log.replaces = SHA256Digest(hashing: Bytes(Array(parts[0])))
            text = log.text
        }
        try Data(text).write(to: URL(filePath: directory.redoLogPath))
        guard let plain = try? directory.lockFile() else { return }
        let after = waited {
            let transaction = try? await DumpsTransaction.begin(in: directory)
            try? transaction?.end()
            return transaction?.before
        }
        guard let after else { throw Finding("the commit was not finished") }
        try require(log != nil || after == plain, "an incomplete log was applied")
        for id in log?.staged ?? [] {
            guard let entry = after.collections[id], plain.collections[id] != entry else { continue }
            try require(
                entry.bundle.sha256 == SHA256Digest(hashing: Bytes(utf8: "bundle")) && entry.bundle.size == 6,
                "a log for a different bundle was applied")
        }
        try require(!FileStore.exists(directory.redoLogPath), "the log was not removed")
    }

    static let configuration = FuzzTarget(
        "configuration", "dumps.yaml; what the editor makes of it can be read, and has other settings only where asked",
        longest: 2048,
        words: [
            "version: 1\n", "server: ", "allow-plain-http: true\n", "trust:\n", "  roots:\n", "    - ", "  signer: x\n",
            "  accept-unsigned: true\n", "attachments: ", "none", "all", "include: ", "max-size: ", "max-total: ",
            "budget:\n", "bundle: 1 MiB\n", "attachment: ", "total: ", "collections:\n", "  main/fuzz:\n",
            "    pin: 7\n", "    pin:\n", "      at: 7\n", "      until: 2026-01-01\n", "      reason: x\n", "&a ",
            "*a", "<<: ", "!!int ", "|\n", ">\n", "---\n", "...\n", "# ", "{", "}", "[", "]", "\t", "? ", "~", "\"",
            "'", "\r", "\r\n", "\u{85}", "\u{2028}", "\u{FEFF}", String(repeating: "0", count: 64),
        ],
        seeds: { source in
            let root = String(repeating: "0a", count: 32)
            return [
                """
                version: 1
                server: https://h/v1  # ours
                trust:
                  roots:
                    - "\(root)"
                  signer: s.example.org
                budget:
                  bundle: 1 MiB
                  total: 5 MiB
                collections:
                  main/fuzz:
                    attachments:
                      include: "n == 'x'"
                      max-size: 10 MiB
                    pin:
                      at: 7
                      reason: "why: not"
                      until: 2026-01-01
                  main/other:
                    pin: 9

                """, "version: 1\nserver: prod\ncollections: {main/a: , main/b: {attachments: none}}\n", "version: 1\n",
            ].map { Array($0.utf8) } + [source.file("dumps/dumps.yaml")].compactMap(\.self)
        }
    ) { input in
        let text = String(decoding: input, as: UTF8.self)
        guard let before = try accepted(try ConfigurationReader.read(text, file: "fuzz.yaml")) else { return }
        let others = Set(before.collections.map(\.id)).subtracting([fuzzedCollection])
        let pin = Pin(
            at: Timestamp(milliseconds: 7),
            reason: Pin.isReason(String(text.prefix(20))) ? String(text.prefix(20)) : nil)
        let edits: [(inout ConfigurationEditor) throws -> Void] = [
            { _ = try $0.add(fuzzedCollection, attachments: "none") },
            { _ = try $0.remove(fuzzedCollection) },
            { try $0.setPin(pin, of: fuzzedCollection) },
            { _ = try $0.removePin(of: fuzzedCollection) },
            { try $0.setServer("https://example.org/v1") },
            { try $0.addRoot(SHA256Digest(hashing: Bytes())) },
        ]
        for edit in edits {
            guard var editor = try? ConfigurationEditor(text, file: "fuzz.yaml"), (try? edit(&editor)) != nil else {
                continue
            }
            guard let after = try? ConfigurationReader.read(editor.text, file: "fuzz.yaml") else {
                throw Finding("what the editor made cannot be read: \(editor.text.debugDescription)")
            }
            try require(
                Set(after.collections.map(\.id)).subtracting([fuzzedCollection]) == others,
                "the editor has changed other collections: \(editor.text.debugDescription)")
        }
    }
}
