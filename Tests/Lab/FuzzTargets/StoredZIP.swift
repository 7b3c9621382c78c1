import RemoteSettingsModel
import SnapshotBundle

/// A ZIP file of stored entries, parsed leniently and written with correct checksums, so that a damaged entry reaches
/// the code that reads it.
struct StoredZIP {
    var entries: [(name: [UInt8], content: [UInt8])]

    init(_ entries: [(name: String, content: [UInt8])]) {
        self.entries = entries.map { (Array($0.name.utf8), $0.content) }
    }

    /// Reads the entries in the local headers, as far as these can be followed.
    init(reading bytes: [UInt8]) {
        entries = []
        var at = 0
        while at + 30 <= bytes.count, Array(bytes[at..<at + 4]) == [0x50, 0x4B, 3, 4] {
            let size = Int(bytes.number(at + 18, 4))
            let nameEnd = at + 30 + Int(bytes.number(at + 26, 2))
            let start = nameEnd + Int(bytes.number(at + 28, 2))
            guard start <= bytes.count, size <= bytes.count - start else { return }
            let content = Array(bytes[start..<start + size])
            let isDeflated = bytes.number(at + 8, 2) == 8
            let plain =
                isDeflated
                ? (try? Inflater.inflate(Bytes(content), size: min(1 << 16, Int(bytes.number(at + 22, 4))))) ?? []
                : content
            entries.append((Array(bytes[at + 30..<nameEnd]), plain))
            at = start + size
        }
    }

    var bytes: [UInt8] {
        var file: [UInt8] = []
        var directory: [UInt8] = []
        for (name, content) in entries {
            let crc = crc32(of: Bytes(content))
            let size = UInt64(content.count)
            var shared: [UInt8] = []
            // No flags, stored, midnight on 1980-01-01.
            shared.put(
                (0, 2), (0, 2), (0, 2), (0x21, 2), (UInt64(crc), 4), (size, 4), (size, 4), (UInt64(name.count), 2),
                (0, 2))
            directory.put((0x0201_4B50, 4), (0x0314, 2), (20, 2))
            directory += shared
            directory.put((0, 2), (0, 2), (0, 2), (0o100644 << 16, 4), (UInt64(file.count), 4))
            directory += name
            file.put((0x0403_4B50, 4), (20, 2))
            file += shared + name + content
        }
        let (count, size, start) = (UInt64(entries.count), UInt64(directory.count), UInt64(file.count))
        file += directory
        file.put((0x0605_4B50, 4), (0, 4), (count, 2), (count, 2), (size, 4), (start, 4), (0, 2))
        return file
    }
}

extension [UInt8] {
    /// Returns a little-endian number of `count` bytes; 0 if it is out of bounds.
    func number(_ offset: Int, _ count: Int) -> UInt64 {
        guard offset >= 0, offset + count <= self.count else { return 0 }
        return self[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Appends little-endian numbers, each with its number of bytes.
    mutating func put(_ numbers: (UInt64, Int)...) {
        for (number, count) in numbers {
            for byte in 0..<count { append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(byte)))) }
        }
    }

    mutating func set(_ number: UInt64, _ count: Int, at offset: Int) {
        guard offset >= 0, offset + count <= self.count else { return }
        for byte in 0..<count { self[offset + byte] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(byte))) }
    }
}

/// Mutations of ZIP files: header fields, and entries with matching checksums.
enum ZIPMutation {
    /// Signatures, and the fields after them: offset and width in bytes.
    private static let fields: [(signature: [UInt8], fields: [(Int, Int)])] = [
        ([0x50, 0x4B, 3, 4], [(4, 2), (6, 2), (8, 2), (10, 4), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]),
        (
            [0x50, 0x4B, 1, 2],
            [
                (4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (36, 2),
                (38, 4), (42, 4),
            ]
        ),
        ([0x50, 0x4B, 5, 6], [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]),
        ([0x50, 0x4B, 6, 6], [(4, 8), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)]),
        ([0x50, 0x4B, 6, 7], [(4, 4), (8, 8), (16, 4)]),
        ([0x50, 0x4B, 7, 8], [(4, 4), (8, 4), (12, 4)]),
    ]

