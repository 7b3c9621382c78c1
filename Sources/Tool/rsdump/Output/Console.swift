import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Standard output and standard error.
enum Console {
    /// Whether standard error is a terminal, where progress can be drawn.
    static var errorIsTerminal: Bool { isatty(2) == 1 }
    /// Whether standard output is a terminal that shows colors. A dumb terminal does not, and NO_COLOR turns them off
    /// (https://no-color.org).
    static var outputIsColored: Bool {
        guard isatty(1) == 1, unsafe getenv("TERM").map({ unsafe String(cString: $0) }) != "dumb" else { return false }
        return unsafe getenv("NO_COLOR").map { unsafe $0.pointee == 0 } ?? true
    }

    /// The terminal's width in columns.
    static var width: Int {
        var size = winsize()
        guard unsafe ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Shows a name instead of a text, such as the path of a temporary directory, in everything that is printed.
    static func show(_ name: String, for text: String) { shown.withLock { $0.append((text, name)) } }

    private static let shown = Mutex<[(text: String, name: String)]>([])

    /// Returns a text with the names to show.
    private static func named(_ text: String) -> String {
        shown.withLock { names in names.reduce(text) { $0.replacing($1.text, with: $1.name) } }
    }

    /// Writes a line to standard output.
    static func print(_ text: String) { write(Array((named(text) + "\n").utf8), to: 1) }

    /// Writes a value to standard output as one JSON document and nothing else. Characters that control a terminal are
    /// escaped.
    static func print(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // This program created the document, so its size is not limited.
        let document = try JSONValue(parsing: Bytes(Array(encoder.encode(value))), members: .max, values: .max)
        print(String(decoding: JSONText.text(document, .indented), as: UTF8.self))
    }

    /// Writes a line to standard error.
    static func error(_ text: String) { write(Array((named(text) + "\n").utf8), to: 2) }

    /// Writes a failure to standard error, as one line.
    static func error(_ failure: CommandFailure) { error("rsdump: \(visible("\(failure)"))") }

    /// Collects the small pieces that `body` writes, and writes them to standard output in a few large ones.
    static func buffered(_ body: (_ write: ([UInt8]) -> Void) -> Void) {
        var pending: [UInt8] = []
        body { piece in
            pending += piece
            if pending.count > 1 << 16 {
                write(pending, to: 1)
                pending.removeAll(keepingCapacity: true)
            }
        }
        write(pending, to: 1)
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        write(bytes.span, to: descriptor)
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) {
        unsafe bytes.withUnsafeBytes { unsafe write($0, to: descriptor) }
    }

    /// Writes all bytes or exits the process. If the reader has closed the pipe (`| head`), the process exits silently.
    /// Otherwise it exits with an error, which is printed if standard error still works.
    static func write(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) {
        var offset = 0
        while offset < buffer.count {
            let count = unsafe systemWrite(
                descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                guard descriptor == 1 else { exit(1) }
                if errno == EPIPE { exit(0) }
                error("rsdump: \(Failure("write", "standard output"))")
                exit(1)
            }
            offset += count
        }
    }

    /// Returns untrusted text with the characters that control a terminal made visible.
    static func visible(_ text: String) -> String { VisibleText.escape(text) }

    /// Shows a server's alert (the `Alert` header).
    @Sendable static func showAlert(_ event: HTTPEvent) {
        guard case .alert(let text, let url) = event else { return }
        error("warning: alert from \(url): \(visible(text))")
    }
}
