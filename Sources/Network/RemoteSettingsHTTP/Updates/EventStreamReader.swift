import RemoteSettingsModel

/// One event of an event stream, as it was sent.
package struct StreamedEvent: Hashable, Sendable {
    /// The value of the event's last `event` field; empty if there is none, which browsers interpret as `message`.
    package let name: String
    /// The values of the event's `data` fields, separated by line feeds.
    package let data: [UInt8]
    /// The last id in the stream up to and including this event; empty if there is none.
    package let lastEventID: String
}

// The reasons why an event stream cannot be read any further.
extension Failure {
    /// A line has more than `limit` bytes.
    static func lineTooLong(limit: Int) -> Self {
        Self(.overLimit, "the event stream has a line of more than \(limit) bytes")
    }

    /// The `data` fields of one event have more than `limit` bytes together.
    static func eventTooLong(limit: Int) -> Self {
        Self(.overLimit, "the event stream has an event of more than \(limit) bytes")
    }
}

/// Parses an event stream (WHATWG HTML, section 9.2.6) from bytes that arrive in pieces.
///
/// It stores only the piece that was passed last, the incomplete line and the incomplete event.
///
///     reader.feed(piece)
///     while let event = try reader.next() { … }
package struct EventStreamReader: Sendable {
    /// The largest size of a line in bytes, without its line terminator. A comment is also a line.
    package static let mostLineBytes = 64 << 10
    /// The largest size of an event's data in bytes.
    package static let mostEventBytes = 64 << 10

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// The last id in the stream, for the header `Last-Event-ID` of the next connection; empty if there is none.
    package private(set) var lastEventID = ""
    /// The reconnection time that the stream last requested, in milliseconds; `nil` if it has requested none.
    package private(set) var retryMilliseconds: UInt64?
    /// The number of comments so far. Servers send comments as heartbeats. The counter wraps around on overflow.
    package private(set) var comments = 0

    private var piece: [UInt8] = []
    private var position = 0
    private var line: [UInt8] = []
    /// Whether a line feed at this position belongs to the carriage return before it.
    private var skipsLineFeed = false
    /// Whether the first line, which may begin with a byte order mark, has not been read yet.
    private var isAtStart = true
    private var name = ""
    private var data: [UInt8] = []
    private var id = ""
    private var failure: Failure?

    package init() {}

    /// Appends the next bytes. All events of the previous piece must have been read.
    package mutating func feed(_ bytes: [UInt8]) {
        piece = position < piece.count ? Array(piece[position...]) + bytes : bytes
        position = 0
    }

    /// Returns the next complete event; `nil` if more bytes are needed. An event that is incomplete when the stream
    /// closes is dropped.
    ///
    /// - Throws: ``Failure``, and again on each later call.
    package mutating func next() throws(Failure) -> StreamedEvent? {
        if let failure { throw failure }
        do throws(Failure) {
            while let complete = try nextLine() {
                if let event = try process(complete) { return event }
            }
            return nil
        } catch {
            failure = error
            (piece, position, line, data) = ([], 0, [], [])
            throw error
        }
    }

    /// Consumes the next line and returns it without its terminator; `nil` if the terminator has not arrived.
    private mutating func nextLine() throws(Failure) -> [UInt8]? {
        if skipsLineFeed, position < piece.count {
            if piece[position] == Self.lineFeed { position += 1 }
            skipsLineFeed = false
        }
        let rest = piece[position...]
        let end = rest.firstIndex { $0 == Self.lineFeed || $0 == Self.carriageReturn }
        let part = rest[..<(end ?? rest.endIndex)]
        // The limit does not include a byte order mark, because it is not part of the line.
        let limit = Self.mostLineBytes + (isAtStart && hasMark(before: part) ? Self.byteOrderMark.count : 0)
        guard part.count <= limit - line.count else { throw .lineTooLong(limit: Self.mostLineBytes) }
        line += part
        guard let end else {
            (piece, position) = ([], 0)
            return nil
        }
        position = end + 1
        skipsLineFeed = piece[end] == Self.carriageReturn
        defer { line.removeAll(keepingCapacity: true) }
        guard isAtStart else { return line }
        isAtStart = false
        return line.starts(with: Self.byteOrderMark) ? Array(line.dropFirst(Self.byteOrderMark.count)) : line
    }

    /// Returns whether the first line, which continues with `part`, begins with a byte order mark.
    private func hasMark(before part: ArraySlice<UInt8>) -> Bool {
        (line.prefix(Self.byteOrderMark.count) + part.prefix(Self.byteOrderMark.count)).starts(with: Self.byteOrderMark)
    }

    /// Processes a line, and returns the event that the line completes.
    private mutating func process(_ line: [UInt8]) throws(Failure) -> StreamedEvent? {
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        // A line that begins with a colon is a comment.
        guard colon != 0 else {
            comments &+= 1
            return nil
        }
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<(colon ?? line.count)], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            // The size includes the line feed after each value. The last line feed is not part of the data.
            guard data.count + value.count <= Self.mostEventBytes else {
                throw .eventTooLong(limit: Self.mostEventBytes)
            }
            data += value
            data.append(Self.lineFeed)
        case "id" where !value.contains(0): id = String(decoding: value, as: UTF8.self)
        case "retry" where !value.isEmpty && value.allSatisfy { (48...57).contains($0) }:
            // A number that does not fit into 64 bits is treated as the largest one that does.
            retryMilliseconds = UInt64(String(decoding: value, as: UTF8.self)) ?? .max
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> StreamedEvent? {
        lastEventID = id
        defer { (name, data) = ("", []) }
        guard !data.isEmpty else { return nil }
        return StreamedEvent(name: name, data: Array(data.dropLast()), lastEventID: id)
    }
}
