import FileStorage
import RemoteSettingsModel

/// The offsets of a time zone from UTC, as the system's file says (TZif, RFC 9636).
struct TimeZoneFile: Sendable {
    /// A time zone that cannot be used.
    enum Problem: Error, Hashable {
        /// The system has no file of this name.
        case unknown
        /// The system has no time zones at all.
        case noTimeZones
        case damaged
    }

    static let folder = "/usr/share/zoneinfo"

    /// The times at which the offset changes, in seconds since 1970, sorted; and the offset from each of them on.
    private var transitions: [(time: Int64, offset: Int64)] = []
    /// The offset before the first transition.
    private var first: Int64 = 0
    /// The rule after the last transition.
    private let rule: TimeZoneRule?

    /// Reads a system's file. Does I/O.
    ///
    /// - Parameter name: a name of the IANA's database, such as `Europe/Berlin`.
    init(named name: String, folder: String = TimeZoneFile.folder) throws(Problem) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x5F: true
                    default: false
                    }
                }
        }
        guard isName else { throw .unknown }
        guard let bytes = try? FileStore.read("\(folder)/\(name)", limit: 1 << 20) else {
            // `nil` for a folder as well.
            throw (try? FileStore.exists(folder)) == true ? .unknown : .noTimeZones
        }
        try self.init(bytes)
    }

    /// Reads the content of a file of version 2 or later. Version 1 ends in 2038.
    init(_ bytes: Bytes) throws(Problem) {
        var reader = Reader(bytes: bytes.array)
        let small = try reader.header()
        try reader.skip(small.size(timeBytes: 4))
        let header = try reader.header()
        guard header.types > 0 else { throw .damaged }
        var times: [Int64] = []
        for _ in 0..<header.times { times.append(try reader.integer(8)) }
        var indexes: [Int] = []
        for _ in 0..<header.times { indexes.append(Int(try reader.integer(1) & 0xFF)) }
        var offsets: [Int64] = []
        for _ in 0..<header.types {
            offsets.append(try reader.integer(4))
            try reader.skip(2)
        }
        guard times == times.sorted(), indexes.allSatisfy({ $0 < offsets.count }),
            // RFC 9636, section 3.2: more than -25 hours, and less than 26.
            offsets.allSatisfy({ (-89_999...93_599).contains($0) })
        else { throw .damaged }
        try reader.skip(header.characters + header.leapSeconds * 12 + header.standards + header.universals)
        first = offsets[0]
        transitions = zip(times, indexes).map { ($0, offsets[$1]) }
        let footer = try reader.footer()
        guard !footer.isEmpty else {
            rule = nil
            return
        }
        guard let rule = TimeZoneRule(footer) else { throw .damaged }
        self.rule = rule
    }

    /// The offset from UTC at a moment, in seconds; east is positive.
    ///
    /// - Parameter moment: in seconds since 1970.
    func offset(at moment: Int64) -> Int64 {
        guard let last = transitions.last else { return rule?.offset(at: moment) ?? first }
        if moment >= last.time, let rule { return rule.offset(at: moment) }
        return transitions.last { $0.time <= moment }?.offset ?? first
    }

    /// The moment at which clocks of the zone show this time, in seconds since 1970.
    ///
    /// If a change of the clocks skips the time, it is the moment at which they show the time after the change.
    ///
    /// - Parameter wall: the time that clocks show, as if it were UTC, in seconds since 1970.
    func moment(of wall: Int64) -> Int64 {
        let guess = wall - offset(at: wall)
        return wall - offset(at: guess)
    }
}

extension TimeZoneFile {
    private struct Header {
        var universals = 0
        var standards = 0
        var leapSeconds = 0
        var times = 0
        var types = 0
        var characters = 0

        func size(timeBytes: Int) -> Int {
            times * (timeBytes + 1) + types * 6 + characters + leapSeconds * (timeBytes + 4) + standards + universals
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        mutating func skip(_ count: Int) throws(Problem) {
            guard count <= bytes.count - offset else { throw .damaged }
            offset += count
        }

        /// A signed number, the highest byte first.
        mutating func integer(_ count: Int) throws(Problem) -> Int64 {
            let start = offset
            try skip(count)
            let bits = bytes[start..<offset].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let unused = 64 - count * 8
            return Int64(bitPattern: bits << unused) >> unused
        }

        mutating func header() throws(Problem) -> Header {
            let start = offset
            try skip(20)
            guard bytes[start..<(start + 4)].elementsEqual("TZif".utf8), bytes[start + 4] >= UInt8(ascii: "2") else {
                throw .damaged
            }
            func count(_ number: Int64) throws(Problem) -> Int {
                guard (0...100_000).contains(number) else { throw .damaged }
                return Int(number)
            }
            var header = Header()
            header.universals = try count(try integer(4))
            header.standards = try count(try integer(4))
            header.leapSeconds = try count(try integer(4))
            header.times = try count(try integer(4))
            header.types = try count(try integer(4))
            header.characters = try count(try integer(4))
            return header
        }

        /// The text between two line feeds.
        mutating func footer() throws(Problem) -> String {
            let start = offset
            try skip(1)
            guard bytes[start] == 0x0A, let end = bytes[offset...].firstIndex(of: 0x0A) else { throw .damaged }
            return String(decoding: bytes[offset..<end], as: UTF8.self)
        }
    }
}