    static func apply(to bytes: inout [UInt8], _ random: inout FuzzRandom) {
        switch random.below(8) {
        case 0...3: for _ in 0...random.below(3) { changeField(in: &bytes, &random) }
        case 4...6: changeEntry(in: &bytes, &random)
        default: addZIP64(to: &bytes, &random)
        }
    }

    private static func changeField(in bytes: inout [UInt8], _ random: inout FuzzRandom) {
        let from = random.below(bytes.count + 1)
        for start in Array(from..<max(from, bytes.count - 4)) + Array(0..<min(from, max(0, bytes.count - 4)))
        where bytes[start] == 0x50 && bytes[start + 1] == 0x4B {
            guard let kind = fields.first(where: { bytes[start...].starts(with: $0.signature) }) else { continue }
            let (offset, width) = random.pick(kind.fields)
            let old = bytes.number(start + offset, width)
            let new =
                switch random.below(5) {
                case 0: old &+ 1
                case 1: old &- 1
                case 2: UInt64(bytes.count) &+ UInt64(random.below(5)) &- 2
                default: random.pick(EdgeNumbers.integers)
                }
            bytes.set(new, width, at: start + offset)
            return
        }
    }

    private static func changeEntry(in bytes: inout [UInt8], _ random: inout FuzzRandom) {
        var zip = StoredZIP(reading: bytes)
        guard !zip.entries.isEmpty else { return }
        let index = random.below(zip.entries.count)
        switch random.below(7) {
        case 0: zip.entries.swapAt(index, random.below(zip.entries.count))
        case 1: zip.entries.insert(zip.entries[index], at: random.below(zip.entries.count + 1))
        case 2: zip.entries.remove(at: index)
        case 3:
            TextMutation.apply(
                to: &zip.entries[index].name, words: ["attachments/", "../", ".meta.json", "\u{0}"], &random)
        default: TextMutation.apply(to: &zip.entries[index].content, words: BundleWords.all, &random)
        }
        if random.below(2) == 0 { zip.fitManifest() }
        bytes = zip.bytes
    }

    /// Adds ZIP64 end records, and makes the end of the directory refer to them (APPNOTE 4.3.14, 4.3.15).
    private static func addZIP64(to bytes: inout [UInt8], _ random: inout FuzzRandom) {
        guard let end = bytes.lastRange(of: [0x50, 0x4B, 5, 6]), end + 22 <= bytes.count else { return }
        let (count, size, start) = (bytes.number(end + 10, 2), bytes.number(end + 12, 4), bytes.number(end + 16, 4))
        var record: [UInt8] = []
        func mostly(_ number: UInt64, _ random: inout FuzzRandom) -> UInt64 {
            random.below(6) == 0 ? random.pick(EdgeNumbers.integers) : number
        }
        record.put((0x0606_4B50, 4), (44, 8), (0x032D, 2), (45, 2), (0, 8))
        for number in [count, count, size, start] { record.put((mostly(number, &random), 8)) }
        record.put((0x0706_4B50, 4), (0, 4), (mostly(UInt64(end), &random), 8), (1, 4))
        bytes.set(0xFFFF, 2, at: end + 8)
        bytes.set(0xFFFF, 2, at: end + 10)
        bytes.set(0xFFFF_FFFF, 4, at: end + 12)
        bytes.set(0xFFFF_FFFF, 4, at: end + 16)
        bytes.insert(contentsOf: record, at: end)
    }
}

extension [UInt8] {
    fileprivate func lastRange(of pattern: [UInt8]) -> Int? {
        guard count >= pattern.count else { return nil }
        return (0...count - pattern.count).last { self[$0...].starts(with: pattern) }
    }
}

extension StoredZIP {
    /// Updates the manifest with the current sizes and hashes of the entries.
    mutating func fitManifest() {
        guard let manifest = entries.first, manifest.name == Array("manifest.json".utf8) else { return }
        var text = String(decoding: manifest.content, as: UTF8.self)
        for (name, content) in entries.dropFirst() {
            let name = String(decoding: name, as: UTF8.self)
            let key = "{\"name\":\"\(name)\",\"size\":"
            guard let start = text.firstRange(of: key)?.lowerBound,
                let end = text[start...].firstIndex(of: "}")
            else { continue }
            text.replaceSubrange(
                start..<end, with: "\(key)\(content.count),\"sha256\":\"\(SHA256Digest(hashing: Bytes(content)).hex)\"")
        }
        entries[0].content = Array(text.utf8)
    }
}
