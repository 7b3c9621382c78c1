import FileStorage
import RemoteSettingsModel

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard output and standard error.
enum Console {
    /// Whether standard error is a terminal, where progress can be drawn.
    static var errorIsTerminal: Bool { isatty(2) == 1 }
    /// Whether standard output is a terminal that wants colours: not a dumb one, and NO_COLOR is not set
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

    /// A line to standard output.
    static func print(_ text: String) { write(Array((text + "\n").utf8), to: 1) }

    /// A line to standard error.
    static func error(_ text: String) { write(Array((text + "\n").utf8), to: 2) }

    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        write(bytes.span, to: descriptor)
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) {
        unsafe bytes.withUnsafeBytes { unsafe write($0, to: descriptor) }
    }

    /// Writes everything, or ends the process: quietly where the reader has gone (`| head`), else with an error, if there is
    /// still somewhere to write it.
    static func write(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) {
        var offset = 0
        while offset < buffer.count {
            let count = unsafe systemWrite(
                descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                guard descriptor == 1 else { exit(1) }
                if errno == EPIPE { exit(0) }
                error("rsdump: \(FileError("write", "standard output"))")
                exit(1)
            }
            offset += count
        }
    }

    /// Text from outside with what could steer a terminal made visible.
    static func visible(_ text: String) -> String { VisibleText.escape(text) }
}
